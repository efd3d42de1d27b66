//! Which problems and sizes are measured.

use crate::sized;

/// What is done with the keys, and how they are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Task {
    CountFew,
    CountMany,
    /// As `CountMany`, of keys from the whole range.
    CountSpread,
    Join,
    /// As `Join`, with keys from the whole range.
    JoinSpread,
    /// As `Join`, with keys in groups of 64 that follow one another, far from the next group.
    JoinClustered,
    Sort(Order),
    SortStable(Order),
}

/// How numbers lie before they are sorted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    Random,
    Sorted,
    Reversed,
    /// A hundred ascending runs, one behind the other.
    Runs,
    /// Eight different numbers.
    Few,
}

impl sized::Task for Task {
    const ALL: &'static [Self] = &[
        Self::CountFew,
        Self::CountMany,
        Self::CountSpread,
        Self::Join,
        Self::JoinSpread,
        Self::JoinClustered,
        Self::Sort(Order::Random),
        Self::Sort(Order::Sorted),
        Self::Sort(Order::Reversed),
        Self::Sort(Order::Runs),
        Self::Sort(Order::Few),
        Self::SortStable(Order::Random),
        Self::SortStable(Order::Sorted),
        Self::SortStable(Order::Reversed),
        Self::SortStable(Order::Runs),
        Self::SortStable(Order::Few),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::CountFew => "count-few",
            Self::CountMany => "count-many",
            Self::CountSpread => "count-spread",
            Self::Join => "join",
            Self::JoinSpread => "join-spread",
            Self::JoinClustered => "join-clustered",
            Self::Sort(Order::Random) => "sort",
            Self::Sort(Order::Sorted) => "sort-sorted",
            Self::Sort(Order::Reversed) => "sort-reversed",
            Self::Sort(Order::Runs) => "sort-runs",
            Self::Sort(Order::Few) => "sort-few",
            Self::SortStable(Order::Random) => "sort-stable",
            Self::SortStable(Order::Sorted) => "sort-stable-sorted",
            Self::SortStable(Order::Reversed) => "sort-stable-reversed",
            Self::SortStable(Order::Runs) => "sort-stable-runs",
            Self::SortStable(Order::Few) => "sort-stable-few",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::CountFew => "Count by one of a thousand keys",
            Self::CountMany => "Count by one of a million keys",
            Self::CountSpread => "Count by one of a million keys, spread over the whole range",
            Self::Join => "Join with a tenth as many rows",
            Self::JoinSpread => "Join with a tenth as many rows, keys spread over the whole range",
            Self::JoinClustered => "Join with a tenth as many rows, keys in groups of 64",
            Self::Sort(Order::Random) => "Sort",
            Self::Sort(Order::Sorted) => "Sort what is sorted",
            Self::Sort(Order::Reversed) => "Sort what is in descending order",
            Self::Sort(Order::Runs) => "Sort a hundred ascending runs",
            Self::Sort(Order::Few) => "Sort eight different numbers",
            Self::SortStable(Order::Random) => "Stable sort",
            Self::SortStable(Order::Sorted) => "Stable sort of what is sorted",
            Self::SortStable(Order::Reversed) => "Stable sort of what is in descending order",
            Self::SortStable(Order::Runs) => "Stable sort of a hundred ascending runs",
            Self::SortStable(Order::Few) => "Stable sort of eight different numbers",
        }
    }

    /// What is drawn in another way than usual has fewer sizes, those that `--short` has too.
    fn lens(self) -> &'static [usize] {
        match self {
            Self::CountFew
            | Self::CountMany
            | Self::Join
            | Self::Sort(Order::Random)
            | Self::SortStable(Order::Random) => &[100, 1_000, 10_000, 1_000_000, 10_000_000],
            _ => &[10_000, 1_000_000],
        }
    }
}
