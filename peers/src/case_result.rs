//! What came out of one case, arm by arm.

use crate::protocol::Sample;
use crate::team::Arm;

/// What one arm did in one case.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// One sample per round.
    Measured(Vec<Sample>),
    Failed(String),
    Absent(String),
}

/// One case of all arms, in their order.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) case: String,
    pub(crate) arms: Vec<(Arm, Verdict)>,
}

impl CaseResult {
    /// The values at `index` of the arm with this label, one per round.
    pub(crate) fn values(&self, label: &str, index: usize) -> Option<Vec<f64>> {
        match self.verdict(label)? {
            Verdict::Measured(samples) => samples
                .iter()
                .map(|sample| sample.values.get(index).copied())
                .collect(),
            Verdict::Failed(_) | Verdict::Absent(_) => None,
        }
    }

    pub(crate) fn verdict(&self, label: &str) -> Option<&Verdict> {
        self.arms
            .iter()
            .find(|(arm, _)| arm.label == label)
            .map(|(_, verdict)| verdict)
    }

    /// Arm and message of every failure.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.arms.iter().filter_map(|(arm, verdict)| match verdict {
            Verdict::Failed(message) => Some((arm.label, message.as_str())),
            Verdict::Measured(_) | Verdict::Absent(_) => None,
        })
    }

    /// Marks every arm whose checksum is not the base's.
    pub(crate) fn compare_checksums(&mut self) {
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
