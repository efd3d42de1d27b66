//! What smol is made of: `blocking` for what blocks, async-executor on two threads for the rest.

use std::thread;

use async_executor::Executor;

use crate::starvation::{Pool, WORKERS};

#[derive(Debug)]
pub(crate) struct Unblock(&'static Executor<'static>);

impl Pool for Unblock {
    fn new() -> Result<Self, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        for _ in 0..WORKERS {
            thread::spawn(|| async_io::block_on(executor.run(futures::future::pending::<()>())));
        }
        Ok(Self(executor))
    }

    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static) {
        blocking::unblock(body).detach();
    }

    fn spawn(&self, body: impl FnOnce() + Send + 'static) {
        self.0.spawn(async { body() }).detach();
    }
}
