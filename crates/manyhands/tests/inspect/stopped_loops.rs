//! What is said about a loop that ended early: no item is said to have run that did not.
//!
//! Not here: async loops (`async_loops.rs`), and the sentences for all cases (the crate `manyhands-analysis`).

use crate::support::until;
use manyhands::inspect::{self, LoopReport, Verdict};
use manyhands::query::prelude::*;
use manyhands::{cancel, diagnostics, parallel};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

const ITEMS: u64 = 300_000;

fn last() -> LoopReport {
    inspect::last_loop().unwrap()
}

/// How many items its runners have run, by their blocks.
fn run(report: &LoopReport) -> u64 {
    report.runners.iter().map(|runner| runner.items).sum()
}

#[track_caller]
fn assert_stopped(begin: &str) {
    let report = last();
    let is_stopped = report.is_stopped && report.verdict() == Verdict::Stopped;
    assert!(is_stopped && !report.has_panicked, "{report:?}");
    let text = report.to_string();
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains(" It was stopped: "), "{text}");
}

#[test]
fn nothing_has_run_of_a_loop_that_was_cancelled_before() {
    diagnostics::open();
    let source = cancel::TokenSource::new();
    source.cancel();
    let token = source.token();
    let cancelled = parallel::Options::new().cancellation(&token);
    let result = cancelled.for_each(0..ITEMS, |_| unreachable!("it was cancelled before"));
    assert!(result.is_err());
    assert_stopped("None of 300000 items ran in ");
    assert_eq!((last().items, run(&last())), (ITEMS, 0));
}

#[test]
fn items_behind_the_end_of_a_loop_have_not_run() {
    diagnostics::open();
    let assert_some = || {
        let run = run(&last());
        assert!((1..ITEMS).contains(&run), "{:?}", last());
        assert_stopped(&format!("At most {run} of 300000 items ran in "));
    };
    let is_found = AtomicBool::new(false);
    // Else another runner could run all others while the system takes the processor from the one with this item.
    let found = |x, at| match x {
        _ if x == at => !is_found.swap(true, Ordering::SeqCst),
        _ if x < at => false,
        _ => until(|| is_found.load(Ordering::SeqCst).then_some(false)),
    };
    let find = (0..ITEMS).into_par_query();
    assert_eq!(find.find(|x| found(*x, 10)), Some(10));
    assert_some();
    is_found.store(false, Ordering::SeqCst);
    let _ = parallel::Options::new().for_each_with_control(0..ITEMS, |x, control| {
        if x == 0 {
            control.stop();
        }
        found(x, 0);
    });
    assert_some();
    is_found.store(false, Ordering::SeqCst);
    let fails = |x| if found(x, 0) { Err(()) } else { Ok(()) };
    assert!(parallel::try_for_each(0..ITEMS, fails).is_err());
    assert_some();
}

#[test]
fn a_block_that_was_left_is_not_said_to_have_run() {
    diagnostics::open();
    // From the second call on the place may be known as one of short calls.
    for _ in 0..100 {
        assert!((0..3).into_par_query().any(|x| x == 0));
        assert_stopped("At most ");
    }
}

#[test]
fn a_search_that_ran_as_one_block_has_run_at_most_all_items() {
    diagnostics::open();
    let one = (0..ITEMS).into_par_query().degree_of_parallelism(1);
    assert_eq!(one.unwrap().find(|x| *x == 10), Some(10));
    assert_stopped("At most 300000 items ran in ");
}

#[test]
fn a_loop_that_has_panicked_does_not_say_how_many_items_ran() {
    diagnostics::open();
    // The last call is a long one of its place, or a short one, or goes over an iterator.
    for (calls, len, is_iterator) in [(1, 1_000, false), (100, 3, false), (1, 1_000, true)] {
        for call in 1..=calls {
            let body = |i| assert!(i + 1 < len || call < calls, "on purpose");
            let all = || match is_iterator {
                true => parallel::for_each(parallel::from_iter(0..len), body),
                false => parallel::for_each(0..len, body),
            };
            assert_eq!(catch_unwind(AssertUnwindSafe(all)).is_ok(), call < calls);
            assert_eq!(last().has_panicked, call == calls);
        }
        let report = last();
        assert!(report.is_stopped, "{report:?}");
        let text = report.to_string();
        assert!(text.starts_with("It ended after "), "{text}");
        assert!(text.contains(". It has panicked, "), "{text}");
    }
}

#[test]
fn a_loop_over_an_iterator_says_that_it_was_stopped() {
    diagnostics::open();
    let one = parallel::Options::new().degree_of_parallelism(1).unwrap();
    let _ = one.for_each_with_control(parallel::from_iter(0..ITEMS), |x, control| {
        if x == 10 {
            control.stop();
        }
    });
    assert_stopped("At most 11 items ran in ");
    // It has fewer than are wanted.
    let three = || parallel::from_iter(0..3).into_par_query();
    assert_eq!(three().take(5).to_vec(), [0, 1, 2]);
    assert!(!last().is_stopped, "{:?}", last());
}
