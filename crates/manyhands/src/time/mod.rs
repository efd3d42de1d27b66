//! Waiting for a time: sleeps, timeouts, intervals, deadlines.
//!
//! Time is the system's monotonic clock, or, in a [simulation](crate::simulation), the simulated one.
//! [`now`] reads whichever is in use.
//!
//! # Precision
//! Timers fire at whole milliseconds, never before their deadline. How much later the task runs depends on how
//! soon a worker is free: on an idle machine a fraction of a millisecond. While a worker runs a long job, another thread
//! fires that worker's timers, a few milliseconds late.
//!
//! # Cost
//! A timer is part of its future and allocates nothing. Setting and cancelling it take constant time,
//! under a lock that belongs to the worker. While no timer is due, no code runs.
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
//! A timer belongs to the runtime that is current at the first poll of its future: a worker's own, else the
//! entered one, else the default one. This also works on threads of other libraries.
//!
//! # Wakers
//! A thread of the runtime wakes those who wait for timers, and fires no other timer meanwhile. The wakers of this library only
//! queue a task, or wake a thread. One of another kind must not wait for a timer.

mod deadline;
mod interval;
mod sleep;
mod timeout;

pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};

use crate::runtime::timers;
use crate::task::block_on_timer;
use std::time::{Duration, Instant};

/// The current time: by the system's clock, or, in a simulation, the simulated one.
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
#[doc(alias("Stopwatch", "Instant"))]
#[must_use]
pub fn now() -> Instant {
    timers::now().to_instant()
}

/// As [`sleep`], and waits on the calling thread.
///
/// # Blocking
/// For at least `duration`. On a thread of the pool the call declares itself as blocking, and another worker runs in
/// its place.
///
/// # Panics
/// In a simulation, where time would not pass meanwhile.
///
/// # Examples
/// ```
/// use manyhands::time;
/// use std::time::Duration;
/// let start = time::now();
/// time::sleep_blocking(Duration::from_millis(5));
/// assert!(time::now() - start >= Duration::from_millis(5));
/// ```
#[doc(alias("thread::sleep", "Thread.Sleep"))]
pub fn sleep_blocking(duration: Duration) {
    block_on_timer(sleep(duration));
}
