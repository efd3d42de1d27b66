//! manyhands on its default runtime.

use manyhands::task::{self, JoinHandle};

use crate::tasks::Pool;

#[derive(Clone, Debug)]
pub(crate) struct Manyhands;

impl Pool for Manyhands {
    type Handle = JoinHandle<()>;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        task::spawn(future)
    }

    fn spawn_detached(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(task::spawn(future));
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        task::block_on(future)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        task::yield_now()
    }
}
