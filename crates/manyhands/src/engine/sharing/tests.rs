//! Runners of a shared loop at the moments when they have an incomplete view, near the front, and at a loop's end.

use super::window::{self, Point};
use super::{BLOCKS_LEFT, OWNER, Sharing};
use crate::engine::ending::assert_ends_process;
use crate::runtime::HelperSlot;
use crate::sync::Parker;
use crate::sync::clock::{self, OwnClock};
use crate::{Runtime, parallel, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// How far the two threads of a loop have come.
#[derive(Default)]
struct Stage {
    /// The worker holds half of the loop.
    in_hand: AtomicBool,
    /// The owner has seen no positions.
    missed: AtomicBool,
    /// Items that the owner has run after that.
    run_after: AtomicU64,
    ran: AtomicUsize,
    leaves: bool,
}

/// Waits, with a deadline.
fn wait_for(holds: impl Fn() -> bool) {
    let deadline = clock::now() + Duration::from_secs(20);
    while !holds() && clock::now() < deadline {
        thread::yield_now();
    }
    assert!(holds(), "the deadline has passed");
}

impl Stage {
    fn at_worker(&self, point: Point) {
        let is_first = point == Point::InHand && !self.in_hand.swap(true, Ordering::SeqCst);
        if is_first {
            if self.leaves {
                // A task makes a helper leave at the end of its next block.
                drop(task::spawn_local(async {}));
            }
            wait_for(|| self.missed.load(Ordering::SeqCst));
        }
    }

    fn at_owner(&self, point: Point) {
        if point == Point::Missed {
            self.missed.store(true, Ordering::SeqCst);
        }
    }

    fn body(&self, index: usize, is_owner: bool) {
        if index == 0 {
            // Long enough for the remaining work to be shared.
            let begun = clock::ticks();
            wait_for(|| clock::ticks() - begun > clock::ticks_in(3_000_000));
        } else if is_owner {
            wait_for(|| self.in_hand.load(Ordering::SeqCst));
            let missed = u64::from(self.missed.load(Ordering::SeqCst));
            self.run_after.fetch_add(missed, Ordering::SeqCst);
        } else if !self.leaves && self.missed.load(Ordering::SeqCst) {
            // Its second item after that; the first may have been the last of its range without these.
            wait_for(|| index < 40 || self.run_after.load(Ordering::SeqCst) > 0);
        }
        // Too long for the owner to try them alone.
        let begun = clock::ticks();
        wait_for(|| clock::ticks() - begun > clock::ticks_in(20_000));
        self.ran.fetch_add(1, Ordering::SeqCst);
    }
}

/// A loop whose only helper holds half of it while the owner looks for more and sees none.
fn run(stage: Stage) -> Arc<Stage> {
    const ITEMS: usize = 64;
    let stage = Arc::new(stage);
    let theirs = Arc::clone(&stage);
    // The caller takes the part of one of the two.
    let runtime = Runtime::builder()
        .workers(2)
        .max_threads(2)
        .on_thread_start(move |_| {
            let stage = Arc::clone(&theirs);
            window::set(Arc::new(move |point| stage.at_worker(point)));
        })
        .build()
        .expect("the numbers are right");
    let ours = Arc::clone(&stage);
    window::set(Arc::new(move |point| ours.at_owner(point)));
    let owner = thread::current().id();
    parallel::Options::new()
        .runtime(&runtime)
        // So few that the caller shares the loop itself, however long its first item takes.
        .degree_of_parallelism(2)
        .expect("two")
        .for_each(0..ITEMS, |index| {
            stage.body(index, thread::current().id() == owner);
        });
    assert_eq!(stage.ran.load(Ordering::SeqCst), ITEMS, "bodies were lost");
    stage
}

#[test]
fn positions_that_a_helper_leaves_unseen_are_run() {
    let stage = run(Stage {
        leaves: true,
        ..Stage::default()
    });
    assert!(stage.run_after.load(Ordering::SeqCst) > 0);
}

#[test]
fn an_owner_that_missed_stolen_positions_is_called_back() {
    let stage = run(Stage::default());
    assert!(stage.run_after.load(Ordering::SeqCst) > 0);
}

/// What has happened to the helpers of a loop whose bodies contend.
#[derive(Default)]
struct Helpers {
    /// One runs.
    have_come: AtomicBool,
    /// The owner has sent them away,
    are_away: AtomicBool,
    /// has let them in again,
    are_invited: AtomicBool,
    /// and one has run an item after that.
    are_back: AtomicBool,
}

impl Helpers {
    fn at_owner(&self, point: Point) {
        match point {
            Point::SentAway => self.are_away.store(true, Ordering::SeqCst),
            Point::SharedAgain => self.are_invited.store(true, Ordering::SeqCst),
            Point::InHand | Point::Missed => {}
        }
    }

    /// Nanoseconds that an item takes the owner, by its own clock.
    fn owner_nanos(&self) -> u64 {
        if self.are_invited.load(Ordering::SeqCst) {
            wait_for(|| self.are_back.load(Ordering::SeqCst));
        }
        let is_disturbed =
            self.have_come.load(Ordering::SeqCst) && !self.are_away.load(Ordering::SeqCst);
        if is_disturbed { 9_000 } else { 1_000 }
    }

    fn help(&self) {
        if self.are_invited.load(Ordering::SeqCst) {
            self.are_back.store(true, Ordering::SeqCst);
        }
        self.have_come.store(true, Ordering::SeqCst);
        // It does not leave by itself.
        wait_for(|| self.are_away.load(Ordering::SeqCst));
    }
}

#[test]
fn a_helper_that_slows_the_owner_down_is_sent_away_and_comes_back() {
    const ITEMS: usize = 200_000;
    let runtime = Runtime::builder().workers(2).build();
    let runtime = runtime.expect("the numbers are right");
    let helpers = Arc::new(Helpers::default());
    let ours = Arc::clone(&helpers);
    window::set(Arc::new(move |point| ours.at_owner(point)));
    let owner = thread::current().id();
    let own_clock = OwnClock::begin();
    let is_first = AtomicBool::new(true);
    parallel::Options::new()
        .runtime(&runtime)
        .for_each(0..ITEMS, |_| {
            if thread::current().id() != owner {
                return helpers.help();
            }
            if !is_first.swap(false, Ordering::SeqCst) {
                // The first item is the one by which the owner decides to share the others.
                wait_for(|| helpers.have_come.load(Ordering::SeqCst));
            }
            own_clock.advance(helpers.owner_nanos());
        });
    assert!(helpers.are_away.load(Ordering::SeqCst), "not sent away");
    assert!(helpers.are_back.load(Ordering::SeqCst), "not let in again");
}

/// Three runners take turns; one of them leaves, and another takes its place.
#[test]
fn near_the_front_no_runner_is_far_ahead_of_the_others() {
    const MAX: u32 = 4;
    let (slot, parker) = (HelperSlot::default(), Parker::default());
    let mut sharing = Sharing::new(&slot, &parker, 3, 1_000);
    sharing.is_near_the_front = true;
    assert_eq!((sharing.attach(), sharing.attach()), (Some(1), Some(2)));
    let mut has_run = [false; 1_000];
    for turn in 0.. {
        let runner = turn % 3;
        if turn % 10 == 9 && runner > 0 {
            sharing.leave(runner);
            assert_eq!(sharing.attach(), Some(runner));
        }
        let Some(claim) = sharing.next(runner, MAX) else {
            break;
        };
        let (start, end) = sharing.ranges.spend(runner, claim);
        has_run[start as usize..end as usize].fill(true);
        let all_before = has_run.iter().take_while(|has_run| **has_run).count();
        let ahead = (end as usize).saturating_sub(all_before);
        assert!(
            ahead <= (4 * BLOCKS_LEFT * MAX) as usize,
            "{ahead} ahead at {start}"
        );
    }
    while let Some(claim) = sharing.take_rest() {
        sharing.ranges.spend(OWNER, claim);
    }
    sharing.check_all_spent();
}

/// A runner's next positions, spent.
fn spend_next(sharing: &Sharing<'_>, runner: usize, max: u32) -> (u32, u32) {
    let claim = sharing.next(runner, max).expect("there are positions");
    sharing.ranges.spend(runner, claim)
}

#[test]
fn what_a_helper_has_left_near_the_front_comes_first() {
    let (slot, parker) = (HelperSlot::default(), Parker::default());
    let mut sharing = Sharing::new(&slot, &parker, 2, 100);
    sharing.is_near_the_front = true;
    let spend = |runner, max| spend_next(&sharing, runner, max);
    assert_eq!(sharing.attach(), Some(1));
    assert_eq!(spend(1, 1), (8, 9));
    assert_eq!([spend(OWNER, 8), spend(OWNER, 8)], [(0, 2), (2, 4)]);
    // The owner has the back of the loop when the helper leaves.
    let own = sharing.ranges.take_all(OWNER).expect("some are left");
    assert_eq!(sharing.ranges.spend(OWNER, own), (4, 8));
    assert_eq!(spend(OWNER, 1), (17, 18));
    sharing.leave(1);
    assert_eq!([spend(OWNER, 3), spend(OWNER, 5)], [(9, 12), (12, 17)]);
    assert_eq!(spend(OWNER, 1), (18, 19));
    let rest = sharing.ranges.take_all(OWNER).expect("the rest");
    sharing.ranges.spend(OWNER, rest);
    sharing.check_all_spent();
}

/// A runner whose claim lies beyond the end drops its own range, which then lies there, too.
#[test]
fn what_a_helper_has_left_behind_the_own_range_does_not_come_first() {
    let (slot, parker) = (HelperSlot::default(), Parker::default());
    let mut sharing = Sharing::new(&slot, &parker, 2, 16);
    sharing.is_near_the_front = true;
    let spend = |runner, max| spend_next(&sharing, runner, max);
    assert_eq!(sharing.attach(), Some(1));
    assert_eq!(spend(1, 1), (8, 9));
    sharing.leave(1);
    assert_eq!(spend(OWNER, 8), (0, 2));
    let own = sharing.ranges.take_all(OWNER).expect("some are left");
    assert_eq!(sharing.ranges.spend(OWNER, own), (2, 8));
    assert_eq!(spend(OWNER, 9), (9, 16));
    sharing.check_all_spent();
}

#[test]
fn a_loop_that_has_spent_too_little_ends_the_process() {
    assert_ends_process(
        "engine::sharing::tests::a_loop_that_has_spent_too_little_ends_the_process",
        "has lost some of its items",
        || {
            let (slot, parker) = (HelperSlot::default(), Parker::default());
            let sharing = Sharing::new(&slot, &parker, 1, 10);
            let claim = sharing.next(0, 2).expect("there is something");
            assert_eq!(sharing.ranges.spend(0, claim), (0, 2));
            sharing.check_all_spent();
        },
    );
}

#[test]
fn positions_that_are_dropped_end_the_process() {
    assert_ends_process(
        "engine::sharing::tests::positions_that_are_dropped_end_the_process",
        "neither run nor discarded",
        || {
            let (slot, parker) = (HelperSlot::default(), Parker::default());
            let sharing = Sharing::new(&slot, &parker, 1, 10);
            drop(sharing.next(0, 2));
        },
    );
}
