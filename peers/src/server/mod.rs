//! A web service with a cheap and a heavy request: does it pay to parallelise the heavy one?
//!
//! The service is hyper's on each contender's tasks; the heavy request counts primes, about 10 ms of
//! work. Its clients are threads of the same process, each with a connection that it keeps. Asked
//! seldom, the answer should come sooner in parallel; asked by eight at once there is nothing to gain,
//! and nothing should be lost.

mod client;
mod compare;
mod manyhands;
mod measure;
mod primes;
mod service;
mod tokio;

use manyhands_lab::contest::{self, Arm};
use std::net::SocketAddr;

pub(crate) use compare::compare;

/// A service that runs as long as the process does.
pub(crate) trait Server {
    /// Starts it; the error says why there is none.
    fn start() -> Result<SocketAddr, String>;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 6] = [
    Arm::base("manyhands-in-order", "manyhands-in-order"),
    Arm::base("manyhands-in-order again", "manyhands-in-order"),
    Arm::contender("manyhands"),
    Arm::contender("tokio-spawn-blocking"),
    Arm::contender("tokio-few-blocking"),
    Arm::contender("rayon+tokio"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "manyhands-in-order" => serve_as::<manyhands::InOrder>(),
        "manyhands" => serve_as::<manyhands::Parallel>(),
        "tokio-spawn-blocking" => serve_as::<tokio::Blocking>(),
        "tokio-few-blocking" => serve_as::<tokio::FewBlocking>(),
        "rayon+tokio" => serve_as::<tokio::OnRayon>(),
        _ => return false,
    }
    true
}

fn serve_as<S: Server>() {
    match S::start() {
        Ok(address) => contest::serve(|request| measure::answer(address, request)),
        Err(reason) => contest::say_absent(&reason),
    }
}
