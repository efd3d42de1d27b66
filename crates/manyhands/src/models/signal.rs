//! Blocking on a future: the signal beside the parker.
//!
//! Threads: the one that blocks, and one that wakes it twice. Operations, as in `task/block_on.rs`: lower,
//! look, park while the signal is not raised; make something happen, raise, unpark.
//! Property: whatever happens is seen in the end.

use super::check;
use crate::runtime::signal::Signal;
use crate::sync::Parker;
use crate::sync::atomic::{AtomicU32, Ordering};
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_wake_beside_a_look_is_not_lost() {
    check(|| {
        let shared = Arc::new((Signal::new(), Parker::new(), AtomicU32::new(0)));
        let waker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let (signal, parker, happened) = &*shared;
                for times in [1, 2] {
                    // Relaxed: published by the signal.
                    happened.store(times, Ordering::Relaxed);
                    if signal.raise() {
                        parker.unpark();
                    }
                }
            }
        });
        let (signal, parker, happened) = &*shared;
        loop {
            signal.lower();
            // Relaxed: acquired through the signal.
            if happened.load(Ordering::Relaxed) == 2 {
                break;
            }
            while !signal.is_raised() {
                parker.park();
            }
        }
        waker.join().expect("the model fails at once");
    });
}
