//! Single closures handed to a pool: what one costs in time, CPU time and memory.
//!
//! A million and ten million closures that do nothing but count themselves (see `tally`), spawned
//! from a thread outside the pool or from a job inside it. Every measurement has a fresh process,
//! so that memory the allocator kept from an earlier one is not taken for free.

mod channel;
mod compare;
mod manyhands;
mod measure;
mod rayon;
mod threadpool;
mod tokio;

use manyhands_lab::contest::{self, Arm};

pub(crate) use compare::compare;
pub(crate) use tokio::Tokio;

/// What a contender of this problem can do. Every closure calls `tally::count`, and who has handed over the last
/// calls `tally::all_handed_over`; the caller waits until all have run, so these may return before.
pub(crate) trait Items {
    /// Makes or finds the pool; the error says why there is none.
    fn new() -> Result<Self, String>
    where
        Self: Sized;

    /// Hands over this many closures from the calling thread.
    fn outside(&mut self, count: usize);

    /// Hands over one closure that hands over this many.
    fn inside(&mut self, count: usize);
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 12] = [
    Arm::base("crossbeam-2", "crossbeam-2"),
    Arm::base("crossbeam-2 again", "crossbeam-2"),
    Arm::contender("manyhands-detached"),
    Arm::contender("manyhands-run"),
    Arm::contender("manyhands-scope"),
    Arm::contender("crossbeam-1"),
    Arm::contender("threadpool"),
    Arm::contender("rayon"),
    Arm::contender("tokio"),
    Arm::contender("dotnet-queue"),
    Arm::contender("dotnet-queue-unsafe"),
    Arm::contender("dotnet-run"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "crossbeam-1" => serve_as::<channel::Channel<1>>(),
        "crossbeam-2" => serve_as::<channel::Channel<2>>(),
        "manyhands-detached" => serve_as::<manyhands::Detached>(),
        "manyhands-run" => serve_as::<manyhands::Run>(),
        "manyhands-scope" => serve_as::<manyhands::Scope>(),
        "threadpool" => serve_as::<threadpool::Threads>(),
        "rayon" => serve_as::<rayon::Rayon>(),
        "tokio" => serve_as::<Tokio>(),
        _ => return false,
    }
    true
}

fn serve_as<C: Items>() {
    match C::new() {
        Ok(mut contender) => {
            contest::serve(|request| measure::answer(&mut contender, &request.case));
        }
        Err(reason) => contest::say_absent(&reason),
    }
}
