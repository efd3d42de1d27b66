//! The first look of a page: it is made at once, and what it sees is shown at once.

use super::{LIMIT, begin_with, with_token};
use crate::error::Error;
use crate::looker::Looked;
use crate::page::PageSettings;
use crate::stacks::Stacks;
use crate::view::View;
use std::sync::mpsc;

/// A page of a program that is looked at once in an hour.
fn hourly(
    look: impl FnMut(&mut dyn FnMut(Looked)) -> Result<(), Error> + Send + 'static,
) -> (u16, String) {
    let settings = PageSettings {
        port: 0,
        every: LIMIT * 60,
        tasks_max: 10,
        control: false,
    };
    begin_with(settings, look, LIMIT, || Ok(Stacks::default()))
}

#[test]
fn a_page_need_not_wait_for_the_time_between_two_looks() {
    let (port, token) = hourly(|show| {
        show(Looked::Whole(View::default()));
        Ok(())
    });
    // Also one that is loaded again.
    for _ in 0..3 {
        let body = with_token(port, "/view", &token).2;
        assert!(body.contains("\"view\":{"), "{body}");
    }
}

#[test]
fn what_is_seen_first_is_shown_while_the_look_goes_on() {
    let (end, has_ended) = mpsc::channel::<()>();
    let (port, token) = hourly(move |show| {
        show(Looked::Whole(View::default()));
        // A search that takes as long as the test.
        let _ended = has_ended.recv();
        Ok(())
    });
    let body = with_token(port, "/view", &token).2;
    assert!(body.contains("\"view\":{"), "{body}");
    drop(end);
}
