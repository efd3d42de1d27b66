//! Work that blocks its thread on a pool of two workers: what else of the pool's work waits for it.
//!
//! In `sleeps` 64 closures sleep for 50 ms each, and one short task is handed over after them: when it
//! runs, and when all have ended. In `gate` 122 closures block until all of them have begun, or two
//! seconds have passed. *Declared* contenders say that their closures block, in the way that their library
//! has for it; the others do not. Every measurement has a fresh process.

mod compare;
mod manyhands;
mod measure;
mod rayon;
mod smol;
mod tokio;

use manyhands_lab::contest::{self, Arm};

pub(crate) use compare::compare;

/// A pool of two workers.
pub(crate) trait Pool {
    /// Makes the pool; the error says why there is none.
    fn new() -> Result<Self, String>
    where
        Self: Sized;

    /// Hands over a closure that blocks.
    fn spawn_blocking(&self, body: impl FnOnce() + Send + 'static);

    /// Hands over a closure that does not.
    fn spawn(&self, body: impl FnOnce() + Send + 'static);
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 11] = [
    Arm::base("tokio-spawn-blocking", "tokio-spawn-blocking"),
    Arm::base("tokio-spawn-blocking again", "tokio-spawn-blocking"),
    Arm::contender("manyhands"),
    Arm::contender("manyhands-declared"),
    Arm::contender("tokio"),
    Arm::contender("tokio-block-in-place"),
    Arm::contender("smol-unblock"),
    Arm::contender("rayon"),
    Arm::contender("rayon+tokio"),
    Arm::contender("dotnet"),
    Arm::contender("dotnet-long-running"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "tokio" => serve_as::<tokio::Plain>(),
        "tokio-block-in-place" => serve_as::<tokio::InPlace>(),
        "tokio-spawn-blocking" => serve_as::<tokio::OnBlockingThreads>(),
        "manyhands-declared" => serve_as::<manyhands::Declared>(),
        "manyhands" => serve_as::<manyhands::Detected>(),
        "smol-unblock" => serve_as::<smol::Unblock>(),
        "rayon" => serve_as::<rayon::Rayon>(),
        "rayon+tokio" => serve_as::<rayon::WithTokio>(),
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

/// Workers of every pool, whatever the machine has.
const WORKERS: usize = 2;
