//! Why blocks do not decide a comparison.

use super::{CLEARANCE, Judge, Verdict};
use crate::stats::{Estimate, correlation_time};

/// Why a comparison is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// There are too few undisturbed blocks for any verdict.
    FewBlocks {
        /// Undisturbed blocks.
        blocks: usize,
        /// Blocks without which no verdict is possible.
        needed: usize,
    },
    /// Some blocks say faster and some slower.
    Split {
        /// Blocks of the larger camp.
        agree: usize,
        /// Undisturbed blocks.
        blocks: usize,
    },
    /// Enough blocks agree, but neighbours are so alike that they tell as much as fewer.
    Alike {
        /// Undisturbed blocks.
        blocks: usize,
        /// As many independent ones would tell as much; at least one.
        worth: usize,
    },
    /// The blocks agree on a side, and their interval reaches what is no difference.
    Interval,
    /// The blocks agree on a side, and two equal arms differed by as much in the same blocks.
    Floor,
}

impl Judge {
    /// Why there is no verdict; `None` if there is one. The arguments are those of
    /// [`verdict`](Self::verdict); without undisturbed blocks there is no speed-up.
    ///
    /// Example: see [`verdict`](Self::verdict).
    #[must_use]
    pub fn doubt(
        &self,
        ratios: &[f64],
        speed_up: Option<Estimate>,
        floor: Option<Estimate>,
    ) -> Option<Doubt> {
        let (blocks, needed) = (ratios.len(), self.blocks_min() as usize);
        let few = Doubt::FewBlocks { blocks, needed };
        let Some(speed_up) = speed_up.filter(|_| blocks >= needed) else {
            return Some(few);
        };
        if self.verdict(ratios, speed_up, floor) != Verdict::Undecided {
            return None;
        }
        Some(match self.signs(ratios) {
            Verdict::Undecided if self.signs_if(1.0, CLEARANCE, ratios) != Verdict::Undecided => {
                let worth = blocks as f64 / correlation_time(ratios);
                let worth = (1..blocks).rfind(|whole| *whole as f64 <= worth);
                Doubt::Alike {
                    blocks,
                    worth: worth.unwrap_or(1),
                }
            }
            Verdict::Undecided => {
                let faster = ratios.iter().filter(|ratio| **ratio > 1.0).count();
                Doubt::Split {
                    agree: faster.max(blocks - faster),
                    blocks,
                }
            }
            _ if self.verdict(ratios, speed_up, None) == Verdict::Undecided => Doubt::Interval,
            _ => Doubt::Floor,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::tests::JUDGE;

    fn estimate(low: f64, high: f64) -> Estimate {
        Estimate::new(f64::midpoint(low, high), low, high)
    }

    #[test]
    fn each_missing_condition_of_a_verdict_is_named() {
        fn check(ratios: &[f64], ends: (f64, f64), floor: Option<(f64, f64)>, expected: Doubt) {
            let floor = floor.map(|(low, high)| estimate(low, high));
            let found = JUDGE.doubt(ratios, Some(estimate(ends.0, ends.1)), floor);
            assert_eq!(found, Some(expected), "{ratios:?} in {ends:?}");
        }
        let few = |blocks| Doubt::FewBlocks { blocks, needed: 7 };
        check(&[1.5; 3], (1.4, 1.6), None, few(3));
        let mixed = [vec![1.2; 5], vec![0.9; 8]].concat();
        let (agree, blocks) = (8, 13);
        check(&mixed, (0.9, 1.2), None, Doubt::Split { agree, blocks });
        // 30 of 36 would do, if they did not come in rows.
        let in_a_row = [vec![1.2; 18], vec![0.9; 6], vec![1.1; 12]].concat();
        let (blocks, worth) = (36, 3);
        check(&in_a_row, (1.0, 1.2), None, Doubt::Alike { blocks, worth });
        check(&[1.1; 20], (1.001, 1.2), None, Doubt::Interval);
        check(&[1.1; 20], (1.05, 1.15), Some((0.9, 1.06)), Doubt::Floor);
        assert_eq!(JUDGE.doubt(&[], None, None), Some(few(0)));
    }

    #[test]
    fn there_is_a_doubt_just_where_there_is_no_verdict() {
        for ratio in [0.5, 0.95, 0.985, 1.0, 1.015, 1.05, 2.0] {
            for half in [0.001, 0.02, 0.2] {
                for blocks in [0, 6, 7, 40] {
                    let ratios = vec![ratio; blocks];
                    let speed_up = estimate(ratio - half, ratio + half);
                    let verdict = JUDGE.verdict(&ratios, speed_up, None);
                    let doubt = JUDGE.doubt(&ratios, Some(speed_up), None);
                    assert_eq!(doubt.is_some(), verdict == Verdict::Undecided);
                }
            }
        }
    }
}
