//! Executions: how a waiter steals only what it waits for, as in `runtime/seat.rs` and `runtime/wait.rs`.
//!
//! Threads: a seat that runs one execution after another above an entry of its own, and a waiter for the
//! first of them. Operations: begin, push, expose, pop, end; look up the extent, steal, look whether it
//! still runs, run or give back. The record is written out again here; deque, latch and parker are real.
//! Property: the waiter runs nothing but entries of the execution it waits for, and every entry is run
//! exactly once, by the waiter or by its owner.

use super::{Work, check};
use crate::job::{ExecutionId, Latch};
use crate::queue::{Deque, Popped};
use crate::sync::Parker;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::sync::Arc;
use loom::thread;

/// A seat with a single level.
///
/// `id` is exchanged where the real seat stores it: loom does not know that a store comes after an
/// exchange that read the value before it.
struct Seat {
    deque: Deque<Fork>,
    id: AtomicU64,
    deque_from: AtomicUsize,
    parker: Parker,
    /// Below both executions, of the first, of the second.
    forks: [Fork; 3],
}

#[derive(Debug)]
struct Fork {
    work: Work,
    latch: Latch,
}

const SEAT: u16 = 7;

impl Seat {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: Deque::new(),
            id: AtomicU64::new(0),
            deque_from: AtomicUsize::new(0),
            parker: Parker::new(),
            forks: [0, 1, 2].map(|number| Fork {
                work: Work::new(number),
                latch: Latch::new(),
            }),
        })
    }

    fn begin_execution(&self, id: ExecutionId) {
        // Relaxed and Release: as in `Seat::begin_execution`.
        self.deque_from.store(self.deque.len(), Ordering::Relaxed);
        self.id.swap(id.to_bits(), Ordering::Release);
    }

    fn end_execution(&self) {
        // Release: as in `Seat::end_execution`.
        self.id.swap(0, Ordering::Release);
    }

    fn push(&self, number: usize) {
        let fork = &self.forks[number];
        fork.work.prepare();
        let index = self.deque.len();
        self.deque.push(index, std::ptr::from_ref(fork).cast_mut());
    }

    /// As the end of a join.
    fn pop(&self, number: usize) {
        let fork = &self.forks[number];
        let index = self.deque.len() - 1;
        let popped = self.deque.pop(index, std::ptr::from_ref(fork).cast_mut());
        if popped == Popped::Mine {
            fork.work.run();
            return;
        }
        if !fork.latch.is_final() && fork.latch.fall_asleep(SEAT) {
            while !fork.latch.is_final() {
                self.parker.park();
            }
        }
        if !fork.work.is_done() {
            fork.work.run();
        }
    }

    fn is_running(&self, id: ExecutionId) -> bool {
        // AcqRel: as in `Seat::is_running`.
        self.id.fetch_or(0, Ordering::AcqRel) == id.to_bits()
    }

    fn extent(&self, id: ExecutionId) -> Option<usize> {
        // Relaxed: as in `Seat::extent`.
        let from = self.deque_from.load(Ordering::Relaxed);
        self.is_running(id).then_some(from)
    }

    /// The waiter's look, as in `wait::help`.
    fn help(&self, id: ExecutionId, own: usize) {
        let Some(from) = self.extent(id) else { return };
        let Some(stolen) = self.deque.steal(from) else {
            return;
        };
        // SAFETY: the model keeps forks to its end.
        let fork = unsafe { &*stolen };
        let sleeper = if self.is_running(id) {
            fork.work.run();
            assert_eq!(fork.work.number, own, "foreign work is run by a waiter");
            // SAFETY: as above.
            unsafe { Latch::set(&raw const fork.latch) }
        } else {
            // SAFETY: as above.
            unsafe { Latch::give_back(&raw const fork.latch) }
        };
        if let Some(seat) = sleeper {
            assert_eq!(seat, SEAT);
            self.parker.unpark();
        }
    }
}

fn first() -> ExecutionId {
    ExecutionId::new(SEAT, 0, 1)
}

fn second() -> ExecutionId {
    ExecutionId::new(SEAT, 0, 2)
}

#[test]
fn a_waiter_runs_nothing_of_a_later_execution() {
    check(|| {
        let seat = Seat::new();
        seat.begin_execution(first());
        let waiter = thread::spawn({
            let seat = Arc::clone(&seat);
            move || seat.help(first(), 1)
        });
        seat.push(1);
        seat.deque.expose(1);
        seat.pop(1);
        seat.end_execution();
        seat.begin_execution(second());
        seat.push(2);
        seat.deque.expose(1);
        seat.pop(2);
        seat.end_execution();
        waiter.join().unwrap();
        assert!(seat.forks[1..].iter().all(|fork| fork.work.is_done()));
    });
}

#[test]
fn a_waiter_runs_nothing_that_was_there_before() {
    check(|| {
        let seat = Seat::new();
        seat.push(0);
        seat.begin_execution(first());
        let waiter = thread::spawn({
            let seat = Arc::clone(&seat);
            move || seat.help(first(), 1)
        });
        seat.push(1);
        seat.deque.expose(2);
        seat.pop(1);
        seat.end_execution();
        seat.pop(0);
        waiter.join().unwrap();
        assert!(seat.forks[..2].iter().all(|fork| fork.work.is_done()));
    });
}

#[test]
fn a_forcer_gives_nothing_of_a_later_execution_to_the_waiter() {
    check(|| {
        let seat = Seat::new();
        seat.begin_execution(first());
        let forcer = thread::spawn({
            let seat = Arc::clone(&seat);
            move || {
                seat.deque.force(1);
            }
        });
        let waiter = thread::spawn({
            let seat = Arc::clone(&seat);
            move || seat.help(first(), 1)
        });
        seat.end_execution();
        seat.begin_execution(second());
        seat.push(2);
        seat.pop(2);
        seat.end_execution();
        forcer.join().unwrap();
        waiter.join().unwrap();
        assert!(seat.forks[2].work.is_done());
    });
}
