//! The runtime's tasks and timers for hyper; only with the feature `hyper`.
//!
//! Not here: sockets, which come from tokio with the feature `tokio`, or from elsewhere.
//!
//! # Examples
//! A server needs a timer to limit how long a client may take:
//! ```
//! use manyhands::integrations::hyper_runtime::Timer;
//! use std::time::Duration;
//!
//! let mut server = hyper::server::conn::http1::Builder::new();
//! server.timer(Timer).header_read_timeout(Duration::from_secs(5));
//! ```

use crate::{task, time};
use hyper::rt;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// An executor for hyper: spawns tasks on the current runtime.
///
/// # Examples
/// ```
/// use http_body_util::Empty;
/// use hyper::body::Bytes;
/// use hyper_util::client::legacy::Client;
/// use manyhands::integrations::hyper_runtime::Executor;
///
/// let client = Client::builder(Executor).build_http::<Empty<Bytes>>();
/// # drop(client);
/// ```
#[doc(alias = "TokioExecutor")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Executor;

impl<F> rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(task::spawn(future));
    }
}

/// A timer for hyper: this library's timers.
///
/// Example: see [the module](self).
#[doc(alias = "TokioTimer")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timer;

impl rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(time::sleep(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(time::sleep_until(deadline))
    }

    fn now(&self) -> Instant {
        time::now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<time::Sleep>() {
            Some(own) => own.reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl rt::Sleep for time::Sleep {}
