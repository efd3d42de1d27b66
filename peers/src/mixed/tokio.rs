//! tokio's multi-thread runtime: the loop as tasks that yield by hand, or on the blocking threads.

use tokio::runtime::{Builder, Runtime};
use tokio::task;

use crate::mixed::{Hashing, Mixed, workers};

/// A task for each worker, which yields every 64 hashes.
#[derive(Debug)]
pub(crate) struct Yielding(Runtime);

/// A closure for each worker, by `spawn_blocking`.
#[derive(Debug)]
pub(crate) struct Blocking(Runtime);

impl Mixed for Yielding {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn run_loop(&self, hashing: &Hashing) {
        let hash = |_| {
            let hashing = hashing.clone();
            self.0.spawn(async move {
                while (0..HASHES_APART).all(|_| hashing.step()) {
                    task::yield_now().await;
                }
            })
        };
        let tasks: Vec<_> = (0..workers()).map(hash).collect();
        for task in tasks {
            self.0.block_on(task).expect("hashing does not panic");
        }
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { short() });
    }
}

impl Mixed for Blocking {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn run_loop(&self, hashing: &Hashing) {
        let hash = |_| {
            let hashing = hashing.clone();
            self.0.spawn_blocking(move || while hashing.step() {})
        };
        let tasks: Vec<_> = (0..workers()).map(hash).collect();
        for task in tasks {
            self.0.block_on(task).expect("hashing does not panic");
        }
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { short() });
    }
}

/// A runtime with a worker for each CPU.
pub(super) fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers())
        .build();
    runtime.map_err(|error| format!("the runtime could not be made: {error}"))
}

const HASHES_APART: u32 = 64;
