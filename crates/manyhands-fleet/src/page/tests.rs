//! The page over real connections.

use super::{Page, Setup, live::LIVE_MAX};
use crate::server::Database;
use manyhands_lab::{console, run::Interrupt};
use manyhands_page::CONNECTIONS_MAX;
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
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
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

/// A page that is live, and what was sent until it was seen.
fn look(address: SocketAddr, path: &str) -> (TcpStream, String) {
    let mut connection = connect(address);
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    while !seen.contains("No agent has reported yet") && !seen.contains("Too many") {
        let count = connection.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    (connection, seen)
}

#[test]
fn what_is_live_is_sent_at_once() {
    with_page(None, |address| {
        let (_, seen) = look(address, "/events");
        assert!(seen.contains("text/event-stream"), "{seen}");
    });
}

#[test]
fn a_page_too_many_is_not_live_and_the_others_are_answered() {
    with_page(None, |address| {
        let own = format!("Host: {address}\r\n");
        let mut live: Vec<_> = (0..LIVE_MAX).map(|_| look(address, "/events")).collect();
        // They are not closed here, and keep no places.
        let refused: Vec<_> = (0..CONNECTIONS_MAX)
            .map(|_| look(address, "/events"))
            .collect();
        for (_, refused) in &refused {
            assert_eq!(status(refused), "503", "{refused}");
            assert!(refused.contains("retry-after: 10"), "{refused}");
        }
        assert_eq!(status(&answer(address, "/", &own)), "200");
        live.pop();
        assert!(
            (0..TRIES).any(|_| look(address, "/events").1.contains("200 OK")),
            "a page that has ended keeps its place"
        );
    });
}

/// Asks on a connection that stays; whether it is answered with this.
fn is_answered(mut connection: &TcpStream, lines: &str, status: &str) -> bool {
    let request = format!("GET /live.js HTTP/1.1\r\n{lines}\r\n");
    let mut answer = vec![0; 16 << 10];
    let read = connection
        .write_all(request.as_bytes())
        .and_then(|()| connection.read(&mut answer));
    read.is_ok_and(|count| answer[..count].starts_with(format!("HTTP/1.1 {status}").as_bytes()))
}

#[test]
fn who_holds_all_places_keeps_out_neither_those_with_the_token_nor_without_one_the_next() {
    for token in [None, Some(TOKEN)] {
        with_page(token, |address| {
            let own = format!("Host: {address}\r\n");
            let with_token = format!("{own}Authorization: Bearer {TOKEN}\r\n");
            let page = connect(address);
            assert!(is_answered(&page, &with_token, "200"));
            let (lines, status) = match token {
                // A token that nobody has asked for is none.
                None => (&with_token, "200"),
                Some(_) => (&own, "401"),
            };
            let strange = |_| {
                let connection = connect(address);
                assert!(is_answered(&connection, lines, status));
                connection
            };
            let _strangers: Vec<_> = (0..CONNECTIONS_MAX + 1).map(strange).collect();
            assert_eq!(is_answered(&page, &with_token, "200"), token.is_some());
            assert_eq!(self::status(&answer(address, "/", &with_token)), "200");
        });
    }
}

/// The end of a connection is seen a moment later.
const TRIES: usize = 10_000;
