//! tokio: blocking in a task, blocking in place, and blocking on the threads that are there for it.

use tokio::runtime::{Builder, Runtime};
use tokio::task;

use crate::starvation::{Pool, WORKERS};

/// Blocks in tasks, against the advice.
#[derive(Debug)]
pub(crate) struct Plain(Runtime);

/// Blocks in tasks by `block_in_place`.
#[derive(Debug)]
pub(crate) struct InPlace(Runtime);

/// Blocks by `spawn_blocking`.
#[derive(Debug)]
pub(crate) struct OnBlockingThreads(Runtime);

impl Pool for Plain {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { body() });
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { body() });
    }
}

impl Pool for InPlace {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { task::block_in_place(body) });
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { body() });
    }
}

impl Pool for OnBlockingThreads {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn_blocking(body);
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { body() });
    }
}

/// A runtime of two workers.
pub(super) fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).build();
    runtime.map_err(|error| format!("the runtime could not be made: {error}"))
}
