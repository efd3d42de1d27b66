//! tokio's multi-thread runtime, with as many workers as there are CPUs.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{self, JoinHandle};

use crate::tasks::Pool;

#[derive(Clone, Debug)]
pub(crate) struct Tokio(Arc<Runtime>);

impl Pool for Tokio {
    type Handle = JoinHandle<()>;

    fn new() -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().enable_time().build();
        runtime
            .map(|runtime| Self(Arc::new(runtime)))
            .map_err(|error| format!("the runtime could not be made: {error}"))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.0.spawn(future)
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        task::yield_now()
    }
}
