//! Threads that only use processor time, so that others are preempted at any point.

use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// While this value exists, this number of threads use processor time.
#[derive(Debug)]
pub(crate) struct Hogs {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    pub(crate) fn begin(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..count).map(|index| {
            let is_over = Arc::clone(&is_over);
            let builder = thread::Builder::new().name(format!("hog-{index}"));
            let thread = builder.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    black_box(());
                    spin_loop();
                }
            });
            thread.expect("a thread can be started")
        });
        let threads = threads.collect();
        Self { is_over, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it only spins");
        }
    }
}
