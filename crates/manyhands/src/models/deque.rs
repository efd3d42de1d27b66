//! The deque with its exposure by the owner, its growth, and stealing.
//!
//! Threads: an owner, one or two thieves. Operations: push, expose, pop; demand, steal.
//! Property: each entry is taken exactly once, by the owner or by one thief; who takes it sees all that
//! was written to it before the push, also when its address was used for an earlier entry.

use super::{Work, check};
use crate::queue::{Deque, Popped};
use loom::sync::Arc;
use loom::thread;

/// A deque and the entries that are pushed to it.
struct Model<const COUNT: usize> {
    deque: Deque<Work>,
    entries: [Work; COUNT],
}

impl<const COUNT: usize> Model<COUNT> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: Deque::new(),
            entries: Work::some(),
        })
    }

    /// Owner.
    fn push(&self, number: usize) -> bool {
        self.entries[number].prepare();
        self.deque
            .push(self.deque.len(), self.entries[number].as_ptr())
    }

    /// Owner: runs the entry unless a thief has it.
    fn pop(&self, number: usize) {
        let index = self.deque.len() - 1;
        let popped = self.deque.pop(index, self.entries[number].as_ptr());
        if popped == Popped::Mine {
            self.entries[number].run();
        }
    }

    /// Thief.
    fn steal(&self) -> bool {
        let stolen = self.deque.steal(0);
        if let Some(work) = stolen {
            Work::at(work).run();
        }
        stolen.is_some()
    }

    fn assert_all_done(&self) {
        assert_eq!(self.deque.len(), 0);
        assert!(self.entries.iter().all(Work::is_done));
    }
}

#[test]
fn an_exposed_entry_is_taken_by_its_owner_or_by_the_thief() {
    check(|| {
        let model = Model::<2>::new();
        let thief = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                if !model.steal() {
                    model.deque.demand();
                }
                model.steal();
            }
        });
        let _ = model.push(0);
        if model.push(1) {
            model.deque.expose(1);
        }
        model.deque.expose(1);
        model.pop(1);
        model.pop(0);
        thief.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn two_thieves_never_share_an_entry() {
    check(|| {
        let model = Model::<2>::new();
        let thieves = [0, 1].map(|_| {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                model.steal();
            })
        });
        let _ = model.push(0);
        let _ = model.push(1);
        model.deque.expose(2);
        model.pop(1);
        model.pop(0);
        for thief in thieves {
            thief.join().unwrap();
        }
        model.assert_all_done();
    });
}

#[test]
fn an_entry_at_the_address_of_an_earlier_one_is_seen_as_it_is_now() {
    check(|| {
        let model = Model::<1>::new();
        let thief = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.steal();
            }
        });
        let _ = model.push(0);
        model.deque.expose(1);
        if model.deque.pop(0, model.entries[0].as_ptr()) == Popped::Mine {
            let _ = model.push(0);
            model.deque.expose(1);
            model.pop(0);
        }
        thief.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn no_entry_is_lost_or_doubled_when_the_buffer_grows_under_a_thief() {
    check(|| {
        let model = Model::<3>::new();
        let thief = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.steal();
                model.steal();
            }
        });
        let _ = model.push(0);
        let _ = model.push(1);
        model.deque.expose(1);
        // The buffer holds two under loom.
        let _ = model.push(2);
        model.deque.expose(1);
        model.pop(2);
        model.pop(1);
        model.pop(0);
        thief.join().unwrap();
        model.assert_all_done();
    });
}
