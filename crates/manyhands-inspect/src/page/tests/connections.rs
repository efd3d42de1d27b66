//! Who keeps connections, and has no token.

use super::{LIMIT, office, with_token};
use manyhands_page::CONNECTIONS_MAX;
use std::io::{Read, Write};
use std::net::TcpStream;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

#[test]
fn who_has_asked_with_the_token_keeps_its_connection() {
    let (port, token) = office();
    let mut page = connect(port);
    let asked = format!(
        "GET /methods HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let mut ask = || {
        page.write_all(asked.as_bytes()).unwrap();
        let mut answer = vec![0; 4096];
        let count = page.read(&mut answer).unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200"), "it was ended");
    };
    ask();
    let asset = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let strange = |_| {
        let mut stream = connect(port);
        stream.write_all(asset.as_bytes()).unwrap();
        assert_ne!(stream.read(&mut [0; 4096]).unwrap(), 0);
        stream
    };
    let _strangers: Vec<_> = (0..CONNECTIONS_MAX + 1).map(strange).collect();
    assert_eq!(with_token(port, "/view", &token).0, 200);
    ask();
}
