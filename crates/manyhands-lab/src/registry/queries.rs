//! E4 to E6: what was asked with queries.

use super::loops::POST;
use crate::{
    Case, Experiment,
    record::{ClaimTest, Range},
    workload::{
        hashes::{self, LOREM},
        primes, switching,
    },
};
use manyhands::{parallel, query::prelude::*};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::hint::black_box;

/// Primes, filtered into a list.
pub(super) fn e4() -> Experiment {
    let case = Case::collected("primes")
        .full_sizes([1_000, 10_000, 100_000, 1_000_000])
        .quick_sizes([1_000, 10_000, 100_000])
        .unit("number")
        .finds_break_even()
        .in_any_order()
        .arm("iter", primes::iter)
        .arm("query, ordered", primes::query_ordered)
        .arm("query, unordered", primes::query_unordered)
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
    .decided_by(
        "up to 10,000 a query without order is half again as fast or more, as in .NET 8",
        ClaimTest::speed_up_to("query, unordered", "iter", 10_000, Range::from(1.5)),
    )
    .decided_by(
        "up to 10,000 it does not take half as long again or longer, as it does in .NET Framework",
        ClaimTest::speed_up_to("query, unordered", "iter", 10_000, Range::from(2.0 / 3.0)),
    )
    .note(ORDER)
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
    .decided_by(
        "a parallel query is at most a tenth slower than a loop that collects",
        ClaimTest::speed_up("query, unordered", "map", 0, Range::from(0.9)),
    )
    .decided_by(
        "a sequential query is at most a tenth slower than a loop that collects",
        ClaimTest::speed_up("iter", "loop", 0, Range::from(0.9)),
    )
    .note(
        "The arms 'loop' and 'map' are loops that collect, a sequential and a parallel one: beside them \
         the cost of a query shows.",
    )
    .note(ORDER)
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
        .in_any_order()
        .arm("iter", move |n, hashes| {
            *hashes = (0..n).map(item).collect();
        })
        .arm("query, ordered", move |n, hashes| {
            *hashes = (0..n).into_par_query().map(item).to_vec();
        })
        .arm("query, unordered", move |n, hashes| {
            *hashes = (0..n).into_par_query().unordered().map(item).to_vec();
        })
        .arm("loop", move |n, hashes| {
            let mut collected = Vec::new();
            for index in 0..n {
                collected.push(item(index));
            }
            *hashes = collected;
        })
        .arm("map", move |n, hashes| *hashes = parallel::map(0..n, item))
        .arm("rayon", move |n, hashes| {
            *hashes = (0..n).into_par_iter().map(item).collect();
        })
}

/// What it costs to switch between parallel and sequential.
pub(super) fn e6() -> Experiment {
    let case = |name| {
        Case::collected(name)
            .full_sizes([10_000, 100_000, 1_000_000, 10_000_000])
            .quick_sizes([10_000, 100_000, 1_000_000])
            .unit("number")
    };
    let before = case("switching")
        .arm("without switching", switching::without)
        .arm("switching", switching::with);
    let mid_chain = case("switching in mid-chain")
        .in_any_order()
        .arm("no switch", switching::chain_without)
        .arm("ordered", switching::chain_ordered)
        .arm("unordered", switching::chain_unordered);
    Experiment::new(
        "E6",
        "Squares, by queries that switch between parallel and sequential",
    )
    .source(POST)
    .claim("What a switch costs could not be found out; it may have been optimised away.")
    .decided_by(
        "a switch changes less than a tenth",
        ClaimTest::speed_up("switching", "without switching", 0, Range::of(0.9, 1.1)),
    )
    .note(
        "The first case is the post's benchmark: its query has nothing to do in parallel before it \
         switches. The second, a filter, a map and a filter, is the post's example of switching, which it \
         did not measure: without switching all three run in parallel, with it the map in the middle \
         runs on one thread at a time.",
    )
    .note(
        "Here a switch to sequential has the workers fill a vector of bounded size, again and again, and a \
         switch to parallel moves items under a lock, a chunk at a time.",
    )
    .case(before)
    .case(mid_chain)
}

/// What stands under which name.
pub(super) const ORDER: &str = "A query keeps its order here unless that is given up; in .NET it is the \
    other way round. The published figures of plain parallel queries stand beside 'query, unordered'.";
