//! Cancellation callbacks and linked sources: registering, unregistering, linking and unlinking beside a cancellation.
//!
//! Threads: one that cancels, one that registers and unregisters. Operations: cancel; register, drop the
//! registration; link, drop the linked source, drop its last token.
//! Property: a callback is run at most once, and exactly once if it stays registered; when its
//! registration has been dropped it does not run any more, so what it uses may be freed. A token of a linked source
//! is cancelled with a parent, whatever is left of the source, and its callbacks run once.

use super::{Memory, Work, beside, check, join_all};
use crate::cancel::TokenSource;
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_callback_is_run_once_however_late_it_is_registered() {
    check(|| {
        let source = Arc::new(TokenSource::new());
        let work = Arc::new(Work::new(0));
        let canceller = beside(&source, |source| source.cancel());
        let registration = source.token().register({
            let work = Arc::clone(&work);
            move || work.run()
        });
        canceller.join().unwrap();
        assert!(work.is_done());
        drop(registration);
    });
}

#[test]
fn a_dropped_registration_waits_for_its_running_callback() {
    check(|| {
        let source = Arc::new(TokenSource::new());
        let memory = Arc::new(Memory::new());
        let registration = source.token().register({
            let memory = Arc::clone(&memory);
            move || {
                memory.touch();
                thread::yield_now();
                memory.touch();
            }
        });
        let canceller = beside(&source, |source| source.cancel());
        drop(registration);
        memory.free();
        canceller.join().unwrap();
    });
}

#[test]
fn two_cancellers_run_a_callback_once() {
    check(|| {
        let source = Arc::new(TokenSource::new());
        let work = Arc::new(Work::new(0));
        let registration = source.token().register({
            let work = Arc::clone(&work);
            move || work.run()
        });
        let cancellers = [0, 1].map(|_| beside(&source, |source| source.cancel()));
        join_all(cancellers);
        assert!(work.is_done());
        drop(registration);
    });
}

#[test]
fn a_token_of_a_linked_source_is_cancelled_once_by_two_parents() {
    check(|| {
        let parents = [0, 1].map(|_| Arc::new(TokenSource::new()));
        let tokens = [parents[0].token(), parents[1].token()];
        let work = Arc::new(Work::new(0));
        let [canceller, other] = parents.map(|parent| thread::spawn(move || parent.cancel()));
        let linked = TokenSource::linked(&tokens);
        let token = linked.token();
        let registration = token.register({
            let work = Arc::clone(&work);
            move || work.run()
        });
        drop((linked, tokens));
        canceller.join().unwrap();
        other.join().unwrap();
        assert!(token.is_cancelled() && work.is_done());
        drop(registration);
    });
}

#[test]
fn the_last_token_of_a_linked_source_is_dropped_beside_the_cancellation() {
    check(|| {
        let parent = Arc::new(TokenSource::new());
        let token = TokenSource::linked(&[parent.token()]).token();
        let canceller = beside(&parent, |parent| parent.cancel());
        drop(token);
        canceller.join().unwrap();
        assert!(
            TokenSource::linked(&[parent.token()])
                .token()
                .is_cancelled()
        );
    });
}
