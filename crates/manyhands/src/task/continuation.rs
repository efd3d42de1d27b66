//! Continuations of a task.

use crate::task::{JoinError, JoinHandle, builder};

impl<T: Send + 'static> JoinHandle<T> {
    /// Runs `continuation` as a task of its own on the current runtime when this one has ended, whichever
    /// way it did.
    ///
    /// Cancelling a continuation leaves this task alone. If this task is cancelled, its continuation still runs, with
    /// the error. So the continuation's own `match` decides what to do for which outcome.
    ///
    /// # Cost
    /// A task of its own.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let length = task::run(|| "word").then(|word| word.unwrap().len());
    /// assert_eq!(length.join().unwrap(), 4);
    /// ```
    #[doc(alias("continue_with", "ContinueWith"))]
    #[track_caller]
    pub fn then<F, U>(self, continuation: F) -> JoinHandle<U>
    where
        F: FnOnce(Result<T, JoinError>) -> U + Send + 'static,
        U: Send + 'static,
    {
        builder::spawn((), async move { continuation(self.await) })
    }
}
