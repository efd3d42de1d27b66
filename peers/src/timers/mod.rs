//! Many sleeps at the same time: what they take in memory and CPU time, and how late they end.
//!
//! In `tasks` each sleep is awaited by a task of its own, spawned from outside the pool, and its
//! handle is kept and awaited. In `slice` one task of the pool awaits them all, in one slice that
//! stays where it is (see `slice`). In `join_all` the future that the calling thread runs awaits them
//! with `join_all` of the futures crate, which allocates for each; not a task of the pool, because
//! there tokio's take time by the square of their number, 100,000 of them three seconds.
//!
//! Every measurement has a fresh process.

mod compare;
mod latest;
mod measure;
mod sleeps;
mod slice;

use std::time::Duration;

use crate::tasks::{Manyhands, Pool, Smol, Tokio};
use manyhands_lab::contest::{self, Arm};

pub(crate) use compare::compare;

/// A pool with timers.
pub(crate) trait Timers: Pool {
    type Sleep: Future<Output: Send> + Send + 'static;

    /// Waits this long, counted from the call.
    fn sleep(length: Duration) -> Self::Sleep;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 5] = [
    Arm::base("tokio", "tokio"),
    Arm::base("tokio again", "tokio"),
    Arm::contender("manyhands"),
    Arm::contender("smol"),
    Arm::contender("dotnet"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "tokio" => serve_as::<Tokio>(),
        "manyhands" => serve_as::<Manyhands>(),
        "smol" => serve_as::<Smol>(),
        _ => return false,
    }
    true
}

fn serve_as<T: Timers>() {
    match T::new() {
        Ok(pool) => contest::serve(|request| measure::answer(&pool, &request.case)),
        Err(reason) => contest::say_absent(&reason),
    }
}
