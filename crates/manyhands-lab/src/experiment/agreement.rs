//! Whether all arms of a case give the same.

use crate::LabError;

/// The results of one case at one size, compared as they come.
#[derive(Debug)]
pub(crate) struct Agreement {
    /// Experiment and case, for people.
    pub(crate) case: String,
    /// Size.
    pub(crate) n: usize,
    /// The arm that was compared first, and its checksum.
    first: Option<(String, u64)>,
}

impl Agreement {
    /// No arm has been called yet; the first to be compared need not be the baseline.
    pub(crate) fn new(case: String, n: usize) -> Self {
        let first = None;
        Self { case, n, first }
    }

    /// Compares the checksum of an arm's results with the first one that there was.
    pub(crate) fn check(&mut self, arm: &str, found: u64) -> Result<(), LabError> {
        let first = self.first.get_or_insert_with(|| (arm.to_owned(), found));
        if found == first.1 {
            return Ok(());
        }
        Err(LabError::ChecksumMismatch {
            case: self.case.clone(),
            n: self.n,
            first: first.0.clone(),
            expected: first.1,
            arm: arm.to_owned(),
            found,
        })
    }

    /// The checksum that all have, zero before the first.
    pub(crate) fn checksum(&self) -> u64 {
        self.first.as_ref().map_or(0, |(_, checksum)| *checksum)
    }
}
