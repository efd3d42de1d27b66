//! The deque's forced exposure: F1, the fence between the owner's pop and the forcer.
//!
//! Threads: an owner, a forcer that then steals, a thief. Operations: push, pop; force, steal.
//! Property: each entry is taken exactly once, and complete, although the owner's pop neither locks nor
//! exchanges anything while it sees no forcer.

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

    fn push(&self, number: usize) {
        self.entries[number].prepare();
        let _ = self.deque
            .push(self.deque.len(), self.entries[number].as_ptr());
    }

    fn pop(&self, number: usize) {
        let index = self.deque.len() - 1;
        let popped = self.deque.pop(index, self.entries[number].as_ptr());
        if popped == Popped::Mine {
            self.entries[number].run();
        }
    }

    fn steal(&self) {
        if let Some(work) = self.deque.steal(0) {
            Work::at(work).run();
        }
    }

    fn assert_all_done(&self) {
        assert_eq!(self.deque.len(), 0);
        assert!(self.entries.iter().all(Work::is_done));
    }
}

/// Starts a thread that forces `count` entries out and steals that many.
fn forcer<const COUNT: usize>(model: &Arc<Model<COUNT>>, count: usize) -> thread::JoinHandle<()> {
    let model = Arc::clone(model);
    thread::spawn(move || {
        model.deque.force(count);
        (0..count).for_each(|_| model.steal());
    })
}

#[test]
fn a_forced_entry_is_taken_by_its_owner_or_by_the_thief() {
    check(|| {
        let model = Model::<1>::new();
        model.push(0);
        let forcer = forcer(&model, 1);
        model.pop(0);
        forcer.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn a_forced_entry_is_complete_though_its_owner_never_locked() {
    check(|| {
        let model = Model::<2>::new();
        let forcer = forcer(&model, 2);
        model.push(0);
        model.push(1);
        model.pop(1);
        model.pop(0);
        forcer.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn a_slot_that_is_used_again_while_it_is_forced_gives_out_the_later_entry_once() {
    check(|| {
        let model = Model::<2>::new();
        model.push(0);
        let forcer = forcer(&model, 1);
        model.pop(0);
        model.push(1);
        model.pop(1);
        forcer.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn a_forcer_and_a_thief_and_the_owner_agree() {
    check(|| {
        let model = Model::<2>::new();
        model.push(0);
        let forcer = forcer(&model, 1);
        let thief = thread::spawn({
            let model = Arc::clone(&model);
            move || model.steal()
        });
        model.push(1);
        model.pop(1);
        model.pop(0);
        forcer.join().unwrap();
        thief.join().unwrap();
        model.assert_all_done();
    });
}

#[test]
fn a_buffer_may_grow_while_it_is_forced() {
    check(|| {
        let model = Model::<3>::new();
        model.push(0);
        model.push(1);
        let forcer = forcer(&model, 2);
        model.push(2);
        model.pop(2);
        model.pop(1);
        model.pop(0);
        forcer.join().unwrap();
        model.assert_all_done();
    });
}
