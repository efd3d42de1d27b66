//! The server of the page over real connections: what is shown, and what is refused.

mod connections;
mod first_looks;
mod polls;
mod reports;

use super::{OnRequest, PageSettings, Server};
use crate::error::Error;
use crate::graph::tests::task;
use crate::looker::{Looked, Part};
use crate::page::assets::{ASSETS, Asset};
use crate::page::guard::CHANGES;
use crate::page::hold::Hold;
use crate::page::one_at_a_time::OneAtATime;
use crate::page::threads::Threads;
use crate::stacks::Stacks;
use crate::thread_graph::tests::{thread, waiting};
use crate::view::View;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A page of a program with a harmful name, in a thread that ends with the test's process. Returns port and token.
fn page(look: impl FnMut() -> Result<View, Error> + Send + 'static) -> (u16, String) {
    page_with_threads(look, LIMIT, || Ok(Stacks::default()))
}

/// The same, which may be held.
fn page_with_control(
    look: impl FnMut() -> Result<View, Error> + Send + 'static,
    threads: impl FnMut() -> Result<Stacks, Error> + Send + 'static,
) -> (u16, String) {
    begin(true, look, Duration::ZERO, threads)
}

/// The same, with what its threads run, which is asked for again after `every`.
fn page_with_threads(
    look: impl FnMut() -> Result<View, Error> + Send + 'static,
    every: Duration,
    threads: impl FnMut() -> Result<Stacks, Error> + Send + 'static,
) -> (u16, String) {
    begin(false, look, every, threads)
}

fn begin(
    control: bool,
    mut look: impl FnMut() -> Result<View, Error> + Send + 'static,
    every: Duration,
    threads: impl FnMut() -> Result<Stacks, Error> + Send + 'static,
) -> (u16, String) {
    begin_sparing(control, move || look().map(Looked::Whole), every, threads)
}

fn begin_sparing(
    control: bool,
    mut look: impl FnMut() -> Result<Looked, Error> + Send + 'static,
    every: Duration,
    threads: impl FnMut() -> Result<Stacks, Error> + Send + 'static,
) -> (u16, String) {
    let settings = PageSettings {
        port: 0,
        every: Duration::from_millis(1),
        tasks_max: 10,
        control,
    };
    let look = move |show: &mut dyn FnMut(Looked)| look().map(show);
    begin_with(settings, look, every, threads)
}

fn begin_with(
    settings: PageSettings,
    look: impl FnMut(&mut dyn FnMut(Looked)) -> Result<(), Error> + Send + 'static,
    every: Duration,
    threads: impl FnMut() -> Result<Stacks, Error> + Send + 'static,
) -> (u16, String) {
    let (say, said) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let hold = Hold::new(settings.control);
            let on_request = OnRequest {
                threads: Threads::begin(every, hold.clone(), || threads),
                timelines: OneAtATime::new(hold.clone(), |()| timeline()),
                polls: OneAtATime::new(hold.clone(), |task: String| polls::poll(&task)),
            };
            let server = Server::bind(&settings, 7, hold, look, on_request).await;
            let server = server.unwrap();
            say.send(server.address()).unwrap();
            server.run().await;
        });
    });
    let address = said.recv_timeout(LIMIT).unwrap();
    let (address, token) = address.split_once("/#").unwrap();
    let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
    (port, token.to_owned())
}

/// Every second one is refused.
fn timeline() -> Result<String, Error> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    match MADE.fetch_add(1, Ordering::SeqCst) % 2 {
        0 => Ok("{\"traceEvents\":[]}".to_owned()),
        _ => Err(Error::Refused("gone <b>".to_owned())),
    }
}

fn office() -> (u16, String) {
    page(|| {
        let mut evil = task(1, "src/main.rs:1:1", &[]);
        evil.name = Some("<script>alert(1)</script>\\u{1b}".to_owned());
        Ok(View {
            tasks: vec![evil],
            ..View::default()
        })
    })
}

/// Status, head and body of the answer to these bytes; of an answer that does not end, the first part.
fn ask(port: u16, request: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    // It may have been refused before it was read to the end.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    loop {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
        }
        let text = String::from_utf8_lossy(&answer);
        if text.contains("text/event-stream") && text.matches("data:").count() >= 2 {
            let _ = stream.shutdown(Shutdown::Both);
            break;
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.unwrap_or(0), head.to_owned(), body.to_owned())
}

fn request(port: u16, path: &str, headers: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}\r\n")
        .into_bytes()
}

fn with_token(port: u16, path: &str, token: &str) -> (u16, String, String) {
    ask(
        port,
        &request(port, path, &format!("Authorization: Bearer {token}\r\n")),
    )
}

#[test]
fn the_page_and_its_parts_come_without_a_token_and_say_nothing_of_the_program() {
    let (port, _) = office();
    for Asset { path, kind, text } in ASSETS {
        let (status, head, body) = ask(port, &request(port, path, ""));
        assert_eq!(status, 200, "{path}");
        assert!(head.contains(kind) && body == text, "{path}: {head}");
        assert!(!body.contains("alert(1)"));
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src blob:; base-uri 'none'; ",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
        ] {
            assert!(head.contains(header), "{header} is missing in {head}");
        }
        for outside in ["http://", "https://", "//cdn"] {
            let allowed = body.replace("http://www.w3.org/2000/svg", "");
            assert!(!allowed.contains(outside), "{path} asks for {outside}");
        }
    }
}

#[test]
fn who_knows_the_token_sees_the_program() {
    let (port, token) = office();
    let (status, head, body) = with_token(port, "/view", &token);
    assert_eq!(status, 200, "{head}");
    let seen: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(seen["view"]["tasks"][0]["number"], "1");
    // The table's text is put into the page as text; the picture's is escaped here.
    assert_eq!(
        seen["view"]["tasks"][0]["name"],
        "<script>alert(1)</script>\\u{1b}"
    );
    let graph = seen["graph"].as_str().unwrap();
    assert!(
        graph.starts_with("<svg") && !graph.contains("<script"),
        "{graph}"
    );
    let (status, head, body) = with_token(port, "/events", &token);
    assert_eq!(status, 200);
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(body.matches("data: {").count() >= 2, "{body}");
}

#[test]
fn a_page_gets_everything_first_and_then_also_what_is_only_a_part() {
    let mut looks = 0;
    let look = move || {
        looks += 1;
        let view = View {
            tasks: vec![task(looks, "src/main.rs:1:1", &[])],
            ..View::default()
        };
        Ok(match looks % 3 {
            1 => Looked::Whole(view),
            _ => Looked::Part(Part::default()),
        })
    };
    let stacks = || Ok(Stacks::default());
    let (port, token) = begin_sparing(true, look, LIMIT, stacks);
    // Whenever it begins to look, also between two looks at everything.
    for _ in 0..10 {
        let body = with_token(port, "/events", &token).2;
        let mut events = body.split("data: ").skip(1);
        let first = events.next().unwrap();
        assert!(first.contains("\"view\":{"), "{first}");
        assert!(first.contains("\"graph\":\"<svg"), "{first}");
    }
    let body = with_token(port, "/view", &token).2;
    assert!(body.contains("\"view\":{"), "{body}");
    let is_part = |_| {
        let body = with_token(port, "/events", &token).2;
        body.contains("data: {\"part\":{\"runtimes\":[],\"loops\":[],\"tasks\":[],\"gone\":[]}}")
    };
    assert!((0..LOOKS_MAX).any(is_part), "there are no parts");
    // What is held is everything.
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    assert_eq!(change(port, "/hold", &own), 204);
    let body = with_token(port, "/view", &token).2;
    assert!(body.contains("\"held\":true"), "{body}");
    assert_eq!(change(port, "/release", &own), 204);
}

#[test]
fn a_second_page_need_not_wait_for_the_next_look() {
    let (end, has_ended) = std::sync::mpsc::channel::<()>();
    let mut looks = 0;
    let look = move || {
        looks += 1;
        if looks > 1 {
            // The first page has seen the first look; the second takes as long as the test.
            let _ended = has_ended.recv();
        }
        Ok(View::default())
    };
    let (port, token) = page(look);
    let authorization = format!("Authorization: Bearer {token}\r\n");
    let mut first = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    first.set_read_timeout(Some(LIMIT)).unwrap();
    let events = request(port, "/events", &authorization);
    first.write_all(&events).unwrap();
    let mut seen = Vec::new();
    while !seen.windows(6).any(|six| six == b"data: ") {
        let mut more = [0; 512];
        let count = first.read(&mut more).unwrap();
        assert!(count > 0, "the page was closed");
        seen.extend_from_slice(&more[..count]);
    }
    let body = with_token(port, "/view", &token).2;
    assert!(body.contains("\"view\":{"), "{body}");
    drop(end);
}

#[test]
fn threads_are_drawn_when_they_are_asked_for_and_not_too_often() {
    let looks = Arc::new(AtomicUsize::new(0));
    let program = |looks: &Arc<AtomicUsize>| {
        let looks = Arc::clone(looks);
        move || {
            if looks.fetch_add(1, Ordering::SeqCst) == 1 {
                return Err(Error::Refused("gone <b>".to_owned()));
            }
            let threads = vec![waiting(0, &["file", "work"]), thread(1, &["work"])];
            Ok(Stacks { threads })
        }
    };
    let view = || Ok(View::default());
    let (port, token) = page_with_threads(view, LIMIT * 60, program(&looks));
    assert_eq!(looks.load(Ordering::SeqCst), 0, "nobody has asked");
    for _ in 0..3 {
        let (status, head, body) = with_token(port, "/threads", &token);
        assert_eq!(status, 200, "{head}");
        let seen: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(seen["threads"], 2);
        let waits = &seen["lock_waits"];
        assert_eq!(waits.as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&waits[0]["runtime"], &waits[0]["worker"]),
            (&1.into(), &0.into())
        );
        assert_eq!(waits[0]["waits_for"], "a mutex of std");
        let methods = seen["methods"].as_array().unwrap();
        // The functions, and the lock that one of them takes.
        assert_eq!((methods.len(), &methods[0]["count"]), (3, &2.into()));
        assert_eq!(methods[0]["function"], "work");
        let method = methods[0]["graph"].as_str().unwrap();
        assert!(
            method.contains("node method") && method.contains("1 thread&#10;file"),
            "{method}"
        );
        assert!(
            seen["graph"]
                .as_str()
                .unwrap()
                .contains("file at office.rs:7")
        );
    }
    assert_eq!(looks.load(Ordering::SeqCst), 1, "the others got the same");
    let looks = Arc::new(AtomicUsize::new(0));
    let (port, token) = page_with_threads(view, Duration::ZERO, program(&looks));
    let bodies = [(); 3].map(|()| with_token(port, "/threads", &token).2);
    assert_eq!(bodies[1], r#"{"error":"the program refuses: gone <b>"}"#);
    assert!(bodies[0] == bodies[2] && looks.load(Ordering::SeqCst) == 3);
}

#[test]
fn functions_of_tasks_are_those_of_the_last_look_with_their_text_escaped() {
    let (port, token) = page(|| {
        let mut evil = task(1, "src/main.rs:1:1", &["@7"]);
        evil.type_name = "<script>alert(1)</script>".to_owned();
        Ok(View {
            tasks: vec![evil],
            ..View::default()
        })
    });
    let methods = || -> serde_json::Value {
        let (status, head, body) = with_token(port, "/methods", &token);
        assert_eq!(status, 200, "{head}");
        serde_json::from_str(&body).unwrap()
    };
    let seen = methods();
    assert_eq!(seen["methods"].as_array().map(Vec::len), Some(0));
    assert_eq!(with_token(port, "/view", &token).0, 200);
    let seen = methods();
    assert_eq!(seen["methods_left_out"], 0);
    assert_eq!(seen["methods"][1]["function"], "sends");
    assert_eq!(seen["methods"][1]["count"], 1);
    let graph = seen["methods"][0]["graph"].as_str().unwrap();
    assert!(
        graph.contains("node method") && graph.contains("&lt;script&gt;"),
        "{graph}"
    );
    assert!(!graph.contains("<script"), "{graph}");
}

#[test]
fn a_timeline_is_made_when_it_is_asked_for_and_not_of_held_pages() {
    let view = || Ok(View::default());
    let (port, token) = page_with_control(view, || Ok(Stacks::default()));
    let (status, head, body) = with_token(port, "/timeline", &token);
    assert_eq!((status, body.as_str()), (200, "{\"traceEvents\":[]}"));
    assert!(head.contains("application/json"), "{head}");
    let (status, _, body) = with_token(port, "/timeline", &token);
    assert_eq!(
        (status, body.as_str()),
        (502, "the program refuses: gone <b>")
    );
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    assert_eq!(change(port, "/hold", &own), 204);
    assert_eq!(with_token(port, "/timeline", &token).0, 409);
}

#[test]
fn a_wrong_token_and_none_are_refused() {
    let (port, token) = office();
    let other = format!("{}{}", &token[1..], &token[..1]);
    for path in [
        "/view",
        "/events",
        "/threads",
        "/methods",
        "/timeline",
        "/nothing",
    ] {
        for wrong in ["", "x", &other, &token[..63], &format!("{token}0")] {
            assert_eq!(with_token(port, path, wrong).0, 401, "{path} {wrong}");
        }
        assert_eq!(ask(port, &request(port, path, "")).0, 401);
        let cookie = format!("Cookie: token={token}\r\nAuthorization: Basic {token}\r\n");
        assert_eq!(ask(port, &request(port, path, &cookie)).0, 401);
    }
    assert_eq!(with_token(port, "/nothing", &token).0, 404);
}

#[test]
fn another_host_or_origin_is_refused_even_with_the_token() {
    let (port, token) = office();
    let allowed = format!("Authorization: Bearer {token}\r\n");
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1:{port}.evil.example"),
    ] {
        let request =
            format!("GET /view HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{allowed}\r\n");
        assert_eq!(ask(port, request.as_bytes()).0, 403, "{host}");
    }
    let no_host = format!("GET /view HTTP/1.1\r\nConnection: close\r\n{allowed}\r\n");
    assert!([400, 403].contains(&ask(port, no_host.as_bytes()).0));
    for origin in ["http://evil.example", "null", "https://127.0.0.1", ""] {
        let headers = format!("{allowed}Origin: {origin}\r\n");
        assert_eq!(
            ask(port, &request(port, "/view", &headers)).0,
            403,
            "{origin}"
        );
    }
    let headers = format!("{allowed}Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(ask(port, &request(port, "/view", &headers)).0, 403);
    let own =
        format!("{allowed}Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(ask(port, &request(port, "/view", &own)).0, 200);
    let localhost = format!(
        "GET /view HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n{allowed}\r\n"
    );
    assert_eq!(ask(port, localhost.as_bytes()).0, 200);
}

#[test]
fn oversized_requests_bodies_and_other_methods_are_refused() {
    let (port, token) = office();
    let allowed = format!("Authorization: Bearer {token}\r\n");
    let long = format!("/view?{}", "x".repeat(1_000));
    assert_eq!(ask(port, &request(port, &long, &allowed)).0, 414);
    let large = format!("{allowed}X-Large: {}\r\n", "x".repeat(9_000));
    assert_eq!(ask(port, &request(port, "/view", &large)).0, 431);
    let huge = format!("{allowed}X-Huge: {}\r\n", "x".repeat(2 << 20));
    assert!([0, 431].contains(&ask(port, &request(port, "/view", &huge)).0));
    let with_body = format!("{allowed}Content-Length: 5\r\n\r\nhello");
    assert_eq!(ask(port, &request(port, "/view", &with_body)).0, 413);
    let chunked = format!("{allowed}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n");
    assert_eq!(ask(port, &request(port, "/view", &chunked)).0, 413);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = String::from_utf8(request(port, "/view", &allowed)).unwrap();
        let request = request.replacen("GET", method, 1);
        assert_eq!(ask(port, request.as_bytes()).0, 405, "{method}");
    }
    assert_eq!(with_token(port, "/view", &token).0, 200, "it still serves");
}

/// The status of a request to change something.
fn change(port: u16, path: &str, headers: &str) -> u16 {
    let request = String::from_utf8(request(port, path, headers)).unwrap();
    ask(port, request.replacen("GET", "POST", 1).as_bytes()).0
}

#[test]
fn a_held_page_stands_still_for_all_and_goes_on_when_it_is_released() {
    let looks = Arc::new(AtomicUsize::new(0));
    let program = {
        let looks = Arc::clone(&looks);
        move || {
            let tasks_left_out = looks.fetch_add(1, Ordering::SeqCst);
            let view = View::default();
            Ok(View {
                tasks_left_out,
                ..view
            })
        }
    };
    let seen_stacks = Arc::new(AtomicUsize::new(0));
    let stacks = {
        let seen = Arc::clone(&seen_stacks);
        move || {
            seen.fetch_add(1, Ordering::SeqCst);
            Ok(Stacks::default())
        }
    };
    let (port, token) = page_with_control(program, stacks);
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    let see = || -> (u64, bool) {
        let body = with_token(port, "/view", &token).2;
        let seen: serde_json::Value = serde_json::from_str(&body).unwrap();
        let number = seen["view"]["tasks_left_out"].as_u64().unwrap();
        (number, seen["held"].as_bool().unwrap())
    };
    assert!(!see().1);
    assert_eq!(change(port, "/hold", &own), 204);
    let (held, is_held) = see();
    assert!(is_held);
    // Others have asked in between, if a look was under way when it was held.
    let before = looks.load(Ordering::SeqCst);
    for _ in 0..20 {
        assert_eq!(see(), (held, true));
        assert_eq!(with_token(port, "/threads", &token).0, 200);
    }
    assert!(looks.load(Ordering::SeqCst) <= before + 1, "it was asked");
    assert_eq!(seen_stacks.load(Ordering::SeqCst), 1);
    assert_eq!(change(port, "/hold", &own), 204, "twice is as once");
    assert_eq!(change(port, "/release", &own), 204);
    let goes_on = (0..LOOKS_MAX).any(|_| see() != (held, false));
    assert!(goes_on, "it holds still");
    let (gone_on, is_held) = see();
    assert!(gone_on > held && !is_held);
    assert_eq!(with_token(port, "/threads", &token).0, 200);
    assert_eq!(seen_stacks.load(Ordering::SeqCst), 2);
}

#[test]
fn without_control_nothing_can_be_held_or_polled() {
    let (port, token) = office();
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    for path in CHANGES {
        assert_eq!(change(port, path, &own), 403, "{path}");
    }
    let body = with_token(port, "/view", &token).2;
    let seen: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert!(seen["held"].is_null(), "{body}");
}

#[test]
fn changes_need_the_token_the_own_origin_and_host_and_a_post() {
    let view = || Ok(View::default());
    let (port, token) = page_with_control(view, || Ok(Stacks::default()));
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
    for path in CHANGES {
        assert_eq!(change(port, path, &origin), 401, "{path}");
        let wrong = format!("{origin}Authorization: Bearer {}0\r\n", &token[1..]);
        assert_eq!(change(port, path, &wrong), 401, "{path}");
        assert_eq!(change(port, path, &bearer), 403, "no origin at {path}");
        for evil in ["http://evil.example", "null", "http://127.0.0.1"] {
            let headers = format!("{bearer}Origin: {evil}\r\n");
            assert_eq!(change(port, path, &headers), 403, "{evil} at {path}");
        }
        let crossing = format!("{bearer}{origin}Sec-Fetch-Site: cross-site\r\n");
        assert_eq!(change(port, path, &crossing), 403, "{path}");
        let rebound = format!(
            "POST {path} HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n{bearer}{origin}\r\n"
        );
        assert_eq!(ask(port, rebound.as_bytes()).0, 403, "{path}");
        let with_body = format!("{bearer}{origin}Content-Length: 5\r\n\r\nhello");
        assert_eq!(change(port, path, &with_body), 413, "{path}");
        assert_eq!(with_token(port, path, &token).0, 405, "a GET of {path}");
    }
    let body = with_token(port, "/view", &token).2;
    assert!(body.contains("\"held\":false"), "{body}");
    assert_eq!(change(port, "/view", &format!("{bearer}{origin}")), 405);
}

#[test]
fn a_program_that_has_ended_is_reported_and_asked_again() {
    let mut answers = 0;
    let (port, token) = page(move || {
        answers += 1;
        match answers {
            1 => Err(Error::Refused("gone <b>".to_owned())),
            _ => Ok(View::default()),
        }
    });
    let (status, _, body) = with_token(port, "/events", &token);
    assert_eq!(status, 200);
    assert!(
        body.contains("\"error\":\"the program refuses: gone <b>\""),
        "{body}"
    );
    assert!(body.contains("\"view\""), "{body}");
}

#[test]
fn two_pages_have_different_tokens_of_256_bits() {
    let (first, second) = (office().1, office().1);
    assert!(first != second && first.len() == 64 && second.len() == 64);
}

const LIMIT: Duration = Duration::from_secs(60);
/// Of these one shows what is new.
const LOOKS_MAX: usize = 100;
