//! Cancellation at a deadline.
//!
//! Not here: cancellation itself (`cancel`), which does not depend on timers.

use crate::cancel::Source;
use crate::runtime::sleep::timers;
use crate::task::{self, JoinHandle};
use crate::time::sleep::Sleep;
use crate::timer::Moment;
use std::time::{Duration, Instant};

impl Source {
    /// A source that cancels itself at `deadline`, on the current runtime.
    ///
    /// It cancels as long as a token of it exists, even if the source itself is dropped. If the deadline has
    /// passed, the source is cancelled already.
    ///
    /// # Cost
    /// A small task, which ends when the source and all its tokens are dropped.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, parallel, time};
    /// use std::time::Duration;
    /// let source = cancel::Source::with_deadline(time::now() + Duration::from_millis(5));
    /// let token = source.token();
    /// let stopped = parallel::options().cancellation(&token).for_range(0..u64::MAX, |_| {});
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
    /// let source = cancel::Source::new();
    /// source.cancel_after(Duration::from_secs(3600));
    /// source.cancel_after(Duration::from_millis(2));
    /// let token = source.token();
    /// while !token.is_cancelled() {
    ///     time::sleep_blocking(Duration::from_millis(1));
    /// }
    /// ```
    #[doc(alias = "CancelAfter")]
    pub fn cancel_after(&self, duration: Duration) {
        self.cancel_at(timers::now().after(duration));
    }

    fn cancel_at(&self, deadline: Moment) {
        let cancel = self.canceller();
        let handle = task::spawn(async move {
            Sleep::until(deadline).await;
            cancel();
        });
        self.keep(Box::new(CancelOnDrop(handle)));
    }
}

/// The task that waits for the deadline; it ends with the source.
#[derive(Debug)]
struct CancelOnDrop(JoinHandle<()>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
