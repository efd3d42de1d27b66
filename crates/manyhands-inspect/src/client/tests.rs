//! Tests of `client.rs`.

use super::{Client, Size};
use crate::error::Error;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// A connection to a program that says this and closes.
fn client_of(said: &'static str) -> Result<Client, Error> {
    let (here, mut there) = UnixStream::pair().unwrap();
    let program = thread::spawn(move || {
        there.write_all(said.as_bytes()).unwrap();
        there.shutdown(std::net::Shutdown::Write).unwrap();
        there.read_to_end(&mut Vec::new()).unwrap();
    });
    let client = Client::over(here, LIMIT);
    if client.is_err() {
        program.join().unwrap();
    }
    client
}

const HELLO: &str = "{\"manyhands_inspect\":1,\"process\":7,\"library\":\"0.1.0\",\"new\":true}\n";

#[test]
fn nobody_at_the_path_is_an_error_that_says_what_to_do() {
    let error = Client::connect(Path::new("/nonexistent/1.sock")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/nonexistent/1.sock") && text.contains("MANYHANDS_INSPECT"),
        "{text}"
    );
}

#[test]
fn other_programs_other_versions_and_refusals_are_told_apart() {
    for (said, expected) in [
        (
            "HTTP/1.1 400 Bad Request\n",
            "did not begin as such a program does",
        ),
        (
            "{\"manyhands_inspect\":2,\"process\":7,\"library\":\"9\"}\n",
            "version 2",
        ),
        (
            "{\"error\":{\"code\":\"refused\",\"message\":\"not you\"}}\n",
            "refuses: not you",
        ),
        ("", "broke"),
        ("{\"manyhands", "broke"),
    ] {
        let error = client_of(said).unwrap_err().to_string();
        assert!(error.contains(expected), "{said}: {error}");
    }
}

#[test]
fn an_answer_that_ends_early_or_makes_no_sense_is_an_error() {
    for (rest, expected) in [
        ("", "broke"),
        ("{\"end\":\"snapshot\"}\n", "broke"),
        ("[7]\n", "protocol"),
        ("{\"task\":{\"number\":7}}\n", "a line `task` has not"),
        (
            "{\"error\":{\"code\":\"busy\",\"message\":\"later\"}}\n",
            "later",
        ),
    ] {
        let said: &'static str = format!("{HELLO}{rest}").leak();
        let error = client_of(said).unwrap().view(1).unwrap_err().to_string();
        assert!(error.contains(expected), "{rest}: {error}");
    }
}

#[test]
fn what_is_left_of_an_answer_that_failed_is_no_answer_to_the_next_request() {
    let rest = "{\"task\":{\"number\":7}}\n{\"end\":\"groups\"}\n";
    let said: &'static str = format!("{HELLO}{rest}").leak();
    let mut client = client_of(said).unwrap();
    let error = client.groups().unwrap_err().to_string();
    assert!(error.contains("a line `task` has not"), "{error}");
    let error = client.groups().unwrap_err().to_string();
    assert!(error.contains("broke"), "{error}");
}

#[test]
fn lines_and_fields_that_are_not_known_are_ignored_and_what_is_left_out_is_counted() {
    let group = "{\"group\":{\"kind\":\"future\",\"type\":\"a::b\",\"spawned_at\":null,\"state\":\"waiting\",\"waits_for\":\"timer\",\"at\":\"a.rs:1:1\",\"tasks\":3,\"examples\":[\"1\"],\"longest_us\":9}}\n{\"end\":\"groups\",\"groups_left_out\":2}\n";
    let refused = "{\"error\":{\"code\":\"unknown_request\",\"message\":\"what?\"}}\n";
    // An older program does not know of reports either.
    for (answer, groups, groups_left_out) in [(group, 1, 2), (refused, 0, 0)] {
        let said: &'static str = format!(
            "{HELLO}{{\"planet\":{{\"moons\":[1]}}}}\n{{\"end\":\"snapshot\",\"tasks\":0,\"tasks_left_out\":3,\"x\":1}}\n{{\"end\":\"deadlocks\"}}\n{answer}{refused}"
        )
        .leak();
        let view = client_of(said).unwrap().view(0).unwrap();
        assert_eq!((view.tasks.len(), view.tasks_left_out), (0, 3));
        assert_eq!(
            (view.groups.len(), view.groups_left_out),
            (groups, groups_left_out)
        );
    }
}

#[test]
fn an_older_program_that_counts_no_groups_has_none() {
    let refused = "{\"error\":{\"code\":\"unknown_request\",\"message\":\"what?\"}}\n";
    let said: &'static str = format!("{HELLO}{refused}{refused}").leak();
    let mut client = client_of(said).unwrap();
    assert!(client.groups().unwrap().groups.is_empty());
    assert!(client.reports().unwrap().is_empty());
}

#[test]
fn counts_that_no_program_has_are_as_many_as_can_be() {
    let end = format!(
        "{{\"end\":\"x\",\"tasks_left_out\":{0},\"channels_left_out\":{0},\"groups_left_out\":{0}}}\n",
        usize::MAX
    );
    let said: &'static str = format!("{HELLO}{}", end.repeat(4)).leak();
    let view = client_of(said).unwrap().view(0).unwrap();
    assert_eq!(view.tasks_left_out, usize::MAX);
    assert_eq!(view.channels_left_out, usize::MAX);
    assert_eq!(view.groups_left_out, usize::MAX);
}

#[test]
fn bytes_that_are_no_text_are_not_this_protocol() {
    let (here, mut there) = UnixStream::pair().unwrap();
    there.write_all(b"{\"manyhands_inspect\":\xff}\n").unwrap();
    let error = Client::over(here, LIMIT).unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error}");
}

/// What a client sends to a program that answers with these lines.
fn sent(answer: &str, ask: impl FnOnce(&mut Client)) -> String {
    let (here, mut there) = UnixStream::pair().unwrap();
    there.write_all(HELLO.as_bytes()).unwrap();
    there.write_all(answer.as_bytes()).unwrap();
    let mut client = Client::over(here, LIMIT).unwrap();
    ask(&mut client);
    drop(client);
    let mut sent = String::new();
    there.read_to_string(&mut sent).unwrap();
    sent
}

#[test]
fn who_asks_about_a_task_asks_nothing_else_whatever_its_number_is_said_to_be() {
    let number = "7\"}\n{\"poll\":\"8";
    let sent = sent("{\"end\":\"x\"}\n", |client| {
        client.poll_task(number).unwrap();
    });
    // More than one line is no JSON.
    let request_sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(request_sent, serde_json::json!({ "poll": number }));
    assert!(sent.ends_with('\n'), "{sent}");
}

/// What comes of an answer of which `part` is sent again and again, as long as anybody reads it.
fn endless(part: &'static [u8], pause: Duration, limit: Duration) -> String {
    let (here, mut there) = UnixStream::pair().unwrap();
    there.write_all(HELLO.as_bytes()).unwrap();
    let mut client = Client::over(here, limit).unwrap();
    let program = thread::spawn(move || {
        while there.write_all(part).is_ok() {
            thread::park_timeout(pause);
        }
    });
    let error = client.view(0).unwrap_err().to_string();
    drop(client);
    program.join().unwrap();
    error
}

#[test]
fn an_answer_that_trickles_and_one_without_an_end_are_errors() {
    let short = Duration::from_millis(50);
    let error = endless(b"x", Duration::from_millis(1), short);
    assert!(
        error.contains("no answer within 0.05 s: the deadline has elapsed"),
        "{error}"
    );
    let long = format!("{{\"planet\":\"{}\"}}\n", "x".repeat(1 << 14)).leak();
    let error = endless(long.as_bytes(), Duration::ZERO, LIMIT);
    let Size { bytes, lines } = Size::of(0);
    let too_much = format!("more than {bytes} bytes or {lines} lines");
    assert!(error.contains(&too_much), "{error}");
    assert!(bytes < Size::of(1_000).bytes && Size::of(usize::MAX).bytes == 1 << 30);
    // Short lines become long rows.
    let error = endless(b"{\"planet\":1}\n", Duration::ZERO, LIMIT);
    assert!(error.contains(&too_much), "{error}");
}

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);
