//! A future that is polled in the tokio context.

use crate::integrations::tokio_driver::handle;
use crate::job::InPlace;
use std::future::poll_fn;
use std::pin::pin;

/// Runs `future` in the tokio context, on any thread and any runtime.
///
/// Only its polls are inside: tasks that it spawns are not, nor is its drop when it is cancelled.
///
/// # Cost
/// No allocation. Each poll enters tokio's runtime and leaves it.
///
/// # Panics
/// If tokio's runtime cannot be started, see [`handle`], or if the future panics.
///
/// # Examples
/// ```
/// use manyhands::{integrations::tokio_driver::compat, task};
/// use std::time::Duration;
///
/// let handle = task::spawn(compat(async {
///     tokio::time::sleep(Duration::from_millis(5)).await;
///     tokio::net::TcpListener::bind("127.0.0.1:0").await
/// }));
/// assert!(handle.join().unwrap().is_ok());
/// ```
#[doc(alias = "async_compat")]
pub async fn compat<F: Future>(future: F) -> F::Output {
    let handle = handle().unwrap_or_else(|error| panic!("tokio's runtime cannot start: {error}"));
    let mut future = pin!(InPlace(pin!(Some(future))));
    poll_fn(|context| {
        let _entered = handle.enter();
        future.as_mut().poll(context)
    })
    .await
}
