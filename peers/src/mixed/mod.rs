//! Short tasks beside an endless loop that keeps every worker busy, or beside as many as there are CPUs, whose callers
//! hold every place: how late the tasks run, and what the loops lose.
//!
//! A loop hashes (SHA-512 of 11 bytes) until it is stopped. A thread outside the pool spawns a
//! task every 500 µs that does nothing but note when it runs. Slices with tasks and without take turns
//! while the loop goes on, so that both see the same machine. Nobody yields by hand but in
//! `tokio-yield`, whose loop does so every 64 hashes: that is the mark.

mod compare;
mod manyhands;
mod measure;
mod rayon_tokio;
mod tokio;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::loops::sha512;
use crate::tally;
use manyhands_lab::contest::{self, Arm};

pub(crate) use compare::compare;

/// A pool, or two, with room for both kinds of work.
pub(crate) trait Mixed: Send + Sync + 'static {
    /// Makes the pool; the error says why there is none.
    fn new() -> Result<Self, String>
    where
        Self: Sized;

    /// Hashes on every worker until `hashing` ends; called on a thread that is none of the pool.
    fn run_loop(&self, hashing: &Hashing);

    /// Hands over a short task, from a thread that is none of the pool.
    fn spawn(&self, task: impl FnOnce() + Send + 'static);
}

/// The loop's body and its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hashing {
    stopped: Arc<AtomicBool>,
}

impl Hashing {
    /// Hashes once; false when the loop is to end.
    #[inline]
    pub(crate) fn step(&self) -> bool {
        std::hint::black_box(sha512());
        tally::count();
        // Relaxed: one body more or less is of no matter.
        !self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the loop.
    pub(crate) fn stop(&self) {
        // Relaxed: as above.
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The rows of the table; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 10] = [
    Arm::base("tokio-yield", "tokio-yield"),
    Arm::base("tokio-yield again", "tokio-yield"),
    Arm::contender("manyhands"),
    Arm::contender("manyhands-outside"),
    Arm::contender("tokio-spawn-blocking"),
    Arm::contender("rayon+tokio"),
    Arm::contender("rayon"),
    Arm::contender("dotnet"),
    Arm::contender("dotnet-outside"),
    Arm::contender("dotnet-yield"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "tokio-yield" => serve_as::<tokio::Yielding>(),
        "tokio-spawn-blocking" => serve_as::<tokio::Blocking>(),
        "manyhands" => serve_as::<manyhands::Inside>(),
        "manyhands-outside" => serve_as::<manyhands::Outside>(),
        "rayon+tokio" => serve_as::<rayon_tokio::Both>(),
        "rayon" => serve_as::<rayon_tokio::Rayon>(),
        _ => return false,
    }
    true
}

fn serve_as<M: Mixed>() {
    match M::new() {
        Ok(pool) => {
            let pool = Arc::new(pool);
            contest::serve(|request| {
                let loops =
                    loops(&request.case).ok_or_else(|| format!("no case '{}'", request.case))?;
                Ok(measure::answer(&pool, loops, request.window))
            });
        }
        Err(reason) => contest::say_absent(&reason),
    }
}

/// How many loops the case of this name has.
fn loops(case: &str) -> Option<usize> {
    match case {
        "loop" => Some(1),
        "loops" => Some(workers()),
        _ => None,
    }
}

/// Workers of each pool: as many as there are CPUs.
pub(crate) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
