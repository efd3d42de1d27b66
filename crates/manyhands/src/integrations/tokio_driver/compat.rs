//! A future that is polled in the tokio context.

use crate::integrations::tokio_driver::{enter, handle};
use crate::job::InPlace;

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
pub fn compat<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let mut known = None;
    let start = || handle().unwrap_or_else(|error| panic!("tokio's runtime cannot start: {error}"));
    // The inner one is dropped in the context.
    InPlace::by(InPlace::of(future), move |future, context| {
        let _entered = enter(known.get_or_insert_with(start));
        future.poll(context)
    })
}
