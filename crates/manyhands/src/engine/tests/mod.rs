//! Tests of the engine as a whole; those of a part are in its file.

mod many_cores;
mod mixes;
#[cfg(feature = "inspect")]
mod reports;

use crate::Runtime;
use crate::engine::{CallSiteProfile, Consumer, Indexed, Plan, SharingPlan, Site, Until};
use crate::engine::{Rate, cost as model, current, drive, key_of};
use crate::sync::{clock, wait_until};
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

struct Numbers(u64);

// SAFETY: numbers; nobody is hurt by one that comes twice.
unsafe impl Indexed for Numbers {
    type Item = u64;

    fn len(&self) -> u64 {
        self.0
    }

    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        start..end
    }
}

/// Counts the items, and those at which the calling thread is one of those that run. Of a call site for each number.
#[derive(Default)]
struct Counting<const SITE: u32> {
    items: AtomicUsize,
    of_runners: AtomicUsize,
}

impl<const SITE: u32> Consumer<u64> for Counting<SITE> {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = u64>>(&self, _: &mut (), _: Range<u64>, items: I) {
        let count = items.count();
        self.items.fetch_add(count, Ordering::Relaxed);
        if current::slot().is_some() {
            self.of_runners.fetch_add(count, Ordering::Relaxed);
        }
    }
}

fn plan(degree: Option<usize>) -> Plan<'static> {
    Plan {
        sharing: SharingPlan::when_it_pays(degree),
        site: Site::here(),
    }
}

/// The counts of a call whose items are known to cost so much, where sharing has hurt.
fn counts_alone<const SITE: u32>(cost: u64, degree: Option<usize>) -> [usize; 2] {
    let site = CallSiteProfile::of(key_of::<Numbers, Counting<SITE>>());
    site.learn(cost);
    site.set_history(model::after_contention(site.history(), ITEMS));
    let plan = plan(degree);
    let mut counting = Counting::<SITE>::default();
    drive(&Numbers(ITEMS), &mut counting, &plan);
    assert!(current::slot().is_none(), "it has left");
    [counting.items, counting.of_runners].map(AtomicUsize::into_inner)
}

#[test]
fn a_long_call_that_runs_alone_because_sharing_hurt_counts_as_a_thread_that_runs() {
    let long = 1 << 30;
    assert_eq!(counts_alone::<0>(long, None), [1_000, 1_000]);
    assert_eq!(counts_alone::<1>(long, Some(1)), [1_000, 0]);
    assert_eq!(counts_alone::<2>(1, None), [1_000, 0], "it is short");
}

/// How many items of a call are run by a thread that counts as running. They are known to take so long.
fn items_of_runners<const SITE: u32>(nanos: u64, until: Until) -> usize {
    let site = CallSiteProfile::of(key_of::<Numbers, Counting<SITE>>());
    site.learn(clock::ticks_in(nanos) << 10);
    let mut plan = plan(None);
    // It would not pay to merge what several runners make of such items.
    plan.sharing.merges_items = true;
    plan.sharing.until = until;
    let mut counting = Counting::<SITE>::default();
    drive(&Numbers(ITEMS), &mut counting, &plan);
    assert_eq!(counting.items.into_inner(), 1_000);
    counting.of_runners.into_inner()
}

#[test]
fn a_call_that_might_be_shared_counts_as_a_thread_that_runs_unless_it_may_end_at_any_item() {
    assert_eq!(items_of_runners::<5>(50, Until::End), 1_000);
    // Others may join these two later.
    assert!(items_of_runners::<6>(50, Until::First) < 1_000);
    assert!(items_of_runners::<7>(1, Until::End) < 1_000, "it is short");
}

#[test]
fn a_call_that_was_interrupted_raises_the_cost_of_an_item_by_little() {
    let site = CallSiteProfile::of(0x7000);
    let learn = |cost| super::learn_item(site, Rate(cost));
    learn(5_000_000);
    assert_eq!(site.cost(), 5_000_000, "the first one is all that is known");
    while site.cost() > 115 {
        learn(100);
    }
    let before = site.cost();
    learn(before * 5_000);
    assert_eq!(site.cost(), 4 * before);
    learn(5 * before);
    assert_eq!(site.cost(), 4 * before + before / 2);
    let mut calls = 0;
    while site.cost() < 1_000_000 {
        learn(2_000_000);
        calls += 1;
    }
    assert!(calls <= 10, "what does take longer is learnt, {calls}");
    learn(u64::MAX);
}

#[test]
fn calls_that_run_alone_leave_places_to_those_that_cannot_do_without() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let _entered = runtime.enter();
    let shared = runtime.shared();
    let long = 1 << 30;
    let take = |_| shared.take_external_slot().map(|(place, _)| place);
    let taken: Vec<_> = (0..=512).filter_map(take).collect();
    assert_eq!(counts_alone::<3>(long, None), [1_000, 0]);
    assert!(current::with_slot(|slot| slot.is_some()), "there are more");
    for place in taken {
        shared.give_external_slot_back(place);
    }
    assert_eq!(counts_alone::<4>(long, None), [1_000, 1_000]);
}

/// Counts how its runners end. Its first item may wait for the last one.
struct Ending<const WAITS: bool> {
    started: AtomicUsize,
    finished: AtomicUsize,
    finished_only: AtomicUsize,
    reached: AtomicU64,
}

impl<const WAITS: bool> Consumer<u64> for Ending<WAITS> {
    type Runner = ();

    fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    fn consume<I: Iterator<Item = u64>>(&self, _: &mut (), positions: Range<u64>, items: I) {
        items.for_each(drop);
        self.reached.fetch_max(positions.end, Ordering::Release);
        if WAITS && positions.start == 0 {
            wait_until("another runner has run the last item", || {
                self.reached.load(Ordering::Acquire) == 2
            });
        }
    }

    fn finish(&self, (): ()) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    fn finish_only(&mut self, (): ()) {
        *self.finished_only.get_mut() += 1;
    }
}

/// The runners of a short call of two items that were started, finished, and finished as the only one.
fn runners_of_short<const WAITS: bool>() -> [usize; 3] {
    CallSiteProfile::of(key_of::<Numbers, Ending<WAITS>>()).learn(1);
    let mut ending = Ending::<WAITS> {
        started: AtomicUsize::new(0),
        finished: AtomicUsize::new(0),
        finished_only: AtomicUsize::new(0),
        reached: AtomicU64::new(0),
    };
    drive(&Numbers(2), &mut ending, &plan(None));
    [ending.started, ending.finished, ending.finished_only].map(AtomicUsize::into_inner)
}

#[test]
fn the_only_runner_of_a_short_call_is_finished_by_itself_and_those_of_an_opened_one_are_not() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    assert_eq!(runners_of_short::<false>(), [1, 0, 1]);
    assert_eq!(runners_of_short::<true>(), [2, 2, 0]);
}

/// Its first item waits until another runner has run the last one. Of a call site for each number.
#[derive(Default)]
struct FirstWaitsForLast<const SITE: u32>(AtomicBool);

impl<const SITE: u32> Consumer<u64> for FirstWaitsForLast<SITE> {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = u64>>(&self, _: &mut (), _: Range<u64>, items: I) {
        let Self(has_run_last) = self;
        items.for_each(|item| match item {
            0 => wait_until("another runner has run the last item", || {
                has_run_last.load(Ordering::Acquire)
            }),
            LAST => has_run_last.store(true, Ordering::Release),
            _ => {}
        });
    }
}

#[test]
fn a_call_of_many_items_that_were_cheap_until_now_is_opened_in_its_first_block() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let mut waiting = FirstWaitsForLast::<0>::default();
    let site = CallSiteProfile::of(key_of::<Numbers, FirstWaitsForLast<0>>());
    // Together they are too long for a short call, and not worth a wake.
    site.learn(Rate::of(clock::ticks_in(20_000), ITEMS).0);
    drive(&Numbers(ITEMS), &mut waiting, &plan(None));
}

#[test]
fn a_call_that_runs_alone_because_sharing_hurt_is_opened_if_it_takes_long() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let mut waiting = FirstWaitsForLast::<1>::default();
    let site = CallSiteProfile::of(key_of::<Numbers, FirstWaitsForLast<1>>());
    site.learn(1 << 20);
    site.set_history(model::after_contention(site.history(), ITEMS));
    drive(&Numbers(ITEMS), &mut waiting, &plan(None));
    assert!(!site.must_run_alone(ITEMS), "nor does a later one");
}

const ITEMS: u64 = 1_000;
const LAST: u64 = ITEMS - 1;

/// A search for one number.
struct Searching {
    wanted: u64,
    end: AtomicU64,
}

impl Consumer<u64> for Searching {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = u64>>(&self, _: &mut (), _: Range<u64>, mut items: I) {
        if items.any(|item| black_box(item) == self.wanted) {
            self.end.store(0, Ordering::Relaxed);
        }
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

#[test]
fn a_search_begins_alone_unless_the_last_two_ran_nearly_all_items() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let _entered = runtime.enter();
    let mut plan = plan(None);
    plan.sharing.until = Until::Any;
    let site = CallSiteProfile::of(key_of::<Numbers, Searching>());
    let is_shared_at_once = || {
        let (left, rate) = (1 << 40, Rate(1 << 10));
        plan.sharing.is_better_shared(site, 0, (left, rate))
    };
    let after = [
        (8, 8),
        (7, 8),
        (8, 8),
        (6, 8),
        (8, 8),
        (0, 8),
        (8, 8),
        (8, 8),
    ]
    .map(|(ran, all)| {
        plan.sharing.note_search(site, ran, all);
        is_shared_at_once()
    });
    assert_eq!(after, [false, true, true, false, false, false, false, true]);
    // What runs how much of a search that is shared, or that the monitor opens, nobody knows. So some are needed.
    let search = |wanted| {
        let end = AtomicU64::new(u64::MAX);
        // So many that the call is not short, and few enough for Miri.
        drive(&Numbers(1 << 16), &mut Searching { wanted, end }, &plan);
        is_shared_at_once()
    };
    wait_until("searches end at once", || !search(0));
    wait_until("searches go to the end", || search(u64::MAX));
}
