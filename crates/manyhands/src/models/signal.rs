//! Blocking on a future: the signal beside the parker.
//!
//! Threads: the one that blocks, and one that wakes it twice. Operations: drive, with a park while the signal is
//! not raised; make something happen, wake.
//! Property: whatever happens is seen in the end.

use super::{Count, beside, check};
use crate::runtime::worker::signal::Signal;
use crate::sync::Parker;
use loom::sync::Arc;
use std::task::Poll;

#[test]
fn a_wake_beside_a_look_is_not_lost() {
    check(|| {
        let shared = Arc::new((Signal::default(), Parker::default(), Count::new()));
        let waker = beside(&shared, |shared| {
            let (signal, parker, happened) = &*shared;
            for _ in 0..2 {
                // Published by the signal.
                happened.add(1);
                signal.wake(parker);
            }
        });
        let (signal, parker, happened) = &*shared;
        let poll = || match happened.now() {
            2 => Poll::Ready(()),
            _ => Poll::Pending,
        };
        signal.drive(poll, |signal| {
            while !signal.is_raised() {
                parker.park();
            }
        });
        waker.join().expect("the model fails at once");
    });
}
