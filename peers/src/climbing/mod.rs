//! Tasks for which the right number of threads is not the number of processors: what hill climbing gains there,
//! and what it costs where it is.
//!
//! As many tasks as `IN_FLIGHT` are queued or running at any time; each that ends is followed by another. In
//! `compute` a task hashes for about 25 µs; in `spin` it yields its thread until 1 ms is over, as one that polls a
//! device; in `sleep` it hashes for about 50 µs and sleeps for 1 ms without declaring it.

mod compare;
mod measure;

use manyhands::Runtime;
use manyhands_lab::contest::{self, Arm};

pub(crate) use compare::compare;

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 3] = [
    Arm::base("manyhands", "manyhands"),
    Arm::base("manyhands again", "manyhands"),
    Arm::contender("manyhands-climbing"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    let climbs = match contender {
        "manyhands" => false,
        "manyhands-climbing" => true,
        _ => return false,
    };
    match Runtime::builder().hill_climbing(climbs).build() {
        Ok(runtime) => {
            contest::serve(|request| measure::answer(&runtime, &request.case, request.window));
        }
        Err(error) => contest::say_absent(&error.to_string()),
    }
    true
}
