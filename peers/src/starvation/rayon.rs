//! rayon, alone or with tokio beside it for what does not block.

use ::tokio::runtime::Runtime;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::starvation::{Pool, WORKERS, tokio};

/// Everything on rayon, which has no word for blocking.
#[derive(Debug)]
pub(crate) struct Rayon(ThreadPool);

/// What blocks on rayon, the rest on tokio.
#[derive(Debug)]
pub(crate) struct WithTokio {
    rayon: ThreadPool,
    tokio: Runtime,
}

impl Pool for Rayon {
    fn new() -> Result<Self, String> {
        pool().map(Self)
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(body);
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(body);
    }
}

impl Pool for WithTokio {
    fn new() -> Result<Self, String> {
        Ok(Self {
            rayon: pool()?,
            tokio: tokio::runtime()?,
        })
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        self.rayon.spawn(body);
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.tokio.spawn(async { body() });
    }
}

fn pool() -> Result<ThreadPool, String> {
    let pool = ThreadPoolBuilder::new().num_threads(WORKERS).build();
    pool.map_err(|error| error.to_string())
}
