//! Single tasks that a page has frozen and thawed.

use super::{ask, page_with_control, request};
use crate::error::Error;
use crate::page::task_freeze::{TaskFreezer, Wish};
use crate::stacks::Stacks;
use crate::wire::View;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

/// A program that has a task 7.
pub(super) fn answer(wish: Wish, task: &str) -> Result<String, Error> {
    match task {
        "7" => Ok(format!("{wish:?} 7\n")),
        _ => Err(Error::Refused("there is no such task".to_owned())),
    }
}

fn post(port: u16, target: &str, headers: &str) -> (u16, String, String) {
    let request = String::from_utf8(request(port, target, headers)).unwrap();
    ask(port, request.replacen("GET", "POST", 1).as_bytes())
}

#[test]
fn who_may_change_something_freezes_and_thaws_a_task_but_not_while_pages_are_frozen() {
    let (port, token) = page_with_control(|| Ok(View::default()), || Ok(Stacks::default()));
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    for (target, status, body) in [
        ("/freeze-task?task=7", 200, "Freeze 7\n"),
        ("/thaw-task?task=7", 200, "Thaw 7\n"),
        (
            "/freeze-task?task=8",
            502,
            "the program refuses: there is no such task",
        ),
        ("/freeze-task?task=seven", 400, "no task of this number"),
        ("/thaw-task", 400, "no task of this number"),
        ("/freeze", 204, ""),
        (
            "/freeze-task?task=7",
            409,
            "the pages are frozen, so the program is not asked",
        ),
        ("/release", 204, ""),
        ("/freeze-task?task=7", 200, "Freeze 7\n"),
    ] {
        let (got, head, text) = post(port, target, &own);
        assert_eq!((got, text.as_str()), (status, body), "{target}");
        assert!(head.contains("nosniff"), "{head}");
    }
}

#[test]
fn while_the_page_is_served_the_program_is_asked_so_that_it_does_not_thaw() {
    let path = std::env::temp_dir().join(format!("manyhands-keeps-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let program = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let hello = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
        writeln!(stream, "{hello}").unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let answered = lines.map(Result::unwrap).inspect(|_| {
            writeln!(stream, "{{\"end\":\"it\"}}").unwrap();
        });
        answered.take(3).collect::<Vec<_>>()
    });
    let freezer = TaskFreezer::asking(path.clone(), Duration::from_millis(1));
    freezer.ask(Wish::Freeze, "7").unwrap();
    let asked = program.join().unwrap();
    let little = r#"{"get":"snapshot","tasks_max":0}"#;
    assert_eq!(asked, [r#"{"freeze":"7"}"#, little, little]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn tasks_are_frozen_over_one_connection_which_is_made_again_if_the_program_has_closed_it() {
    let path = std::env::temp_dir().join(format!("manyhands-freezes-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let program = thread::spawn(move || {
        let mut asked = Vec::new();
        for requests in [2, 1] {
            let (mut stream, _) = listener.accept().unwrap();
            let hello = r#"{"manyhands_inspect":1,"process":7,"library":"0.1.0"}"#;
            writeln!(stream, "{hello}").unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut lines = lines.take(requests);
            asked.push(
                lines
                    .by_ref()
                    .map(Result::unwrap)
                    .inspect(|_| {
                        writeln!(stream, "{{\"end\":\"it\",\"running\":true}}").unwrap();
                    })
                    .collect::<Vec<_>>(),
            );
        }
        asked
    });
    let freezer = TaskFreezer::new(path.clone());
    let frozen = freezer.ask(Wish::Freeze, "7").unwrap();
    assert!(frozen.contains("frozen when this poll"), "{frozen}");
    freezer.ask(Wish::Thaw, "7").unwrap();
    freezer.ask(Wish::Freeze, "8").unwrap();
    assert_eq!(
        program.join().unwrap(),
        [
            vec![r#"{"freeze":"7"}"#, r#"{"thaw":"7"}"#],
            vec![r#"{"freeze":"8"}"#]
        ]
    );
    assert!(
        freezer.ask(Wish::Thaw, "8").is_err(),
        "nobody listens any more"
    );
    std::fs::remove_file(&path).unwrap();
}
