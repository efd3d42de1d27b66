//! Who keeps connections, and does not ask or read.

use super::{LIMIT, office, with_token};
use crate::page::connections::CONNECTIONS_MAX;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Whether the page has ended the connection, or does as long as this may wait.
fn is_ended(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[test]
fn of_those_who_keep_connections_the_oldest_without_the_token_gives_way() {
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
    let strange = |_| {
        let mut stream = connect(port);
        // By itself one would end after half a minute.
        stream.set_read_timeout(Some(LIMIT / 6)).unwrap();
        // A head that never ends.
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").unwrap();
        stream
    };
    let mut strangers: Vec<_> = (0..2 * CONNECTIONS_MAX).map(strange).collect();
    assert_eq!(with_token(port, "/view", &token).0, 200);
    let (first, last) = strangers.split_at_mut(CONNECTIONS_MAX + 2);
    assert!(first.iter_mut().all(is_ended), "they keep their places");
    for stream in last {
        stream.set_nonblocking(true).unwrap();
        assert!(!is_ended(stream), "it would have had a place");
    }
    ask();
}

#[cfg(target_os = "linux")]
#[test]
fn a_connection_whose_answers_nobody_reads_is_ended() {
    let (port, token) = office();
    let mut unread = connect(port);
    let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n");
    let requests = format!("GET / HTTP/1.1\r\n{head}\r\n").repeat(1_000);
    // At last the page takes no more, because it cannot answer.
    let error = loop {
        if let Err(error) = unread.write_all(requests.as_bytes()) {
            break error;
        }
    };
    assert_ne!(error.kind(), ErrorKind::WouldBlock, "it keeps its place");
}
