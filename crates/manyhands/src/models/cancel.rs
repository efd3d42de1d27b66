//! Cancellation callbacks: registering and unregistering beside a cancellation.
//!
//! Threads: one that cancels, one that registers and unregisters. Operations: cancel; register, drop the
//! registration.
//! Property: a callback is run at most once, and exactly once if it stays registered; when its
//! registration has been dropped it does not run any more, so what it uses may be freed.

use super::{Memory, Work, check};
use crate::cancel::Source;
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_callback_is_run_once_however_late_it_is_registered() {
    check(|| {
        let source = Arc::new(Source::new());
        let work = Arc::new(Work::new(0));
        let canceller = thread::spawn({
            let source = Arc::clone(&source);
            move || source.cancel()
        });
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
        let source = Arc::new(Source::new());
        let memory = Arc::new(Memory::new());
        let registration = source.token().register({
            let memory = Arc::clone(&memory);
            move || {
                memory.touch();
                thread::yield_now();
                memory.touch();
            }
        });
        let canceller = thread::spawn({
            let source = Arc::clone(&source);
            move || source.cancel()
        });
        drop(registration);
        memory.free();
        canceller.join().unwrap();
    });
}

#[test]
fn two_cancellers_run_a_callback_once() {
    check(|| {
        let source = Arc::new(Source::new());
        let work = Arc::new(Work::new(0));
        let registration = source.token().register({
            let work = Arc::clone(&work);
            move || work.run()
        });
        let cancellers = [0, 1].map(|_| {
            let source = Arc::clone(&source);
            thread::spawn(move || source.cancel())
        });
        for canceller in cancellers {
            canceller.join().unwrap();
        }
        assert!(work.is_done());
        drop(registration);
    });
}
