//! A client as plain as can be: a thread, and a connection that it keeps.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

#[derive(Debug)]
pub(crate) struct Client(BufReader<TcpStream>);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream
            .set_nodelay(true)
            .map_err(|error| error.to_string())?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Asks, and waits for the answer's text.
    pub(crate) fn ask(&mut self, path: &str) -> Result<String, String> {
        self.try_ask(path)
            .map_err(|error| format!("{path}: {error}"))
    }

    fn try_ask(&mut self, path: &str) -> std::io::Result<String> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if self.0.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut text = vec![0; length];
        self.0.read_exact(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
