//! Which tasks and sizes are measured.

use std::fmt;

/// What is done with an input.
pub(crate) trait Task: Copy + fmt::Debug + PartialEq + 'static {
    const ALL: &'static [Self];

    /// One word.
    fn name(self) -> &'static str;

    /// What stands above its table.
    fn title(self) -> &'static str;

    /// The sizes of its inputs.
    fn lens(self) -> &'static [usize];
}

/// A task over this many items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Case<T> {
    pub(crate) task: T,
    pub(crate) len: usize,
}

impl<T: Task> Case<T> {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, len) = text.split_once(' ')?;
        Some(Self {
            task: *T::ALL.iter().find(|task| task.name() == name)?,
            len: len.parse().ok()?,
        })
    }

    /// All cases, by task.
    pub(super) fn grid() -> impl Iterator<Item = Self> {
        let cases = |&task: &T| task.lens().iter().map(move |&len| Self { task, len });
        T::ALL.iter().flat_map(cases)
    }
}

impl<T: Task> fmt::Display for Case<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.task.name(), self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Task};
    use crate::{keys, queries};

    fn check<T: Task>() {
        for case in Case::<T>::grid() {
            assert_eq!(Case::parse(&case.to_string()), Some(case));
        }
    }

    #[test]
    fn every_case_survives_its_name() {
        check::<queries::Chain>();
        check::<keys::Task>();
    }
}
