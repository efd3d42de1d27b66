//! E4 to E6: what was asked with queries. Until there are queries here, `map` stands for them.

use super::loops::POST;
use crate::{
    Case, Experiment,
    workload::{
        hashes::{self, LOREM},
        primes, switching,
    },
};
use manyhands::parallel;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::hint::black_box;

/// Primes, filtered into a list.
pub(super) fn e4() -> Experiment {
    let case = Case::collected("primes")
        .full_sizes([1_000, 10_000, 100_000, 1_000_000])
        .quick_sizes([1_000, 10_000, 100_000])
        .unit("number")
        .finds_break_even()
        .arm("iter", primes::iter)
        .arm("map", primes::map)
        .arm("rayon", primes::rayon);
    Experiment::new(
        "E4",
        "Primes up to n by trial division, filtered into a list",
    )
    .source(POST)
    .claim(
        "Up to 10 000 the parallel query is about 50 % faster in .NET 8, and more than 50 % \
         slower in .NET Framework.",
    )
    .note("The arm 'map' marks in parallel and gathers the marked on the calling thread.")
    .case(case)
}

/// E2 with results collected instead of stored by index.
pub(super) fn e5() -> Experiment {
    Experiment::new(
        "E5",
        "Five hashes over copies of one 445-byte paragraph, results collected",
    )
    .source(POST)
    .claim("Queries are hardly slower than loops: neither sequential nor parallel ones.")
    .case(collecting("HMAC-SHA512", hashes::hmac_sha512))
    .case(collecting("SHA-512", hashes::sha512))
    .case(collecting("SHA-256", hashes::sha256))
    .case(collecting("SHA-1", hashes::sha1))
    .case(collecting("MD5", hashes::md5))
}

fn collecting<const SIZE: usize>(
    name: &'static str,
    hash: impl Fn(&[u8]) -> [u8; SIZE] + Copy + Send + Sync + 'static,
) -> Case<[u8; SIZE]> {
    let item = move |_| hash(black_box(LOREM));
    Case::collected(name)
        .full_sizes([100_000])
        .quick_sizes([10_000])
        .unit("hash")
        .arm("iter", move |n, hashes| {
            *hashes = (0..n).map(item).collect();
        })
        .arm("map", move |n, hashes| *hashes = parallel::map(0..n, item))
        .arm("rayon", move |n, hashes| {
            *hashes = (0..n).into_par_iter().map(item).collect();
        })
}

/// What a way through the pool costs.
pub(super) fn e6() -> Experiment {
    let case = Case::collected("switching")
        .full_sizes([10_000, 100_000, 1_000_000, 10_000_000])
        .quick_sizes([10_000, 100_000, 1_000_000])
        .arm("without switching", switching::without)
        .arm("switching", switching::with);
    Experiment::new(
        "E6",
        "Squares, with and without going parallel and back before",
    )
    .source(POST)
    .claim("What a switch costs could not be told; it may have been optimised away.")
    .note(
        "The post's AsParallel().AsSequential() has no operator here before there are \
             queries: a parallel map that changes nothing takes its place, so the vector in \
             between is part of the cost.",
    )
    .case(case)
}
