//! The other loop of the busy state: SHA-512 over 100,000 items, again and again, on one thread
//! more of the same process.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use manyhands_lab::clock::Stopwatch;

use crate::loops::{Loops, case::Body, sha512};

/// The running loop.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Background {
    /// Starts the loop and returns once it is about to make its first call.
    pub(crate) fn start<C: Loops>() -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let (started, start) = mpsc::channel();
        let thread = thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                // The contender is made here: chili's scope belongs to one thread.
                let contender = C::new();
                let _ = started.send(contender.as_ref().map(|_| ()).map_err(String::clone));
                contender.map_or(f64::NAN, |contender| run(contender, &stop))
            }
        });
        start
            .recv()
            .map_err(|_| "the background loop died".to_owned())??;
        Ok(Self { stop, thread })
    }

    /// Ends the loop and gives its items per second from its first call to its last.
    pub(crate) fn stop(self) -> Result<f64, String> {
        // Relaxed: the flag publishes nothing, the join below does.
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| "the background loop panicked".to_owned())
    }
}

fn run<C: Loops>(mut contender: C, stop: &AtomicBool) -> f64 {
    let start = Stopwatch::start();
    let mut items = 0_u32;
    // Relaxed: see `stop`.
    while !stop.load(Ordering::Relaxed) {
        contender.for_range(ITEMS as usize, Body::Sha.grain(), |_| {
            black_box(sha512());
        });
        items += ITEMS;
    }
    f64::from(items) / start.nanos() * 1e9
}

/// About 23 ms of work for one thread.
const ITEMS: u32 = 100_000;
