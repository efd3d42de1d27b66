//! The calls that a thread runs alone, and a monitor that opens them (F2 to F7 of `runtime/fork_join/unshared_calls.rs`).
//!
//! Threads: an owner, and a monitor, which then runs the fork that it has made, as a worker would; or one that ends the runtime.
//! Operations: enter, claim, leave, begin to be watched; look, end the watch; of `runtime/ending.rs` close.
//! Property: each position is run exactly once, by the owner or in the fork; the monitor opens no call that was left, and none of
//! another runtime; when a monitor rests or sweeps seldom that does not see a call, its owner wakes it, and so does that of the next
//! call; when a runtime has ended, nobody takes himself for watched by it.

use super::pool::{Pool, Starts};
use super::{Asleep, Count, Flag, Memory, Work, beside, check, check_deeper};
use crate::job::Latch;
use crate::runtime::ending::{self, Ends};
use crate::runtime::fork_join::unowned_forks::UnownedForks;
use crate::runtime::fork_join::unshared_calls::{UnsharedCall, UnsharedCalls};
use crate::runtime::fork_join::waiting::{self, AfterWait, Stolen};
use crate::runtime::monitor::control::Monitor;
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;
use std::ptr;

type Call = UnsharedCall<Fork, Model>;

/// A thread with two calls, the second inside of the first one.
struct Model {
    calls: UnsharedCalls<Fork, Self>,
    frames: [Frame; 2],
    unowned_forks: UnownedForks<Fork>,
    parker: Parker,
}

struct Frame {
    memory: Memory,
    positions: [Work; POSITIONS],
    fork: Fork,
}

/// The rest of a call.
#[derive(Debug)]
struct Fork {
    number: usize,
    start: Count,
    latch: Latch,
}

const POSITIONS: usize = 2;
const SLOT: u16 = 7;

impl Model {
    fn new() -> Arc<Self> {
        let model = Arc::new(Self {
            calls: UnsharedCalls::new(),
            frames: [0, 1].map(|number| Frame {
                memory: Memory::new(),
                positions: Work::some(),
                fork: Fork {
                    number,
                    start: Count::new(),
                    latch: Latch::new(),
                },
            }),
            unowned_forks: UnownedForks::new(),
            parker: Parker::default(),
        });
        model.calls.belongs_to(&raw const *model);
        model
    }

    /// Owner: a call, with `inside` in the middle of its first item. The first item of the second call is its owner's from the start.
    fn call<const NUMBER: usize>(&self, inside: impl FnOnce()) {
        let positions = (NUMBER as u64, POSITIONS as u64);
        let number = self.calls.next_number();
        // SAFETY: `open` takes it for what it is.
        let call =
            unsafe { Call::new(self.calls.innermost(), number, positions, 0, open::<NUMBER>) };
        // SAFETY: it stays until it was left.
        let _is_watched = unsafe { self.calls.enter(&call) };
        let mut inside = Some(inside);
        for position in 0..POSITIONS as u64 {
            let is_owned = position < positions.0;
            if !is_owned && self.calls.claim(&call, position, position + 1) == position {
                break;
            }
            self.frames[NUMBER].run(position..position + 1);
            inside.take().into_iter().for_each(|inside| inside());
        }
        self.calls.leave(&call);
        if call.end() < positions.1 {
            self.finish(&self.frames[NUMBER].fork);
        }
        self.frames[NUMBER].memory.free();
    }

    /// Owner: waits for the fork, or runs it.
    fn finish(&self, fork: &Fork) {
        let stolen = Stolen {
            fork: ptr::from_ref(fork).cast_mut(),
            latch: &fork.latch,
            unowned_forks: &self.unowned_forks,
        };
        let waiter = &mut Asleep(&self.parker);
        if waiting::for_fork(waiter, SLOT, &stolen, &|| false) == AfterWait::TakenBack {
            self.run(fork);
        }
    }

    fn run(&self, fork: &Fork) {
        self.frames[fork.number].run(fork.start.now() as u64..POSITIONS as u64);
    }

    /// Monitor: looks, and then runs what it has opened.
    fn look(&self) {
        self.calls
            .look(1, self, |fork| self.unowned_forks.push(fork));
        if let Some(fork) = self.unowned_forks.take() {
            // SAFETY: the model keeps forks to its end.
            let fork = unsafe { &*fork };
            self.run(fork);
            // SAFETY: as above.
            if unsafe { Latch::set(&raw const fork.latch) }.is_some() {
                self.parker.unpark();
            }
        }
    }

    /// Once the threads have ended.
    fn assert_done(&self, number: usize) {
        let positions = &self.frames[number].positions;
        assert!(positions.iter().all(Work::is_done), "positions are lost");
    }
}

impl Frame {
    fn run(&self, positions: std::ops::Range<u64>) {
        self.memory.touch();
        positions.for_each(|position| self.positions[position as usize].run());
    }
}

/// Makes the fork of a call.
unsafe fn open<const NUMBER: usize>(_call: *mut Call, start: u64, model: &Model) -> *mut Fork {
    let frame = &model.frames[NUMBER];
    frame.memory.touch();
    let before = frame.fork.start.add(start as usize);
    assert_eq!(before, 0, "it is opened twice");
    ptr::from_ref(&frame.fork).cast_mut()
}

#[test]
fn a_call_that_is_opened_is_run_once_and_in_place_until_it_has_run() {
    check_deeper(3, || {
        let model = Model::new();
        let monitor = beside(&model, |model| {
            model.look();
            model.look();
        });
        model.call::<0>(|| {});
        monitor.join().unwrap();
        model.assert_done(0);
    });
}

#[test]
fn the_outer_call_is_opened_while_the_inner_one_runs() {
    check(|| {
        let model = Model::new();
        let monitor = beside(&model, |model| {
            model.look();
            model.look();
            model.look();
        });
        let has_begun = Flag::new();
        model.call::<0>(|| {
            has_begun.set();
            model.call::<1>(|| {});
        });
        monitor.join().unwrap();
        model.assert_done(0);
        // The fork may have had the item in which it would have begun.
        if has_begun.is_set() {
            model.assert_done(1);
        }
    });
}

#[test]
fn an_end_opens_no_call_that_its_thread_has_begun_in_another_runtime() {
    check_deeper(3, || {
        let (ends, other) = (Model::new(), Model::new());
        let closer = beside(&ends, |ends| {
            ends.calls
                .open_all(&ends, |_| panic!("it is a call in the other one"));
        });
        ends.calls.belongs_to(&raw const *other);
        let number = ends.calls.next_number();
        // SAFETY: nobody opens it.
        let call = unsafe { Call::new(ptr::null_mut(), number, (0, 1), 0, open::<0>) };
        // SAFETY: it stays until it is left.
        let _is_watched = unsafe { ends.calls.enter(&call) };
        ends.calls.leave(&call);
        closer.join().unwrap();
    });
}

#[test]
fn no_monitor_rests_beside_a_call_whose_owner_takes_it_for_watched() {
    check_ends_of_watch(Stop::Rests);
}

#[test]
fn no_monitor_sweeps_seldom_beside_a_call_whose_owner_takes_it_for_watched() {
    check_ends_of_watch(Stop::SweepsSeldom);
}

#[test]
fn no_owner_takes_itself_for_watched_by_a_runtime_that_has_ended() {
    check_ends_of_watch(Stop::Ends);
}

/// Why calls are watched no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The monitor has seen no calls, and rests.
    Rests,
    /// As above; it only sweeps seldom.
    SweepsSeldom,
    /// The runtime ends.
    Ends,
}

/// A runtime with its side of its monitor.
struct Watching {
    pool: Arc<Pool<0>>,
    monitor: Monitor,
    /// A thread in a call has woken the monitor, or no monitor has gone.
    looks: Flag,
}

impl Watching {
    /// By a monitor that watches threads in calls so far, or not.
    fn new(is_on: bool) -> Arc<Self> {
        let watching = Self {
            pool: Pool::new(1, 1, 0, Starts::Never),
            monitor: Monitor::default(),
            looks: Flag::new(),
        };
        if is_on {
            watching.watches();
            watching.looks.take();
        }
        Arc::new(watching)
    }

    /// Owner, in a call that nobody watches.
    fn watches(&self) -> bool {
        let wake = || {
            self.looks.set();
        };
        self.monitor.watches_calls(self.pool.ending(), wake)
    }

    /// Monitor, or a thread that ends the runtime: stops looking. A monitor goes on if it sees a call.
    fn stop(&self, stop: Stop, calls: &UnsharedCalls<Fork, Model>) {
        let mut goes_on = false;
        let mut end = || {
            goes_on = self.monitor.call_watch.end([calls].into_iter());
            goes_on
        };
        match stop {
            Stop::Rests => self.monitor.switch.rest(end),
            Stop::SweepsSeldom => {
                end();
            }
            Stop::Ends => ending::close(&*self.pool, || {
                end();
                false
            }),
        }
        if goes_on {
            self.looks.set();
        }
    }
}

/// The watch over threads ends. It is on or off, and has one thread among them or not. That begins a call, and leaves it before or
/// after the end.
fn check_ends_of_watch(stop: Stop) {
    for [is_on, is_among, leaves_before] in [
        [false, false, false],
        [false, false, true],
        [true, false, false],
        [true, false, true],
        [true, true, false],
        [true, true, true],
    ] {
        check_deeper(3, move || {
            let (model, watching) = (Model::new(), Watching::new(is_on));
            if is_among {
                assert!(model.calls.begin_watch(|| true));
            }
            let stops = thread::spawn({
                let (model, watching) = (Arc::clone(&model), Arc::clone(&watching));
                move || watching.stop(stop, &model.calls)
            });
            let begin = || {
                let number = model.calls.next_number();
                // SAFETY: nobody opens it.
                unsafe { Call::new(model.calls.innermost(), number, (0, 1), 0, open::<0>) }
            };
            // Returns whether the owner takes itself for watched.
            let enter = |call: &Call| {
                // SAFETY: it stays until it is left.
                unsafe { model.calls.enter(call) || model.calls.begin_watch(|| watching.watches()) }
            };
            let call = begin();
            // Not where the monitor seems to rest, though it will go on, or where the runtime ends.
            let is_watched = enter(&call);
            if leaves_before {
                model.calls.leave(&call);
            }
            stops.join().unwrap();
            if !leaves_before {
                let must_look = is_watched && stop != Stop::Ends;
                assert!(
                    !must_look || watching.looks.is_set(),
                    "nobody opens this call"
                );
                model.calls.leave(&call);
            }
            let next = begin();
            let is_watched = enter(&next);
            model.calls.leave(&next);
            if stop == Stop::Ends {
                assert!(!is_watched, "by a runtime that has ended");
            } else {
                assert!(
                    is_watched && watching.looks.is_set(),
                    "nobody opens the next call"
                );
            }
        });
    }
}
