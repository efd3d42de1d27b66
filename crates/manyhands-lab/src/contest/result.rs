//! What one case of a contest gave, arm by arm.

use super::{Arm, MIN_ROUNDS, Ratio, Sample};
use crate::stats;

/// What one arm did in one case.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// One sample per round.
    Measured(Vec<Sample>),
    /// It lost work, disagreed with the base or died; one line for people.
    Failed(String),
    /// The contender does not exist here; why.
    Absent(String),
}

/// One case of all its arms, in their order; the first is the base.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// The case, in the words of its requests.
    pub case: String,
    /// The arms that take part in the case.
    pub arms: Vec<(Arm, Verdict)>,
}

impl CaseResult {
    /// What the arm with this label did; `None` if it does not take part.
    #[must_use]
    pub fn verdict(&self, label: &str) -> Option<&Verdict> {
        let mut arms = self.arms.iter();
        arms.find(|(arm, _)| arm.label == label)
            .map(|(_, verdict)| verdict)
    }

    /// The values at `index` of the arm's samples, one per round.
    #[must_use]
    pub fn values(&self, label: &str, index: usize) -> Option<Vec<f64>> {
        let Verdict::Measured(samples) = self.verdict(label)? else {
            return None;
        };
        let values = samples.iter().map(|sample| sample.values.get(index));
        values.map(Option::<&f64>::copied).collect()
    }

    /// The median of the arm's values at `index`.
    #[must_use]
    pub fn median(&self, label: &str, index: usize) -> Option<f64> {
        stats::median(&self.values(label, index)?)
    }

    /// What `combine` makes of the values at `index` of two arms, round by round.
    #[must_use]
    pub fn paired(
        &self,
        ours: &str,
        theirs: &str,
        index: usize,
        combine: impl Fn(f64, f64) -> f64,
    ) -> Option<Vec<f64>> {
        let (ours, theirs) = (self.values(ours, index)?, self.values(theirs, index)?);
        let pairs = ours.iter().zip(&theirs);
        Some(
            pairs
                .map(|(&ours, &theirs)| combine(ours, theirs))
                .collect(),
        )
    }

    /// The ratio of one arm's values at `index` to another's.
    #[must_use]
    pub fn ratio(&self, ours: &str, theirs: &str, index: usize) -> Option<Ratio> {
        let ratios = self.paired(ours, theirs, index, |ours, theirs| ours / theirs)?;
        Ratio::of(&ratios)
    }

    /// Whether its rounds are too few for intervals.
    #[must_use]
    pub fn is_quick_look(&self) -> bool {
        let rounds = |verdict: &Verdict| match verdict {
            Verdict::Measured(samples) => samples.len(),
            Verdict::Failed(_) | Verdict::Absent(_) => 0,
        };
        let most = self.arms.iter().map(|(_, verdict)| rounds(verdict)).max();
        most.unwrap_or(0) < MIN_ROUNDS
    }

    /// Marks every arm whose checksum is not the base's as failed.
    pub(super) fn compare_checksums(&mut self) {
        let Some((_, Verdict::Measured(samples))) = self.arms.first() else {
            return;
        };
        let Some(expected) = samples.first().map(|sample| sample.checksum) else {
            return;
        };
        for (_, verdict) in &mut self.arms {
            let Verdict::Measured(samples) = verdict else {
                continue;
            };
            if let Some(other) = samples.iter().find(|sample| sample.checksum != expected) {
                let message = format!("checksum {:x}, expected {expected:x}", other.checksum);
                *verdict = Verdict::Failed(message);
            }
        }
    }
}

/// A case in which the arm of each label measured these values, one per round.
#[cfg(test)]
pub(super) fn measured(case: &str, arms: &[(&'static str, &[f64])]) -> CaseResult {
    let sample = |&value: &f64| Sample {
        checksum: 1,
        values: vec![value],
    };
    let arm = |&(label, values): &(&'static str, &[f64])| {
        let samples = values.iter().map(sample).collect();
        (Arm::contender(label), Verdict::Measured(samples))
    };
    CaseResult {
        case: case.to_owned(),
        arms: arms.iter().map(arm).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_paired_within_the_round() {
        let result = measured(
            "c",
            &[("base", &[1.0, 20.0, 2.0]), ("ours", &[2.0, 40.0, 6.0])],
        );
        assert_eq!(result.ratio("ours", "base", 0).unwrap().median, 2.0);
        assert_eq!(result.median("ours", 0), Some(6.0));
        assert_eq!(result.ratio("ours", "base", 1), None);
        assert_eq!(result.ratio("ours", "nobody", 0), None);
    }

    #[test]
    fn six_rounds_are_a_quick_look_and_seven_are_none() {
        assert!(measured("c", &[("base", &[1.0; 6])]).is_quick_look());
        assert!(!measured("c", &[("base", &[1.0; 7])]).is_quick_look());
    }

    #[test]
    fn another_checksum_than_the_base_s_is_a_failure_in_whichever_round() {
        let mut result = measured("c", &[("base", &[1.0; 2]), ("ours", &[1.0; 2])]);
        result.compare_checksums();
        assert!(result.values("ours", 0).is_some());
        if let Verdict::Measured(samples) = &mut result.arms[1].1 {
            samples[1].checksum = 0xa0;
        }
        result.compare_checksums();
        let failed = Verdict::Failed("checksum a0, expected 1".to_owned());
        assert_eq!(result.verdict("ours"), Some(&failed));
        assert!(result.values("base", 0).is_some());
    }
}
