//! The deque with its exposure by the owner, its growth, and stealing.
//!
//! Threads: an owner, one or two thieves. Operations: push, expose, pop; demand, steal.
//! Property: each entry is taken exactly once, by the owner or by one thief; the taker sees all that
//! was written to it before the push, also when its address was used for an earlier entry.

use super::{Work, beside, check, join_all};
use crate::queue::{Deque, Popped};
use loom::sync::Arc;

/// A deque and the entries that are pushed to it.
pub(super) struct Model<const COUNT: usize> {
    pub(super) deque: Deque<Work>,
    pub(super) entries: [Work; COUNT],
}

impl<const COUNT: usize> Model<COUNT> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            deque: Deque::default(),
            entries: Work::some(),
        })
    }

    /// Owner, as in `runtime/fork_join/join.rs`.
    pub(super) fn push(&self, number: usize) {
        let index = self.deque.len();
        if !self.deque.is_plain(index) {
            self.deque.make_room(index);
            if index > 0 && self.deque.is_demand_pending() {
                self.deque.expose(1);
            }
        }
        self.entries[number].prepare();
        self.deque.push(index, self.entries[number].as_ptr());
    }

    /// Owner: takes the newest entry back, unless a thief has it.
    pub(super) fn take_back(&self, number: usize) -> bool {
        let index = self.deque.len() - 1;
        self.deque.pop(index, self.entries[number].as_ptr()) == Popped::Mine
    }

    /// Owner: runs the newest entry, unless a thief has it.
    pub(super) fn pop(&self, number: usize) {
        if self.take_back(number) {
            self.entries[number].run();
        }
    }

    /// Thief: runs what it finds.
    pub(super) fn steal(&self) -> bool {
        let stolen = self.deque.steal(0);
        if let Some(work) = stolen {
            Work::at(work).run();
        }
        stolen.is_some()
    }

    /// Once the threads have ended.
    pub(super) fn assert_all_done(&self) {
        assert_eq!(self.deque.len(), 0);
        for entry in &self.entries {
            assert!(entry.is_done(), "entry {} is lost", entry.number);
        }
    }
}

#[test]
fn an_exposed_entry_is_taken_by_its_owner_or_by_the_thief() {
    check(|| {
        let model = Model::<2>::new();
        let thief = beside(&model, |model| {
            if !model.steal() {
                model.deque.demand();
            }
            model.steal();
        });
        model.push(0);
        model.push(1);
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
            beside(&model, |model| {
                model.steal();
            })
        });
        model.push(0);
        model.push(1);
        model.deque.expose(2);
        model.pop(1);
        model.pop(0);
        join_all(thieves);
        model.assert_all_done();
    });
}

#[test]
fn an_entry_at_the_address_of_an_earlier_one_is_seen_as_it_is_now() {
    check(|| {
        let model = Model::<1>::new();
        let thief = beside(&model, |model| {
            model.steal();
        });
        model.push(0);
        model.deque.expose(1);
        if model.take_back(0) {
            model.push(0);
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
        let thief = beside(&model, |model| {
            model.steal();
            model.steal();
        });
        model.push(0);
        model.push(1);
        model.deque.expose(1);
        // The buffer holds two under loom.
        model.push(2);
        model.deque.expose(1);
        model.pop(2);
        model.pop(1);
        model.pop(0);
        thief.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn a_thief_that_finds_the_end_lowered_looks_at_the_buffer_that_has_grown() {
    check(|| {
        let model = Model::<4>::new();
        let thief = beside(&model, |model| {
            // The buffer holds two at first: this entry is only in the next one.
            if let Some(work) = model.deque.steal(2) {
                Work::at(work).run();
            }
        });
        (0..4).for_each(|number| model.push(number));
        model.deque.expose(4);
        (0..4).rev().for_each(|number| model.pop(number));
        thief.join().unwrap();
        model.assert_all_done();
    });
}
