//! A service at saturation: how late what is cheap runs beside heavy requests, and what the service still gets
//! done.
//!
//! A heavy request is about 4 ms of arithmetic, and the service is a pool of tasks with a worker for each
//! processor. In `loop`, `query`, `in-order` and `priorities` eight clients, tasks of the pool, ask for one heavy
//! request after the other and yield in between, while a thread outside spawns a cheap task on a clock. In `load P` heavy
//! requests arrive on a clock too, at P percent of what plain threads can do. Nobody's lateness is left out: a
//! task's time counts from when it was due, not from when the sender came to it.
//!
//! `loop` and `query` make the heavy request a parallel loop, or a query, where the library has them (rayon has one for
//! both); in `priorities` cheap tasks are
//! interactive and clients are in the background where the library has priorities. The others do in both what
//! they do in `in-order`. `threads` is no service: plain threads that do nothing but the same requests, and beside these, in
//! another window, a sender that does the cheap tasks itself.

mod chart;
mod clients;
mod clock;
mod compare;
mod load;
mod manyhands;
mod measure;
mod smol;
mod threads;
mod tokio;
mod work;

use manyhands_lab::contest::{self, Arm};

use ::manyhands::task::Priority;

use crate::tasks::Pool;

pub(crate) use compare::compare;

/// How a library does heavy requests beside its tasks.
pub(crate) trait Service: 'static {
    /// What runs the tasks.
    type Pool: Pool;

    /// Does one heavy request; awaited by a task of the pool.
    fn request(way: Way) -> impl Future<Output = u64> + Send;

    /// Hands over a task. A library without priorities pays no heed to this one.
    fn spawn(
        pool: &Self::Pool,
        _priority: Priority,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        pool.spawn_detached(task);
    }
}

/// How a heavy request is done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// By one thread.
    InOrder,
    /// By a parallel loop, if the library has them.
    Loop,
    /// By a parallel query, if the library has them.
    Query,
}

/// The rows of the tables; the first is the base of the ratios, the second its control. Throughput is
/// compared with `threads`.
pub(crate) const ARMS: [Arm; 9] = [
    Arm::base("manyhands", "manyhands"),
    Arm::base("manyhands again", "manyhands"),
    Arm::contender("tokio-block-in-place"),
    Arm::contender("tokio-spawn-blocking"),
    Arm::contender("tokio+rayon"),
    Arm::contender("smol-unblock"),
    Arm::base(THREADS, THREADS).of(&CLOSED),
    Arm::contender("dotnet"),
    Arm::contender("dotnet-threads").of(&CLOSED),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "manyhands" => serve_as::<manyhands::OnePool>(),
        "tokio-block-in-place" => serve_as::<tokio::InPlace>(),
        "tokio-spawn-blocking" => serve_as::<tokio::OnBlockingThreads>(),
        "tokio+rayon" => serve_as::<tokio::OnRayon>(),
        "smol-unblock" => serve_as::<smol::Unblock>(),
        THREADS => contest::serve(|request| Ok(threads::answer(request.window))),
        _ => return false,
    }
    true
}

fn serve_as<S: Service>() {
    match S::Pool::new() {
        Ok(pool) => contest::serve(|request| measure::answer::<S>(&pool, request)),
        Err(reason) => contest::say_absent(&reason),
    }
}

const THREADS: &str = "threads";
/// The cases in which clients ask again as soon as they are answered.
const CLOSED: [&str; 4] = ["loop", "query", "in-order", "priorities"];
