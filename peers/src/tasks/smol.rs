//! What smol is made of: async-executor on as many threads as there are CPUs, each of which drives
//! async-io's reactor while it has nothing to run, as smol's own threads do.

use std::thread;

use async_executor::{Executor, Task};

use crate::tasks::Pool;

#[derive(Clone, Debug)]
pub(crate) struct Smol(&'static Executor<'static>);

impl Pool for Smol {
    type Handle = Task<()>;

    fn new() -> Result<Self, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cpus {
            thread::spawn(|| async_io::block_on(executor.run(futures::future::pending::<()>())));
        }
        Ok(Self(executor))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Task<()> {
        self.0.spawn(future)
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        async_io::block_on(future)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}
