//! Which problems and sizes are measured.

use std::fmt;

/// What is done with the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Task {
    CountFew,
    CountMany,
    Join,
    Sort,
    SortStable,
}

/// A task over so many items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case {
    pub(crate) task: Task,
    pub(crate) len: usize,
}

impl Task {
    pub(crate) const ALL: [Self; 5] = [
        Self::CountFew,
        Self::CountMany,
        Self::Join,
        Self::Sort,
        Self::SortStable,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CountFew => "count-few",
            Self::CountMany => "count-many",
            Self::Join => "join",
            Self::Sort => "sort",
            Self::SortStable => "sort-stable",
        }
    }
}

impl Case {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (task, len) = text.split_once(' ')?;
        Some(Self {
            task: Task::ALL.into_iter().find(|known| known.name() == task)?,
            len: len.parse().ok()?,
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.task.name(), self.len)
    }
}

/// All cases, by task.
pub(crate) fn grid() -> impl Iterator<Item = Case> {
    let lens = |task| LENS.map(|len| Case { task, len });
    Task::ALL.into_iter().flat_map(lens)
}

pub(crate) const LENS: [usize; 5] = [100, 1_000, 10_000, 1_000_000, 10_000_000];

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
