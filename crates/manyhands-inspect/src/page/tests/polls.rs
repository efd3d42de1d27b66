//! The re-poll of a task that a page asks for.

use super::{ask, change, page_with_control, request};
use crate::error::Error;
use crate::stacks::Stacks;
use crate::view::View;

/// A program in which only task 7 waits.
pub(super) fn poll(task: &str) -> Result<String, Error> {
    match task {
        "7" => Ok("task 7 '<b>': waiting\n".to_owned()),
        _ => Err(Error::Refused("it does not wait".to_owned())),
    }
}

#[test]
fn a_task_is_polled_once_for_who_may_change_something_and_not_while_pages_are_held() {
    let (port, token) = page_with_control(|| Ok(View::default()), || Ok(Stacks::default()));
    let own = format!("Authorization: Bearer {token}\r\nOrigin: http://127.0.0.1:{port}\r\n");
    let poll = |query: &str| {
        let request = String::from_utf8(request(port, &format!("/poll{query}"), &own)).unwrap();
        ask(port, request.replacen("GET", "POST", 1).as_bytes())
    };
    let (status, head, body) = poll("?task=7");
    assert_eq!((status, body.as_str()), (200, "task 7 '<b>': waiting\n"));
    // No browser takes it for a page.
    assert!(
        head.contains("text/plain") && head.contains("nosniff"),
        "{head}"
    );
    let (status, _, body) = poll("?task=8");
    assert_eq!(
        (status, body.as_str()),
        (502, "the program refuses: it does not wait")
    );
    for wrong in ["", "?task=", "?task=seven", "?number=7"] {
        assert_eq!(poll(wrong).0, 400, "{wrong}");
    }
    assert_eq!(change(port, "/hold", &own), 204);
    assert_eq!(poll("?task=7").0, 409);
    assert_eq!(change(port, "/release", &own), 204);
    assert_eq!(poll("?task=7").0, 200);
}
