//! The deque's forced exposure: F1, the fence between the owner's pop and the forcer.
//!
//! Threads: an owner, a forcer that then steals, a thief. Operations: push, pop; force, steal.
//! Property: each entry is taken exactly once, and complete, although the owner's pop neither locks nor
//! exchanges anything while it sees no forcer.

use super::deque::Model;
use super::{beside, check};
use loom::sync::Arc;
use loom::thread;

/// Starts a thread that forces `count` entries out and steals that many.
fn forcer<const COUNT: usize>(model: &Arc<Model<COUNT>>, count: usize) -> thread::JoinHandle<()> {
    beside(model, move |model| {
        model.deque.force(count);
        for _ in 0..count {
            model.steal();
        }
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
        let thief = beside(&model, |model| {
            model.steal();
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
