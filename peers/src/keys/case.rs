//! Which problems and sizes are measured.

use crate::sized;

/// What is done with the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Task {
    CountFew,
    CountMany,
    Join,
    Sort,
    SortStable,
}

impl sized::Task for Task {
    const ALL: &'static [Self] = &[
        Self::CountFew,
        Self::CountMany,
        Self::Join,
        Self::Sort,
        Self::SortStable,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::CountFew => "count-few",
            Self::CountMany => "count-many",
            Self::Join => "join",
            Self::Sort => "sort",
            Self::SortStable => "sort-stable",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::CountFew => "Count by one of a thousand keys",
            Self::CountMany => "Count by one of a million keys",
            Self::Join => "Join with a tenth as many rows",
            Self::Sort => "Sort",
            Self::SortStable => "Stable sort",
        }
    }

    fn lens(self) -> &'static [usize] {
        &[100, 1_000, 10_000, 1_000_000, 10_000_000]
    }
}
