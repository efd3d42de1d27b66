//! The thread pool of the futures crate.

use futures::executor::{self, ThreadPool};
use futures::future::RemoteHandle;
use futures::task::SpawnExt;

use crate::tasks::Pool;

#[derive(Clone, Debug)]
pub(crate) struct Futures(ThreadPool);

impl Pool for Futures {
    type Handle = RemoteHandle<()>;

    fn new() -> Result<Self, String> {
        ThreadPool::new()
            .map(Self)
            .map_err(|error| format!("the pool could not be made: {error}"))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> RemoteHandle<()> {
        self.0
            .spawn_with_handle(future)
            .expect("this pool takes every future")
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn_ok(future);
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        executor::block_on(future)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}
