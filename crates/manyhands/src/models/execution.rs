//! Executions: how a waiter steals only what it waits for (`runtime/fork_join/executions.rs`).
//!
//! Threads: a slot that runs one execution after another above an entry of its own, and a waiter for the
//! first of them. Operations: begin, push, expose, pop, end; take a part, run it or pass it on.
//! Property: the waiter runs nothing but entries of the execution it waits for, and every entry is run
//! exactly once, by the waiter, by its owner, or by a worker for which the waiter has passed it on: even if the owner
//! waits for that in its first half.
//! With three preemptions: the waiter looks, the slot begins its next execution, and the waiter takes an entry of that.

use super::{Asleep, Work, beside, check, check_deeper, wait_asleep};
use crate::job::{ExecutionId, Latch};
use crate::queue::{Deque, Popped};
use crate::runtime::fork_join::executions::{Executions, Extent, Nesting, Taken};
use crate::runtime::fork_join::unowned_forks::UnownedForks;
use crate::runtime::fork_join::waiting::{self, AfterWait, Stolen};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

/// A slot, as far as executions go.
struct WorkerSlot {
    deque: Deque<Fork>,
    executions: Executions,
    unowned_forks: UnownedForks<Fork>,
    parker: Parker,
    /// Below both executions, of the first, of the second.
    forks: [Fork; 3],
}

#[derive(Debug)]
struct Fork {
    work: Work,
    latch: Latch,
}

const SLOT: u16 = 7;

impl WorkerSlot {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: Deque::default(),
            executions: Executions::default(),
            unowned_forks: UnownedForks::new(),
            parker: Parker::default(),
            forks: [0, 1, 2].map(|number| Fork {
                work: Work::new(number),
                latch: Latch::new(),
            }),
        })
    }

    fn begin(&self, nesting: &Nesting) -> ExecutionId {
        let from = Extent {
            deque_from: self.deque.len(),
            calls_from: 0,
        };
        self.executions.begin(nesting, SLOT, from)
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
        let stolen = Stolen {
            fork: std::ptr::from_ref(fork).cast_mut(),
            latch: &fork.latch,
            unowned_forks: &self.unowned_forks,
        };
        let waiter = &mut Asleep(&self.parker);
        if waiting::for_fork(waiter, SLOT, &stolen, &|| false) == AfterWait::TakenBack {
            fork.work.run();
        }
    }

    /// The first half of a join waits for the second, which was stolen.
    fn wait_in_first_half(&self, number: usize) {
        let fork = &self.forks[number];
        let fall_asleep = || fork.latch.fall_asleep(SLOT);
        wait_asleep(&self.parker, || fork.latch.is_final(), fall_asleep);
        assert!(fork.work.is_done(), "nobody has run what was stolen");
    }

    /// The waiter looks, once.
    fn help(&self, id: ExecutionId, own: usize) {
        self.help_after(id, own, || {});
    }

    /// The waiter looks, once, and is held up by `delay` between its look at the execution and that at the deque.
    fn help_after(&self, id: ExecutionId, own: usize, delay: impl FnOnce()) {
        let taken = self.executions.take_part(id, |from| {
            delay();
            self.deque.steal(from.deque_from)
        });
        // SAFETY: the model keeps forks to its end.
        let fork_at = |fork: *mut Fork| unsafe { &*fork };
        let sleeper = match taken {
            Taken::Part(fork) => {
                let fork = fork_at(fork);
                fork.work.run();
                assert_eq!(fork.work.number, own, "foreign work is run by a waiter");
                // SAFETY: as above.
                unsafe { Latch::set(&raw const fork.latch) }
            }
            Taken::Foreign(fork) => {
                self.unowned_forks.push(fork);
                self.parker.unpark();
                // As a worker, for which this thread stands in.
                self.unowned_forks.take().and_then(|fork| {
                    let fork = fork_at(fork);
                    fork.work.run();
                    // SAFETY: as above.
                    unsafe { Latch::set(&raw const fork.latch) }
                })
            }
            Taken::Nothing | Taken::Over => None,
        };
        if let Some(slot) = sleeper {
            assert_eq!(slot, SLOT);
            self.parker.unpark();
        }
    }
}

#[test]
fn a_waiter_runs_nothing_of_a_later_execution() {
    check_deeper(3, || {
        let (slot, nesting) = (WorkerSlot::new(), Nesting::default());
        let first = slot.begin(&nesting);
        let waiter = beside(&slot, move |slot| slot.help(first, 1));
        slot.push(1);
        slot.deque.expose(1);
        slot.pop(1);
        slot.executions.end(&nesting);
        slot.begin(&nesting);
        slot.push(2);
        slot.deque.expose(1);
        slot.pop(2);
        slot.executions.end(&nesting);
        waiter.join().unwrap();
        assert!(slot.forks[1..].iter().all(|fork| fork.work.is_done()));
    });
}

#[test]
fn what_a_waiter_took_by_mistake_is_run_while_the_owner_waits_for_it_in_its_first_half() {
    check(|| {
        let (slot, nesting) = (WorkerSlot::new(), Nesting::default());
        let first = slot.begin(&nesting);
        let is_exposed = Arc::new(Parker::default());
        let waiter = thread::spawn({
            let (slot, is_exposed) = (Arc::clone(&slot), Arc::clone(&is_exposed));
            move || slot.help_after(first, 1, || is_exposed.park())
        });
        slot.executions.end(&nesting);
        slot.begin(&nesting);
        slot.push(2);
        slot.deque.expose(1);
        is_exposed.unpark();
        if !slot.deque.has_public(0) {
            slot.wait_in_first_half(2);
        }
        slot.pop(2);
        slot.executions.end(&nesting);
        waiter.join().unwrap();
    });
}

#[test]
fn a_waiter_runs_nothing_that_was_there_before() {
    check_deeper(3, || {
        let (slot, nesting) = (WorkerSlot::new(), Nesting::default());
        slot.push(0);
        let first = slot.begin(&nesting);
        let waiter = beside(&slot, move |slot| slot.help(first, 1));
        slot.push(1);
        slot.deque.expose(2);
        slot.pop(1);
        slot.executions.end(&nesting);
        slot.pop(0);
        waiter.join().unwrap();
        assert!(slot.forks[..2].iter().all(|fork| fork.work.is_done()));
    });
}

#[test]
fn a_forcer_gives_nothing_of_a_later_execution_to_the_waiter() {
    check_deeper(3, || {
        let (slot, nesting) = (WorkerSlot::new(), Nesting::default());
        let first = slot.begin(&nesting);
        let forcer = beside(&slot, |slot| {
            slot.deque.force(1);
        });
        let waiter = beside(&slot, move |slot| slot.help(first, 1));
        slot.executions.end(&nesting);
        slot.begin(&nesting);
        slot.push(2);
        slot.pop(2);
        slot.executions.end(&nesting);
        forcer.join().unwrap();
        waiter.join().unwrap();
        assert!(slot.forks[2].work.is_done());
    });
}
