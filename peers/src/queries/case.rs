//! Which queries and sizes are measured.

use std::fmt;

/// One of the chains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Chain {
    Map,
    Filter,
    Sum,
    Min,
    Any,
    Primes,
    Hashes,
}

/// A chain over so many items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) chain: Chain,
    pub(crate) len: usize,
}

impl Chain {
    pub(crate) const ALL: [Self; 7] = [
        Self::Map,
        Self::Filter,
        Self::Sum,
        Self::Min,
        Self::Any,
        Self::Primes,
        Self::Hashes,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Filter => "filter",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Any => "any",
            Self::Primes => "primes",
            Self::Hashes => "hashes",
        }
    }
}

impl Case {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (chain, len) = text.split_once(' ')?;
        Some(Self {
            chain: Chain::ALL.into_iter().find(|known| known.name() == chain)?,
            len: len.parse().ok()?,
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.chain.name(), self.len)
    }
}

/// All cases, by chain.
pub(crate) fn grid() -> impl Iterator<Item = Case> {
    let lens = |chain| LENS.map(|len| Case { chain, len });
    Chain::ALL.into_iter().flat_map(lens)
}

/// The sizes, by tens.
pub(crate) const LENS: [usize; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

#[cfg(test)]
mod tests {
    use super::{Case, grid};

    #[test]
    fn every_case_survives_its_name() {
        for case in grid() {
            assert_eq!(Case::parse(&case.to_string()), Some(case));
        }
    }
}
