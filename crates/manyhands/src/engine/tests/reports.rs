//! What is recorded of calls that begin alone, at places whose cost is set: short ones, and new ones.
//!
//! Not here: what is said of it (the crate `manyhands-analysis`), and other loops (`tests/inspect/loops.rs`).

use super::{Numbers, plan};
use crate::call_site::CallSiteProfile;
use crate::engine::consumer::Consumer;
use crate::engine::{cost, drive, drive_looked_up};
use crate::recording::enabled::loops::running::last_loop;
use crate::recording::enabled::opening;
use crate::runtime::Runtime;
use crate::sync::{Mutex, clock, lock, thread, wait_until};
use manyhands_analysis::{AloneBecause, LoopReport};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Range;

/// Gives each item to a body.
struct Each<F>(F);

impl<F: Fn(u64) + Sync> Consumer<u64> for Each<F> {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = u64>>(&self, _: &mut (), _: Range<u64>, items: I) {
        items.for_each(&self.0);
    }
}

/// The report of a call of `len` items at a place at which an item has cost `cost`.
fn report<F: Fn(u64) + Sync>(cost: u64, len: u64, body: F) -> LoopReport {
    opening::open();
    let mut consumer = Each(body);
    let key = drive_looked_up::<Numbers, Each<F>> as *const () as usize;
    CallSiteProfile::of(key).learn(cost);
    drive(&Numbers(len), &mut consumer, &plan(None));
    last_loop().expect("it was recorded")
}

/// The cost of items that take almost no time, and that of a place that has not been called.
const LIGHT: u64 = 1 << 10;
const UNKNOWN: u64 = 0;

fn compute(nanos: u64) {
    let (begun, ticks) = (clock::ticks(), clock::ticks_in(nanos));
    while clock::ticks().abs_diff(begun) < ticks {
        std::hint::spin_loop();
    }
}

#[test]
fn a_short_call_is_reported_as_one_block_of_its_caller() {
    assert!(cost::is_short(LIGHT, 3));
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let call = || runtime.install(|| report(LIGHT, 3, |_| compute(100)));
    let report = RefCell::new(call());
    // The monitor opens the call of a thread that loses its processor, and the place learns what that took.
    wait_until("a short call is short", || {
        report.replace(call());
        report.borrow().alone_because == Some(AloneBecause::AlwaysShort)
    });
    let report = report.into_inner();
    assert_eq!(
        (report.items, report.threads, report.runners.len()),
        (3, 1, 1)
    );
    let caller = &report.runners[0];
    assert_eq!((caller.items, caller.blocks), (3, 1));
    assert!(caller.is_caller && caller.worked == report.elapsed);
    assert!(report.elapsed.as_nanos() >= 300);
    assert_eq!(report.before_opening.as_ref(), Some(caller));
}

#[test]
fn a_call_that_the_monitor_opened_is_reported_with_what_each_thread_did() {
    for cost in [LIGHT, UNKNOWN] {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let threads = Mutex::new(HashSet::new());
        let report = runtime.install(|| {
            report(cost, 16, |_| {
                lock(&threads).insert(thread::current().id());
                wait_until("another thread begins an item", || lock(&threads).len() > 1);
            })
        });
        assert_eq!(report.alone_because, None, "{report:?}");
        let items: u64 = report.runners.iter().map(|runner| runner.items).sum();
        assert_eq!((report.items, items), (16, 16), "{report:?}");
        let callers: Vec<_> = report.runners.iter().filter(|it| it.is_caller).collect();
        assert_eq!(callers.len(), 1, "{report:?}");
        assert!(report.runners.len() >= 2, "{report:?}");
        let alone = report.before_opening.as_ref().unwrap();
        assert!(alone.is_caller, "{report:?}");
        // None, if the thread lost its processor before the first.
        assert_eq!(alone.items > 0, alone.blocks > 0, "{report:?}");
        let opened = report.opened_after.unwrap();
        assert!(opened < report.elapsed, "{report:?}");
        assert!(alone.items == 0 || alone.left_after > opened, "{report:?}");
        let all = report.runners.iter();
        assert!(
            all.clone()
                .all(|runner| runner.left_after <= report.elapsed)
        );
        assert!(
            all.clone().all(|runner| runner.worked <= report.elapsed),
            "{report:?}"
        );
        let helpers = all.filter(|runner| !runner.is_caller);
        assert!(
            helpers.clone().all(|helper| helper.joined_after >= opened),
            "{report:?}"
        );
        assert!(helpers.count() >= 1);
    }
}
