//! Waiting for a time: sleeping, limits, intervals, deadlines.
//!
//! Time is the system's monotonic clock, or, in a [simulation](crate::simulation), the simulated one.
//! [`now`] tells the one that counts.
//!
//! # Precision
//! Timers fire at whole milliseconds, never before their time. How much later the task runs depends on how
//! soon a worker is free: on an idle machine a fraction of a millisecond. A timer whose worker runs something
//! long is fired by another thread a few milliseconds late.
//!
//! # Cost
//! A timer lives inside its future: none allocates, and setting one or taking it back takes constant time,
//! under a lock that belongs to the worker. Nothing runs while nothing is due.
//!
//! # Examples
//! ```
//! use manyhands::{simulation::Simulation, task, time};
//! use std::time::Duration;
//!
//! async fn patient() -> &'static str {
//!     let slow = async { time::sleep(Duration::from_secs(60)).await };
//!     match time::timeout(Duration::from_secs(1), slow).await {
//!         Ok(()) => "done",
//!         Err(_elapsed) => "gave up",
//!     }
//! }
//! // By the clock it takes a second. A simulation's virtual clock jumps there.
//! assert_eq!(Simulation::new(42).run(patient()), Ok("gave up"));
//! assert_eq!(Simulation::new(42).run(async { task::spawn(patient()).await.unwrap() }), Ok("gave up"));
//! ```
//!
//! # Runtimes
//! A timer belongs to the runtime that is current where its future is first polled: a worker's own, else the
//! one that was entered, else the default one. On threads of other libraries that works too.

mod deadline;
mod interval;
mod sleep;
mod timeout;

pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};

use crate::runtime::sleep::timers;
use crate::task;
use std::time::{Duration, Instant};

/// The present: by the system's clock, or, in a simulation, the simulated one.
///
/// # Examples
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::time;
/// use std::time::Duration;
///
/// let waited = Simulation::new(1).run(async {
///     let start = time::now();
///     time::sleep(Duration::from_secs(3600)).await;
///     time::now() - start
/// });
/// assert_eq!(waited.unwrap(), Duration::from_secs(3600));
/// ```
#[doc(alias = "Stopwatch")]
#[must_use]
pub fn now() -> Instant {
    timers::now().to_instant()
}

/// Blocks the calling thread for at least `duration`.
///
/// # Blocking
/// On a thread of the pool the call declares itself as blocking, and another worker runs in its place. In a future, await
/// [`sleep`] instead.
///
/// # Panics
/// In a simulation, where nothing would happen meanwhile.
///
/// # Examples
/// ```
/// use manyhands::time;
/// use std::time::Duration;
/// let start = time::now();
/// time::sleep_blocking(Duration::from_millis(5));
/// assert!(time::now() - start >= Duration::from_millis(5));
/// ```
#[doc(alias = "thread::sleep")]
#[doc(alias = "Thread.Sleep")]
pub fn sleep_blocking(duration: Duration) {
    task::block_on(sleep(duration));
}
