//! Queries: chains of operators over a slice or a range, as a first user writes them.
//!
//! - `map`: `mix` of each `u64`, collected in order: about 1 ns an item.
//! - `range`, `slices`, `ring`: items that cost next to nothing, so that the form of the source is what is measured: a range,
//!   tripled and collected; two slices, one after the other; a queue, summed.
//! - `filter`: every other item, collected.
//! - `sum`: of what is left of a map and a filter.
//! - `min`: of a map.
//! - `any`: of a map; true for the last item only.
//! - `primes`: how many there are below n, by trial division; later numbers take longer.
//! - `sort`: stably by a cheap key, collected; `least`: the first hundred of these.
//! - `iterate`: SHA-512 of 11 bytes for each index, given in order to a caller that spends as much on each:
//!   about 230 ns on either side.
//! - `hmac-sha512`, `sha512`, `sha256`, `sha1`, `md5`: of 445 bytes for each index, collected in order:
//!   0.7 to 3 µs an item. Here `manyhands-loop` shows what a query adds to a parallel loop.
//!
//! Not here: loops (`loops`), where the same engine runs bodies without results.

mod body;
mod cached_key;
mod case;
mod data;
mod hash;
mod itertools;
mod manyhands;
mod manyhands_loop;
mod orx;
mod rayon;
mod sequential;

use std::collections::VecDeque;

use manyhands_lab::contest::Arm;

use crate::cli::Settings;
use crate::report::{Outcome, Report};
use crate::sized::{self, Comparison};
use data::Data;

pub(crate) use case::Chain;

/// What a contender of this problem can do, all but what its arm leaves out. Static calls throughout, so that
/// bodies are inlined.
pub(crate) trait Queries {
    /// `mix` of each value, in order.
    fn map(_values: &[u64]) -> Vec<u64> {
        left_out()
    }

    /// Three times each number below `len`, in order.
    fn range(_len: usize) -> Vec<u64> {
        left_out()
    }

    /// The values of both; unordered contenders may give them in any order.
    fn slices(_first: &[u64], _second: &[u64]) -> Vec<u64> {
        left_out()
    }

    /// The sum of the values, all shifted.
    fn ring(_values: &VecDeque<u64>) -> u64 {
        left_out()
    }

    /// The values that `is_kept`; unordered contenders may give them in any order.
    fn filter(_values: &[u64]) -> Vec<u64> {
        left_out()
    }

    /// The wrapped sum of `mix` of the values that `is_kept`.
    fn sum(_values: &[u64]) -> u64 {
        left_out()
    }

    /// The smallest `mix` of a value.
    fn min(_values: &[u64]) -> Option<u64> {
        left_out()
    }

    /// Whether the `mix` of a value is `wanted`.
    fn any(_values: &[u64], _wanted: u64) -> bool {
        left_out()
    }

    /// How many of the numbers below `len` are prime.
    fn primes(_len: usize) -> usize {
        left_out()
    }

    /// The values by `key`, stably.
    fn sort(_values: &[u64]) -> Vec<u64> {
        left_out()
    }

    /// The first `LEAST` of these.
    fn least(_values: &[u64]) -> Vec<u64> {
        left_out()
    }

    /// What `consumed` makes of a hash for each number below `len`, in order.
    fn iterate(_len: usize) -> u64 {
        left_out()
    }

    /// A hash for each number below `len`, in order.
    fn hashes(_len: usize, _hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
        left_out()
    }
}

fn left_out<T>() -> T {
    unreachable!("a contender is asked only for what its arm names")
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 12] = [
    Arm::base("sequential", "sequential"),
    Arm::base("sequential again", "sequential"),
    Arm::contender("manyhands"),
    Arm::contender("manyhands-unordered").of(UNORDERED),
    Arm::contender("manyhands-loop").of(LOOP),
    Arm::contender("rayon").of(RAYON),
    Arm::contender("orx-parallel").of(ORX),
    Arm::contender("itertools").of(&["sort", "least"]),
    Arm::contender("std-cached-key").of(&["sort", "least"]),
    Arm::contender("dotnet-linq").of(LINQ),
    Arm::contender("dotnet-plinq").of(ORX),
    Arm::contender("dotnet-plinq-ordered").of(LINQ),
];

const UNORDERED: &[&str] = &[
    "map",
    "range",
    "slices",
    "ring",
    "filter",
    "sum",
    "min",
    "any",
    "primes",
    "hmac-sha512",
    "sha512",
    "sha256",
    "sha1",
    "md5",
];
/// All but the forms of a source.
const LINQ: &[&str] = &[
    "map",
    "filter",
    "sum",
    "min",
    "any",
    "primes",
    "sort",
    "least",
    "iterate",
    "hmac-sha512",
    "sha512",
    "sha256",
    "sha1",
    "md5",
];
const LOOP: &[&str] = &["map", "hmac-sha512", "sha512", "sha256", "sha1", "md5"];
const RAYON: &[&str] = &[
    "map",
    "range",
    "slices",
    "ring",
    "filter",
    "sum",
    "min",
    "any",
    "primes",
    "sort",
    "least",
    "hmac-sha512",
    "sha512",
    "sha256",
    "sha1",
    "md5",
];
const ORX: &[&str] = &[
    "map",
    "filter",
    "sum",
    "min",
    "any",
    "primes",
    "hmac-sha512",
    "sha512",
    "sha256",
    "sha1",
    "md5",
];

const COMPARISON: Comparison = Comparison {
    problem: "queries",
    title: "Queries",
    arms: &ARMS,
    rounds: 15,
};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    COMPARISON.run::<Chain>(settings, report)
}

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "sequential" => sized::serve::<Data<sequential::Sequential>>(),
        "manyhands" => sized::serve::<Data<manyhands::Ordered>>(),
        "manyhands-unordered" => sized::serve::<Data<manyhands::Unordered>>(),
        "manyhands-loop" => sized::serve::<Data<manyhands_loop::Loop>>(),
        "rayon" => sized::serve::<Data<rayon::Rayon>>(),
        "orx-parallel" => sized::serve::<Data<orx::Orx>>(),
        "std-cached-key" => sized::serve::<Data<cached_key::CachedKey>>(),
        "itertools" => sized::serve::<Data<itertools::Itertools>>(),
        _ => return false,
    }
    true
}
