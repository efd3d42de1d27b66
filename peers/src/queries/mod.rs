//! Queries: chains of operators over a slice or a range, as a first user writes them.
//!
//! - `map`: `mix` of each `u64`, collected in order: about 1 ns an item.
//! - `filter`: every other item, collected.
//! - `sum`: of what is left of a map and a filter.
//! - `min`: of a map.
//! - `any`: of a map; true for the last item only.
//! - `primes`: how many there are below n, by trial division; later numbers take longer.
//! - `hashes`: SHA-512 of 11 bytes for each index, collected in order: about 230 ns an item.
//!
//! Not here: loops (`loops`), where the same engine runs bodies without results.

mod body;
mod case;
mod compare;
mod manyhands;
mod orx;
mod rayon;
mod sequential;
mod stage;

use crate::protocol;
use crate::team::Arm;

pub(crate) use compare::compare;

/// What a contender of this problem can do. Static calls throughout, so that bodies are inlined.
pub(crate) trait Queries {
    /// `mix` of each value, in order.
    fn map(values: &[u64]) -> Vec<u64>;

    /// The values that `is_kept`; unordered contenders may give them in any order.
    fn filter(values: &[u64]) -> Vec<u64>;

    /// The wrapped sum of `mix` of the values that `is_kept`.
    fn sum(values: &[u64]) -> u64;

    /// The smallest `mix` of a value.
    fn min(values: &[u64]) -> Option<u64>;

    /// Whether the `mix` of a value is `wanted`.
    fn any(values: &[u64], wanted: u64) -> bool;

    /// How many of the numbers below `len` are prime.
    fn primes(len: usize) -> usize;

    /// A hash for each number below `len`, in order.
    fn hashes(len: usize) -> Vec<u64>;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 6] = [
    Arm::base("sequential", "sequential"),
    Arm::base("sequential again", "sequential"),
    Arm::contender("manyhands"),
    Arm::contender("manyhands-unordered"),
    Arm::contender("rayon"),
    Arm::contender("orx-parallel"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "sequential" => serve_as::<sequential::Sequential>(),
        "manyhands" => serve_as::<manyhands::Ordered>(),
        "manyhands-unordered" => serve_as::<manyhands::Unordered>(),
        "rayon" => serve_as::<rayon::Rayon>(),
        "orx-parallel" => serve_as::<orx::Orx>(),
        _ => return false,
    }
    true
}

fn serve_as<C: Queries>() {
    let mut stage = None;
    protocol::serve(|request| stage::answer::<C>(&mut stage, request));
}
