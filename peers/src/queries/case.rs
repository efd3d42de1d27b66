//! Which queries and sizes are measured.

use crate::queries::hash::Hash;
use crate::sized;

/// One of the chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Chain {
    Map,
    Range,
    Slices,
    Ring,
    Filter,
    Sum,
    Min,
    Any,
    Primes,
    Sort,
    Least,
    Iterate,
    Hashes(Hash),
}

impl sized::Task for Chain {
    const ALL: &'static [Self] = &[
        Self::Map,
        Self::Range,
        Self::Slices,
        Self::Ring,
        Self::Filter,
        Self::Sum,
        Self::Min,
        Self::Any,
        Self::Primes,
        Self::Sort,
        Self::Least,
        Self::Iterate,
        Self::Hashes(Hash::HmacSha512),
        Self::Hashes(Hash::Sha512),
        Self::Hashes(Hash::Sha256),
        Self::Hashes(Hash::Sha1),
        Self::Hashes(Hash::Md5),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Range => "range",
            Self::Slices => "slices",
            Self::Ring => "ring",
            Self::Filter => "filter",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Any => "any",
            Self::Primes => "primes",
            Self::Sort => "sort",
            Self::Least => "least",
            Self::Iterate => "iterate",
            Self::Hashes(hash) => hash.name(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Map => "Map and collect",
            Self::Range => "A range, tripled and collected",
            Self::Slices => "Two slices, one after the other, collected",
            Self::Ring => "A queue, summed",
            Self::Filter => "Filter and collect",
            Self::Sum => "Filter, map and sum",
            Self::Min => "Map and minimum",
            Self::Any => "Any, found at the end",
            Self::Primes => "Primes below n",
            Self::Sort => "Order by a cheap key, collected",
            Self::Least => "Order by a cheap key, the first 100",
            Self::Iterate => "A hash of each, iterated by a caller that does as much",
            Self::Hashes(hash) => hash.title(),
        }
    }

    fn lens(self) -> &'static [usize] {
        match self {
            Self::Hashes(_) | Self::Iterate => &LENS[..6],
            _ => &LENS,
        }
    }
}

/// By tens.
const LENS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
