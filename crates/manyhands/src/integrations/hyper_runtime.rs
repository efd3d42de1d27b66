//! A runtime's handle as an executor and a timer of hyper; only with the feature `hyper`.
//!
//! Not here: sockets, which come from tokio with the feature `tokio`, or from elsewhere.

use crate::task::runtime_handle::Handle;
use crate::time;
use hyper::rt;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Hyper's tasks run on the handle's runtime.
///
/// # Examples
/// ```
/// use http_body_util::Empty;
/// use hyper::body::Bytes;
/// use hyper_util::client::legacy::Client;
/// use manyhands::Handle;
///
/// let client = Client::builder(Handle::current()).build_http::<Empty<Bytes>>();
/// # drop(client);
/// ```
impl<F> rt::Executor<F> for Handle
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.spawn(future));
    }
}

/// Hyper's waits are this library's timers.
///
/// # Examples
/// A server needs a timer to limit how long a client may take:
/// ```
/// use manyhands::Handle;
/// use std::time::Duration;
///
/// let mut server = hyper::server::conn::http1::Builder::new();
/// server.timer(Handle::current()).header_read_timeout(Duration::from_secs(5));
/// ```
impl rt::Timer for Handle {
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
            None => *sleep = rt::Timer::sleep_until(self, deadline),
        }
    }
}

impl rt::Sleep for time::Sleep {}
