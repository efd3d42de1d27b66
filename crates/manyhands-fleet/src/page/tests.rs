//! The page over real connections.

use super::{Page, Setup};
use crate::server::Database;
use manyhands_lab::{console, run::Interrupt};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::Duration,
};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Serves a page of an empty database while something is asked of it.
fn with_page(token: Option<&str>, ask: impl FnOnce(SocketAddr) + Send) {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("fleet.sqlite");
    Database::open(&database).unwrap();
    let setup = Setup {
        database,
        names: Vec::new(),
        token: token.map(str::to_owned),
        prices: None,
        companion: console::alone,
    };
    let page = Page::bind("127.0.0.1:0".parse().unwrap(), setup).unwrap();
    let (address, stop) = (page.address(), Interrupt::default());
    thread::scope(|scope| {
        let serving = scope.spawn(|| page.run(&stop));
        let asked = scope.spawn(|| ask(address)).join();
        stop.set();
        serving.join().unwrap().unwrap();
        asked.unwrap();
    });
}

/// The whole answer to a request with these lines.
fn answer(address: SocketAddr, path: &str, lines: &str) -> String {
    let mut connection = connect(address);
    let request = format!("GET {path} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).unwrap();
    let deadline = Some(Duration::from_secs(30));
    connection.set_read_timeout(deadline).unwrap();
    connection
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

#[test]
fn a_page_of_another_name_is_refused_whatever_is_asked() {
    with_page(None, |address| {
        let own = format!("Host: {address}\r\n");
        let index = answer(address, "/", &own);
        assert_eq!(status(&index), "200", "{index}");
        assert!(index.contains("No plan yet") && index.contains("content-security-policy"));
        for path in [
            "/",
            "/events",
            "/live.js",
            "/plan/x",
            "/plan/x/events",
            "/plan/x/runs.csv",
        ] {
            let other = answer(address, path, "Host: evil.example\r\n");
            assert_eq!(status(&other), "421", "{path}: {other}");
        }
    });
}

#[test]
fn what_is_not_there_is_not_found() {
    with_page(None, |address| {
        let own = format!("Host: {address}\r\n");
        for path in ["/plan/x", "/plan/x/runs.csv", "/other"] {
            assert_eq!(status(&answer(address, path, &own)), "404", "{path}");
        }
    });
}

#[test]
fn a_token_lets_in_by_a_header_or_once_by_the_address() {
    with_page(Some(TOKEN), |address| {
        let own = format!("Host: {address}\r\n");
        assert_eq!(status(&answer(address, "/", &own)), "401");
        let wrong = format!("{own}Authorization: Bearer {}\r\n", TOKEN.replace('0', "1"));
        assert_eq!(status(&answer(address, "/", &wrong)), "401");
        let right = format!("{own}Authorization: Bearer {TOKEN}\r\n");
        assert_eq!(status(&answer(address, "/", &right)), "200");
        let entered = answer(address, &format!("/?token={TOKEN}"), &own);
        assert_eq!(status(&entered), "303", "{entered}");
        assert!(entered.contains("HttpOnly; SameSite=Strict"), "{entered}");
        let cookie = format!("{own}Cookie: other=1; manyhands-fleet={TOKEN}\r\n");
        assert_eq!(status(&answer(address, "/", &cookie)), "200");
    });
}

#[test]
fn what_is_live_is_sent_at_once() {
    with_page(None, |address| {
        let mut connection = connect(address);
        let request = format!("GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let (mut seen, mut buffer) = (String::new(), [0; 4096]);
        while !seen.contains("No agent has reported yet") {
            let count = connection.read(&mut buffer).unwrap();
            assert_ne!(count, 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        assert!(seen.contains("text/event-stream"), "{seen}");
    });
}
