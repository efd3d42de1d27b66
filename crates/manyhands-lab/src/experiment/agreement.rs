//! Whether all arms of a case give the same.

use crate::LabError;

/// The results of one case at one size, compared as they come.
#[derive(Debug)]
pub(crate) struct Agreement {
    /// Experiment and case, for people.
    pub(crate) case: String,
    /// Size.
    pub(crate) n: usize,
    baseline: String,
    expected: Option<u64>,
}

impl Agreement {
    /// No arm has been called yet; the first to be compared need not be the baseline.
    pub(crate) fn new(case: String, n: usize, baseline: String) -> Self {
        Self {
            case,
            n,
            baseline,
            expected: None,
        }
    }

    /// Compares the checksum of an arm's results with the first one that there was.
    pub(crate) fn check(&mut self, arm: &str, found: u64) -> Result<(), LabError> {
        let expected = *self.expected.get_or_insert(found);
        if found == expected {
            return Ok(());
        }
        Err(LabError::ChecksumMismatch {
            case: self.case.clone(),
            n: self.n,
            baseline: self.baseline.clone(),
            expected,
            arm: arm.to_owned(),
            found,
        })
    }

    /// The checksum that all have, zero before the first.
    pub(crate) fn checksum(&self) -> u64 {
        self.expected.unwrap_or_default()
    }
}
