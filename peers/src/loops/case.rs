//! The grid: which bodies, sizes and pool states are measured.

use std::fmt;

/// What an item does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Body {
    Sha,
    Saxpy,
    Skewed,
    Sum,
    Atomic,
}

/// What the pool is doing when a call begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Hot,
    Parked,
    Busy,
}

/// One point of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) body: Body,
    pub(crate) len: usize,
    pub(crate) state: State,
}

impl Body {
    pub(crate) const ALL: [Self; 5] = [
        Self::Sha,
        Self::Saxpy,
        Self::Skewed,
        Self::Sum,
        Self::Atomic,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sha => "sha",
            Self::Saxpy => "saxpy",
            Self::Skewed => "skewed",
            Self::Sum => "sum",
            Self::Atomic => "atomic",
        }
    }

    /// The biggest size whose call stays well below 2.5 s in the slowest contender.
    pub(crate) fn len_max(self) -> usize {
        match self {
            Self::Sha => 1_000_000,
            Self::Skewed => 100_000,
            Self::Saxpy | Self::Sum | Self::Atomic => 10_000_000,
        }
    }

    /// The items that are about 15 µs of work (5 µs for slices).
    pub(crate) fn grain(self) -> usize {
        match self {
            Self::Sha | Self::Skewed => 64,
            Self::Atomic => 2_048,
            Self::Saxpy | Self::Sum => 16_384,
        }
    }
}

impl State {
    pub(crate) const ALL: [Self; 3] = [Self::Hot, Self::Parked, Self::Busy];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Parked => "parked",
            Self::Busy => "busy",
        }
    }
}

impl Case {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (body, len, state) = (words.next()?, words.next()?, words.next()?);
        Some(Self {
            body: Body::ALL.into_iter().find(|known| known.name() == body)?,
            len: len.parse().ok()?,
            state: State::ALL.into_iter().find(|known| known.name() == state)?,
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {} {}",
            self.body.name(),
            self.len,
            self.state.name()
        )
    }
}

/// The sizes of one body, by tens.
pub(crate) fn lens(body: Body) -> impl Iterator<Item = usize> {
    (0..)
        .map(|power| 10_usize.pow(power))
        .take_while(move |&len| len <= body.len_max())
}

/// The whole grid, the states of one size next to each other so that its data is made once.
pub(crate) fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    for body in Body::ALL {
        for len in lens(body) {
            cases.extend(State::ALL.map(|state| Case { body, len, state }));
        }
    }
    cases
}

/// The comparison with OpenMP: loops of 10 µs to 1 ms, back to back.
pub(crate) fn openmp_cases() -> Vec<Case> {
    OPENMP_LENS
        .map(|len| Case {
            body: Body::Sha,
            len,
            state: State::Hot,
        })
        .to_vec()
}

/// SHA-512 of 11 bytes takes about 230 ns: 10 µs, 23 µs, 100 µs, 230 µs and 1 ms.
pub(crate) const OPENMP_LENS: [usize; 5] = [43, 100, 435, 1_000, 4_350];

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
