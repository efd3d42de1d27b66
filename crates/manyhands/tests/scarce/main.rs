//! The system refuses resources that a pool needs: each case runs in a process of its own, which must end well within
//! a time limit.
//!
//! Threads are refused by the limit of processes of a user that is not root; the parent sets it while the child
//! waits, so the child runs nothing but the library. Where that cannot be done (no `prlimit`, or an ordinary user
//! who runs other programs) a test passes and says on the error stream that it was skipped.
//!
//! Every wait has a deadline, and nothing sleeps.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod cases;
mod child;

use cases::{CASES, Refusal, WITH_THREADS_REFUSED};

#[test]
fn what_is_refused_makes_nothing_hang() {
    if !child::can_be_refused() {
        return;
    }
    let mut failed = Vec::new();
    for (name, _) in CASES.iter().take(WITH_THREADS_REFUSED) {
        for refusal in [Refusal::Always, Refusal::AtFirst] {
            if let Err(report) = child::run(name, refusal) {
                failed.push(format!("{name}, threads refused {refusal:?}: {report}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_stall_reported_on_a_broken_error_stream_leaves_the_timers_running() {
    if child::can_be_refused() {
        child::run("broken error stream", Refusal::AtFirst).unwrap();
    }
}

#[test]
fn without_descriptors_everything_runs() {
    if child::can_be_refused() {
        child::run("descriptors", Refusal::Always).unwrap();
    }
}

#[test]
fn a_thread_whose_stack_gets_no_address_space_is_a_thread_refused() {
    if child::can_be_refused() {
        for refusal in [Refusal::Always, Refusal::AtFirst] {
            child::run("address space", refusal).unwrap();
        }
    }
}

#[cfg(feature = "inspect")]
#[test]
fn a_watchdog_that_was_refused_its_thread_can_be_started_later() {
    if child::can_be_refused() {
        child::run("watchdog", Refusal::AtFirst).unwrap();
    }
}

/// The child's part; nothing where it is run as a test.
#[test]
fn child() {
    child::play();
}
