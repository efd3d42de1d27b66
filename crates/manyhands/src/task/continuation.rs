//! What is done after a task.

use crate::task::{JoinError, JoinHandle, builder};

impl<T: Send + 'static> JoinHandle<T> {
    /// Runs `continuation` as a task of its own on the current runtime when this one has ended, whichever
    /// way it did.
    ///
    /// A continuation that is cancelled leaves this task alone; one of a task that is cancelled runs, and is
    /// told. So which outcome is continued with is the continuation's own `match`.
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
    #[doc(alias = "continue_with")]
    #[doc(alias = "ContinueWith")]
    #[track_caller]
    pub fn then<F, U>(self, continuation: F) -> JoinHandle<U>
    where
        F: FnOnce(Result<T, JoinError>) -> U + Send + 'static,
        U: Send + 'static,
    {
        builder::spawn((), async move { continuation(self.await) })
    }
}
