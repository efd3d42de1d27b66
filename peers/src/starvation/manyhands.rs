//! manyhands, with blocking detected or declared.

use manyhands::{Runtime, task};

use crate::starvation::{Pool, WORKERS};

/// Closures that block as any others.
#[derive(Debug)]
pub(crate) struct Detected(Runtime);

/// Closures that block say so.
#[derive(Debug)]
pub(crate) struct Declared(Runtime);

impl Pool for Declared {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        run(&self.0, || task::blocking(body));
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        run(&self.0, body);
    }
}

impl Pool for Detected {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        run(&self.0, body);
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        run(&self.0, body);
    }
}

fn runtime() -> Result<Runtime, String> {
    let runtime = Runtime::builder().workers(WORKERS).build();
    runtime.map_err(|error| error.to_string())
}

fn run(runtime: &Runtime, body: impl FnOnce() + Send + 'static) {
    let _entered = runtime.enter();
    drop(task::run(body));
}
