//! Cancellation at a deadline.
//!
//! Not here: cancellation itself (`cancel`), which does not depend on timers.

use crate::cancel::TokenSource;
use crate::runtime::current::{self, EnterGuard};
use crate::runtime::timers;
use crate::sync::{Mutex, lock};
use crate::task::{self, JoinHandle};
use crate::time::sleep::Sleep;
use crate::timer::Moment;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

impl TokenSource {
    /// A source that cancels itself at `deadline`, on the current runtime.
    ///
    /// It cancels as long as a token of it exists, even if the source itself is dropped. If the deadline has
    /// passed, the source is cancelled already. If the runtime ends before the deadline, the default runtime cancels; that
    /// of a [simulation](crate::simulation) has no deadlines after its end. A panic of a callback is reported by the panic
    /// hook and otherwise ignored.
    ///
    /// # Cost
    /// A small task, which ends when the source and all its tokens are dropped.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, parallel, time};
    /// use std::time::Duration;
    /// let source = cancel::TokenSource::with_deadline(time::now() + Duration::from_millis(5));
    /// let token = source.token();
    /// let stopped = parallel::Options::new().cancellation(&token).for_each(0..u64::MAX, |_| {});
    /// assert_eq!(stopped.unwrap_err().token(), &token);
    /// ```
    #[must_use]
    pub fn with_deadline(deadline: Instant) -> Self {
        let source = Self::new();
        let deadline = Moment::of(deadline);
        if deadline <= timers::now() {
            source.cancel();
        } else {
            source.cancel_at(deadline);
        }
        source
    }

    /// Cancels when `duration` has passed, unless this is called again before. See
    /// [`with_deadline`](Self::with_deadline). No callback runs on this thread: with a duration of zero a worker
    /// cancels soon.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, task, time};
    /// use std::time::Duration;
    /// let source = cancel::TokenSource::new();
    /// source.cancel_after(Duration::from_secs(3600));
    /// source.cancel_after(Duration::from_millis(2));
    /// let token = source.token();
    /// while !token.is_cancelled() {
    ///     time::sleep_blocking(Duration::from_millis(1));
    /// }
    /// ```
    pub fn cancel_after(&self, duration: Duration) {
        self.cancel_at(timers::now().after(duration));
    }

    fn cancel_at(&self, deadline: Moment) {
        let waiter = Arc::new(Waiter::default());
        let due = Due {
            deadline,
            cancel: Some(self.canceller()),
            waiter: Arc::downgrade(&waiter),
        };
        let handle = due.wait();
        // Another one is there if the runtime has just ended.
        lock(&waiter.0).get_or_insert(handle);
        self.keep(Box::new(waiter));
    }
}

/// The task that waits for the deadline; it ends with the source.
#[derive(Debug, Default)]
struct Waiter(Mutex<Option<JoinHandle<()>>>);

impl Drop for Waiter {
    fn drop(&mut self) {
        lock(&self.0).iter().for_each(JoinHandle::abort);
    }
}

/// What is to happen at the deadline. Dropped before that by the end of a runtime, it waits on the default one.
struct Due<F: Fn() + Send + 'static> {
    deadline: Moment,
    /// `None`: it has happened, or another one has taken over.
    cancel: Option<F>,
    waiter: Weak<Waiter>,
}

impl<F: Fn() + Send + 'static> Due<F> {
    /// A task on the current runtime.
    fn wait(mut self) -> JoinHandle<()> {
        task::spawn(async move {
            Sleep::until(self.deadline).await;
            self.cancel.take().into_iter().for_each(|cancel| cancel());
        })
    }
}

impl<F: Fn() + Send + 'static> Drop for Due<F> {
    fn drop(&mut self) {
        // Without its waiter it was cancelled itself.
        let (Some(cancel), Some(waiter)) = (self.cancel.take(), self.waiter.upgrade()) else {
            return;
        };
        if current::slot_of_runtime().is_some_and(|(_, shared)| shared.clock.is_virtual()) {
            return;
        }
        let _entered = EnterGuard::new(current::default_runtime());
        let due = Self {
            deadline: self.deadline,
            cancel: Some(cancel),
            waiter: Arc::downgrade(&waiter),
        };
        *lock(&waiter.0) = Some(due.wait());
    }
}
