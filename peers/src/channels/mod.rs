//! Channels: what a message costs in time and CPU time.
//!
//! `1to1`, `4to1` and `2to2` pass half a million numbers from one, four or two producers to one or two consumers; in
//! `pingpong` one number goes to and fro between two, each waiting for the other. Arms named `…-tasks` run
//! async ends as tasks on tokio's runtime with two workers, `…-pool-tasks` on manyhands' own pool, each for
//! every library, so that a channel and an executor can be told apart; `…-async` run them on threads that each
//! block on one future; the others block the thread in the channel itself. The standard library's
//! and tokio's have one receiver, and are left out of `2to2`.

mod async_channel;
mod compare;
mod crossbeam;
mod flume;
mod kanal;
mod manyhands;
mod measure;
mod place;
mod standard;
mod tokio;

pub(crate) use compare::compare;

use manyhands_lab::contest::{self, Arm};
use place::{Polled, PoolTasks, Tasks, Threads};

/// What all libraries have: two ends. A capacity of `None` is no limit.
pub(crate) trait Ends {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;

    fn channel(capacity: Option<usize>) -> (Self::Sender, Self::Receiver);

    /// Another receiver of the same channel, if there can be one.
    fn share(receiver: &Self::Receiver) -> Option<Self::Receiver>;
}

/// Ends that block the thread.
pub(crate) trait Blocking: Ends {
    fn send(sender: &Self::Sender, item: u64);

    /// `None` at the end.
    fn recv(receiver: &mut Self::Receiver) -> Option<u64>;
}

/// Ends for async code.
pub(crate) trait Async: Ends {
    fn send(sender: &Self::Sender, item: u64) -> impl Future<Output = ()> + Send;

    /// `None` at the end.
    fn recv(receiver: &mut Self::Receiver) -> impl Future<Output = Option<u64>> + Send;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 24] = [
    Arm::base("crossbeam", "crossbeam"),
    Arm::base("crossbeam again", "crossbeam"),
    Arm::contender("manyhands"),
    Arm::contender("std"),
    Arm::contender("flume"),
    Arm::contender("kanal"),
    Arm::contender("manyhands-async"),
    Arm::contender("flume-async"),
    Arm::contender("kanal-async"),
    Arm::contender("async-channel-async"),
    Arm::contender("tokio-async"),
    Arm::contender("manyhands-tasks"),
    Arm::contender("flume-tasks"),
    Arm::contender("kanal-tasks"),
    Arm::contender("async-channel-tasks"),
    Arm::contender("tokio-tasks"),
    Arm::contender("manyhands-pool-tasks"),
    Arm::contender("flume-pool-tasks"),
    Arm::contender("kanal-pool-tasks"),
    Arm::contender("async-channel-pool-tasks"),
    Arm::contender("tokio-pool-tasks"),
    Arm::contender("dotnet-collection"),
    Arm::contender("dotnet-pool-tasks"),
    Arm::contender("dotnet-declared-pool-tasks"),
];

/// Those whose receiver cannot be shared.
pub(crate) const SINGLE_RECEIVER: [&str; 4] =
    ["std", "tokio-async", "tokio-tasks", "tokio-pool-tasks"];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "crossbeam" => serve_as::<Threads<crossbeam::Crossbeam>>(),
        "manyhands" => serve_as::<Threads<manyhands::Manyhands>>(),
        "std" => serve_as::<Threads<standard::Standard>>(),
        "flume" => serve_as::<Threads<flume::Flume>>(),
        "kanal" => serve_as::<Threads<kanal::Kanal>>(),
        "manyhands-async" => serve_as::<Polled<manyhands::Manyhands>>(),
        "flume-async" => serve_as::<Polled<flume::Flume>>(),
        "kanal-async" => serve_as::<Polled<kanal::KanalAsync>>(),
        "async-channel-async" => serve_as::<Polled<async_channel::AsyncChannel>>(),
        "tokio-async" => serve_as::<Polled<tokio::Tokio>>(),
        "manyhands-tasks" => serve_as::<Tasks<manyhands::Manyhands>>(),
        "flume-tasks" => serve_as::<Tasks<flume::Flume>>(),
        "kanal-tasks" => serve_as::<Tasks<kanal::KanalAsync>>(),
        "async-channel-tasks" => serve_as::<Tasks<async_channel::AsyncChannel>>(),
        "tokio-tasks" => serve_as::<Tasks<tokio::Tokio>>(),
        "manyhands-pool-tasks" => serve_as::<PoolTasks<manyhands::Manyhands>>(),
        "flume-pool-tasks" => serve_as::<PoolTasks<flume::Flume>>(),
        "kanal-pool-tasks" => serve_as::<PoolTasks<kanal::KanalAsync>>(),
        "async-channel-pool-tasks" => serve_as::<PoolTasks<async_channel::AsyncChannel>>(),
        "tokio-pool-tasks" => serve_as::<PoolTasks<tokio::Tokio>>(),
        _ => return false,
    }
    true
}

fn serve_as<P: place::Place>() {
    contest::serve(|request| measure::answer::<P>(&request.case));
}
