//! Futures as tasks: what spawning, awaiting and yielding cost in time, CPU time and memory.
//!
//! A million futures that count themselves (see `tally`) and end, spawned from a thread outside the
//! pool or from a task inside it: their handles dropped, or kept and awaited, in batches of a
//! thousand or all at once. And a million yields, of one task or of a hundred in turn. Every
//! measurement has a fresh process.

mod compare;
mod futures;
mod manyhands;
mod measure;
mod smol;
mod tokio;

use manyhands_lab::contest::{self, Arm};

pub(crate) use self::manyhands::Manyhands;
pub(crate) use self::smol::Smol;
pub(crate) use self::tokio::Tokio;
pub(crate) use compare::compare;

/// A pool that runs futures.
pub(crate) trait Pool: Clone + Send + 'static {
    /// Waits for a task; what it gives is not looked at.
    type Handle: Future + Send + 'static;

    /// Makes or finds the pool; the error says why there is none.
    fn new() -> Result<Self, String>;

    /// Runs a future as a task, from a thread of the pool or another.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> Self::Handle;

    /// As `spawn`, in the cheapest way that keeps no handle.
    fn spawn_detached(&self, future: impl Future<Output = ()> + Send + 'static);

    /// Runs a future on the calling thread, which is none of the pool.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Lets other tasks go first.
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 5] = [
    Arm::base("tokio", "tokio"),
    Arm::base("tokio again", "tokio"),
    Arm::contender("manyhands"),
    Arm::contender("smol"),
    Arm::contender("futures"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "tokio" => serve_as::<Tokio>(),
        "manyhands" => serve_as::<Manyhands>(),
        "smol" => serve_as::<Smol>(),
        "futures" => serve_as::<futures::Futures>(),
        _ => return false,
    }
    true
}

fn serve_as<P: Pool>() {
    match P::new() {
        Ok(pool) => contest::serve(|request| measure::answer(&pool, &request.case)),
        Err(reason) => contest::say_absent(&reason),
    }
}
