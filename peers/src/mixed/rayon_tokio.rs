//! rayon for the loop, and for the short tasks either tokio beside it or rayon too.

use ::tokio::runtime::Runtime;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::mixed::{Hashing, Mixed, tokio, workers};

/// Two pools, each with a thread for each CPU.
#[derive(Debug)]
pub(crate) struct Both {
    rayon: ThreadPool,
    tokio: Runtime,
}

/// rayon alone.
#[derive(Debug)]
pub(crate) struct Rayon(ThreadPool);

impl Mixed for Both {
    fn new() -> Result<Self, String> {
        Ok(Self {
            rayon: pool()?,
            tokio: tokio::runtime()?,
        })
    }

    fn run_loop(&self, hashing: &Hashing) {
        self.rayon.install(|| hash(hashing));
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        self.tokio.spawn(async { short() });
    }
}

impl Mixed for Rayon {
    fn new() -> Result<Self, String> {
        pool().map(Self)
    }

    fn run_loop(&self, hashing: &Hashing) {
        self.0.install(|| hash(hashing));
    }

    fn spawn(&self, short: impl FnOnce() + Send + 'static) {
        self.0.spawn(short);
    }
}

fn pool() -> Result<ThreadPool, String> {
    let pool = ThreadPoolBuilder::new().num_threads(workers()).build();
    pool.map_err(|error| error.to_string())
}

/// The error is only how rayon's loops are stopped.
fn hash(hashing: &Hashing) {
    let step = |_| if hashing.step() { Ok(()) } else { Err(()) };
    let _ = (0..u64::MAX).into_par_iter().try_for_each(step);
}
