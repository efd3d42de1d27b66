//! The ranges of our loops, without threads: the rule of the library's engine, for the simulation.

/// Items left, by runner.
#[derive(Debug)]
pub(super) struct Ranges(Vec<usize>);

impl Ranges {
    /// Everything is in the first runner's range.
    pub(super) fn new(runners: usize, items: usize) -> Self {
        let mut left = vec![0; runners];
        left[0] = items;
        Self(left)
    }

    /// Claims a block from `runner`'s range, filled from the longest other if it is empty.
    pub(super) fn claim(&mut self, runner: usize, max: usize) -> Option<usize> {
        if self.0[runner] == 0 {
            let longest = self.0.iter_mut().max()?;
            let back_half = longest.div_ceil(2);
            *longest -= back_half;
            self.0[runner] = back_half;
        }
        let own = &mut self.0[runner];
        let claimed = max.max(1).min(own.div_ceil(LEAVE_BEHIND));
        *own -= claimed;
        (claimed > 0).then_some(claimed)
    }
}

/// A claim takes at most one part in this many.
const LEAVE_BEHIND: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thief_takes_the_back_half_and_a_quarter_of_that_at_most() {
        let mut ranges = Ranges::new(3, 100);
        assert_eq!(ranges.claim(1, usize::MAX), Some(13));
        assert_eq!(ranges.0, [50, 37, 0]);
        assert_eq!(ranges.claim(2, 5), Some(5));
        assert_eq!(ranges.0, [25, 37, 20]);
    }

    #[test]
    fn a_single_item_is_taken_whole() {
        let mut ranges = Ranges::new(2, 1);
        assert_eq!(ranges.claim(1, 1), Some(1));
        assert_eq!(ranges.claim(0, 1), None);
    }
}
