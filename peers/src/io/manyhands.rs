//! tokio's sockets in tasks of a manyhands runtime.

use std::sync::Arc;

use manyhands::{Runtime, task};

use crate::io::Net;
use crate::io::tokio::TokioSockets;

#[derive(Clone, Debug)]
pub(crate) struct Manyhands(Arc<Runtime>);

impl Net for Manyhands {
    type Sockets = TokioSockets;

    fn new() -> Result<Self, String> {
        let runtime = Runtime::builder().tokio().build();
        runtime
            .map(|runtime| Self(Arc::new(runtime)))
            .map_err(|error| format!("the runtime could not be made: {error}"))
    }

    fn spawn<F>(&self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = self.0.install(|| task::spawn(future));
        async { task.await.expect("no task here panics") }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.0.enter();
        task::block_on(future)
    }
}
