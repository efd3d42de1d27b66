//! What can go wrong in the laboratory.

use crate::{machine::PinError, record::FORMAT};
use std::{fmt, io, path::PathBuf, time::Duration};

/// A measurement that must not be believed, or a file that could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Two arms of one case stored different results: at least one of them is wrong.
    #[error(
        "{case} at n = {n}: '{arm}' stored other results than '{first}' (checksum {found:016x}, expected \
         {expected:016x}), so its time means nothing"
    )]
    ChecksumMismatch {
        /// Experiment and case, as printed.
        case: String,
        /// Size at which it happened.
        n: usize,
        /// The arm that was called first, which all others are compared with.
        first: String,
        /// What it stored.
        expected: u64,
        /// The arm that disagrees.
        arm: String,
        /// What that arm stored.
        found: u64,
    },
    /// A case needs a baseline and at least one arm to compare with it.
    #[error("{case} has fewer than two arms to compare")]
    TooFewArms {
        /// Experiment and case, as printed.
        case: String,
    },
    /// No experiment has this id.
    #[error("no experiment is called '{id}'; there is {}", near.join(", "))]
    UnknownExperiment {
        /// The id asked for.
        id: String,
        /// Ids that are most like it.
        near: Vec<String>,
    },
    /// A file or folder could not be used.
    #[error("cannot {operation} '{}': {source}", path.display())]
    File {
        /// What was tried, as a verb: "write", "create".
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A sample of an arm cannot be made long enough for the clock.
    #[error(
        "{case} at n = {n}: the clock is too coarse for '{arm}': a sample takes {sample:?}, and must take {needed:?}"
    )]
    TooShort {
        /// Experiment and case, as printed.
        case: String,
        /// Size at which it happened.
        n: usize,
        /// The arm.
        arm: String,
        /// The longest sample that could be had.
        sample: Duration,
        /// How long it had to be.
        needed: Duration,
    },
    /// A process that measures cannot hear or answer the one that started it.
    #[error("cannot talk to the process that started this one: {0}")]
    Stream(#[source] io::Error),
    /// This process cannot be restricted to some of its CPUs.
    #[error("cannot pin this process: {0}")]
    Pin(#[source] PinError),
    /// A file of a run is damaged.
    #[error("'{}' is damaged in line {line}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A run was written by another version of the laboratory.
    #[error("'{}' has format {found}; this version reads format {}", path.display(), FORMAT)]
    UnknownFormat {
        /// The file that says so.
        path: PathBuf,
        /// The format it is in.
        found: u32,
    },
    /// A folder holds a run already.
    #[error(
        "'{}' holds a run already: go on with it (resume), replace it (--replace) or choose another folder (--out)",
        path.display()
    )]
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file that this program did not write has the name of one that it would write.
    #[error(
        "'{}' was not written by this program, and is not replaced: choose another folder (--out) or move the file \
         away",
        path.display()
    )]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// Another process is writing the run in this folder.
    #[error("another process is writing the run in '{}'", path.display())]
    FolderLocked {
        /// The folder.
        path: PathBuf,
    },
    /// A recorded run cannot go on with these experiments or settings.
    #[error("the run cannot go on: {reason}")]
    OtherRun {
        /// What differs.
        reason: String,
    },
    /// An observer ended the run; it knows why.
    #[error("stopped before the end")]
    Stopped,
    /// The interrupt signal cannot be caught.
    #[error("cannot catch Ctrl-C: {0}")]
    Signal(ctrlc::Error),
    /// A pool could not be made.
    #[error("cannot make a pool: {reason}")]
    Pool {
        /// Why.
        reason: String,
    },
    /// The machine should not measure now.
    #[error("{reason}; '--force' measures nevertheless")]
    Objection {
        /// Why, as a clause.
        reason: String,
    },
    /// Arguments make no sense.
    #[error("{reason}")]
    Arguments {
        /// Which, in one line.
        reason: String,
    },
    /// The terminal or pipe that reads what is printed is gone or broken.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// A chart could not be drawn.
    #[error("cannot draw the chart: {reason}")]
    Chart {
        /// What the drawing library said.
        reason: String,
    },
}

impl LabError {
    /// Wraps a failed file operation; meant for `map_err`.
    pub(crate) fn file(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            operation,
            path,
            source,
        }
    }

    /// Wraps why a pool could not be made.
    pub(crate) fn pool(reason: impl fmt::Display) -> Self {
        Self::Pool {
            reason: reason.to_string(),
        }
    }

    /// Wraps whatever a drawing library reports.
    pub(crate) fn chart(reason: impl fmt::Display) -> Self {
        Self::Chart {
            reason: reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_mismatch_names_case_size_and_both_arms() {
        let text = LabError::ChecksumMismatch {
            case: "E3 SHA-512".into(),
            n: 10,
            first: "sequential".into(),
            expected: 1,
            arm: "for_each".into(),
            found: 2,
        }
        .to_string();
        for part in ["E3 SHA-512", "n = 10", "'sequential'", "'for_each'"] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert!(!text.contains('\n'));
    }
}
