//! Looking at a program: here a socket that answers as one does.

use crate::{manyhands, text};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread;

const HELLO: &str = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
const TASK: &str = r#"{"task":{"number":"3","kind":"future","id":"7f","name":"clerk","type":"office::clerk","spawned_at":"src/main.rs:7:1","parent":null,"runtime":1,"worker":0,"state":"waiting","in_state_us":1500,"age_us":2000,"busy_us":12,"polls":3,"wakes":2,"waits":[{"kind":"receive","resource":"7f","owner":null,"at":"src/office.rs:12:9","waiting_us":1400,"direct":true}],"waits_left_out":0,"may_wait_for_more":false,"changes":9}}"#;

/// A program that answers one client's two requests; returns the path of its socket.
fn program(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("7.sock");
    let listener = UnixListener::bind(&path).expect("the folder is new");
    thread::spawn(move || answer(&listener).expect("the client stays until it has its answers"));
    path
}

fn answer(listener: &UnixListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    writeln!(stream, "{HELLO}")?;
    let mut requests = BufReader::new(stream.try_clone()?);
    let mut expect = |word| {
        let mut request = String::new();
        requests.read_line(&mut request)?;
        assert!(request.contains(word), "{request}");
        io::Result::Ok(())
    };
    expect("snapshot")?;
    writeln!(stream, "{TASK}")?;
    writeln!(
        stream,
        r#"{{"end":"snapshot","tasks":1,"tasks_left_out":0}}"#
    )?;
    expect("deadlocks")?;
    writeln!(stream, r#"{{"end":"deadlocks","deadlocks":0}}"#)
}

#[test]
fn the_tasks_of_a_program_are_printed_as_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let output = manyhands(&["inspect", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    for part in ["clerk", "waiting", "receive 7f", "src/office.rs:12"] {
        assert!(out.contains(part), "'{part}' is missing in: {out}");
    }
}

#[test]
fn the_lines_of_a_program_are_printed_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = program(&folder);
    let output = manyhands(&["inspect", "--json", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["task"]["waits"][0]["kind"], "receive");
}

#[test]
fn a_program_that_does_not_listen_is_an_error_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.sock");
    let output = manyhands(&["inspect", "--socket", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(
        err.lines().count() == 1 && err.contains("MANYHANDS_INSPECT"),
        "{err}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn a_process_and_a_socket_are_not_both_named_and_a_process_is_a_number() {
    for arguments in [&["inspect", "1", "--socket", "x"][..], &["inspect", "many"]] {
        let output = manyhands(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
}
