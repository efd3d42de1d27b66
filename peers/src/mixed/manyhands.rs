//! manyhands: one parallel loop, begun by a task of the pool or by a thread outside.

use manyhands::{Runtime, parallel, task};

use crate::mixed::{Hashing, Mixed, workers};

/// The loop's caller is a worker.
#[derive(Debug)]
pub(crate) struct Inside(Runtime);

/// The loop's caller is a thread outside, which takes part.
#[derive(Debug)]
pub(crate) struct Outside(Runtime);

impl Mixed for Inside {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn run_loop(&self, hashing: &Hashing) {
        let _entered = self.0.enter();
        let hashing = hashing.clone();
        let done = task::run(move || hash(&hashing)).join();
        done.expect("hashing does not panic");
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        let _entered = self.0.enter();
        drop(task::run(short));
    }
}

impl Mixed for Outside {
    fn new() -> Result<Self, String> {
        runtime().map(Self)
    }

    fn run_loop(&self, hashing: &Hashing) {
        let _entered = self.0.enter();
        hash(hashing);
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        let _entered = self.0.enter();
        drop(task::run(short));
    }
}

fn runtime() -> Result<Runtime, String> {
    let runtime = Runtime::builder().workers(workers()).build();
    runtime.map_err(|error| error.to_string())
}

fn hash(hashing: &Hashing) {
    parallel::Options::new().for_each_with_control(0..u64::MAX, |_, control| {
        if !hashing.step() && !control.should_exit() {
            control.stop();
        }
    });
}
