//! How many blocks a point gets.

use crate::{record::Scale, verdict::StopRule};
use std::time::Duration;

/// Blocks of one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quota {
    /// Whatever they say: whole rounds of all launches, so that each has its share.
    pub(super) min: usize,
    /// Clean ones with which there are enough; whole rounds at the first look.
    pub(super) rule: StopRule,
    /// Clean ones with which there are enough for a size of a search, which asks for more where it needs them: near a
    /// crossing nothing is decided.
    pub(super) in_search: StopRule,
    /// Time in which blocks beyond the fewest must end.
    pub(super) patience: Duration,
}

impl Quota {
    pub(super) fn of(scale: Scale, launches: u32) -> Self {
        let round = TURN_BLOCKS * launches.max(1) as usize;
        let min = BLOCKS_MIN.next_multiple_of(round);
        let (wanted, seconds) = match scale {
            Scale::Quick => (20, 5),
            Scale::Standard => (30, 120),
            Scale::Full => (60, 1_200),
        };
        let wanted = min.max(wanted).next_multiple_of(round);
        let rule = match scale {
            Scale::Quick => StopRule {
                at_least: min,
                at_most: wanted,
            },
            Scale::Standard | Scale::Full => StopRule::doubling(wanted),
        };
        Self {
            min,
            rule,
            in_search: StopRule {
                at_most: wanted,
                ..rule
            },
            patience: Duration::from_secs(seconds),
        }
    }
}

/// Blocks a process takes before the next one has its turn: an order and its mirror image.
pub(super) const TURN_BLOCKS: usize = 2;
/// Seven unanimous blocks decide at a probability of error of 5 %; two may be disturbed. A size of a
/// search needs some more, and goes on while it is undecided.
const BLOCKS_MIN: usize = 9;
/// A noisy machine may cost this many blocks for each clean one that is wanted.
pub(super) const BLOCKS_PER_CLEAN_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launch_has_an_equal_share_of_the_fewest_blocks() {
        fn check(launches: u32, min: usize) {
            assert_eq!(Quota::of(Scale::Quick, launches).min, min, "{launches}");
        }
        check(0, 10);
        check(1, 10);
        check(3, 12);
        check(5, 10);
        check(7, 14);
        assert_eq!(Quota::of(Scale::Quick, 20).rule.at_least, 40);
        assert_eq!(Quota::of(Scale::Quick, 3).rule.at_most, 24);
        assert_eq!(Quota::of(Scale::Standard, 6).rule.at_least, 36);
    }
}
