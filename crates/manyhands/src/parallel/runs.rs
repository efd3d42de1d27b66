//! Runs: the items that one runner makes, divided into sequences of adjacent blocks.
//!
//! A runner numbers its items from 0 on, and records where its runs begin. The runs of all runners, sorted by
//! position, contain all items in order.
//!
//! Not here: what the items are, and how they are merged (`ordered_collect.rs`, `query/hash/`).

use std::ops::Range;

/// Where a run begins.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RunStart<P> {
    /// The position in the source.
    pub(crate) position: P,
    /// The number of the runner's first item of the run.
    pub(crate) number: usize,
}

/// The runs of one runner. Most runners have one, which needs no allocation. They begin with one at the first of all positions.
#[derive(Debug, Default)]
pub(crate) struct Runs<P> {
    pub(crate) last: RunStart<P>,
    /// None of these is empty.
    earlier: Vec<RunStart<P>>,
}

impl<P: Copy> Runs<P> {
    /// The items from `number` on belong to another run. An empty run is dropped.
    pub(crate) fn begin(&mut self, position: P, number: usize) {
        if self.last.number < number {
            self.earlier.push(self.last);
        }
        self.last = RunStart { position, number };
    }

    /// Where the runs begin, in the order of their numbers.
    pub(crate) fn starts(&self) -> impl Iterator<Item = RunStart<P>> {
        self.earlier.iter().copied().chain([self.last])
    }

    /// Each run's position and numbers; `len` is how many there are in all.
    pub(crate) fn ranges(&self, len: usize) -> impl Iterator<Item = (P, Range<usize>)> {
        let ends = self.starts().skip(1).map(|start| start.number);
        let starts = self.starts().zip(ends.chain([len]));
        starts.map(|(start, end)| (start.position, start.number..end))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Runs;

    fn check(begun: &[(u64, usize)], len: usize, expected: &[(u64, usize, usize)]) {
        let mut runs = Runs::default();
        for &(position, number) in begun {
            runs.begin(position, number);
        }
        let listed =
            |(position, range): (u64, std::ops::Range<usize>)| (position, range.start, range.end);
        assert_eq!(runs.ranges(len).map(listed).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn runs_without_items_are_dropped_except_the_last() {
        check(&[], 0, &[(0, 0, 0)]);
        check(&[], 3, &[(0, 0, 3)]);
        check(&[(7, 0)], 3, &[(7, 0, 3)]);
        check(&[(7, 2), (3, 2), (9, 2)], 3, &[(0, 0, 2), (9, 2, 3)]);
        check(&[(7, 2), (3, 5)], 5, &[(0, 0, 2), (7, 2, 5), (3, 5, 5)]);
    }
}
