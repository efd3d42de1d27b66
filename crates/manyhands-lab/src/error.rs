//! What can go wrong in the laboratory.

use crate::{machine::PinError, record::FORMAT};
use std::{error::Error, fmt, io, path::PathBuf, time::Duration};

/// A measurement that must not be believed, or a file that could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// Two arms of one case stored different results: at least one of them is wrong.
    ChecksumMismatch {
        /// Experiment and case, as printed.
        case: String,
        /// Size at which it happened.
        n: usize,
        /// The arm all others are compared with.
        baseline: String,
        /// What the baseline stored.
        expected: u64,
        /// The arm that disagrees.
        arm: String,
        /// What that arm stored.
        found: u64,
    },
    /// A case needs a baseline and at least one arm to compare with it.
    TooFewArms {
        /// Experiment and case, as printed.
        case: String,
    },
    /// No experiment has this id.
    UnknownExperiment {
        /// The id asked for.
        id: String,
        /// Ids that are most like it.
        near: Vec<String>,
    },
    /// A file or folder could not be used.
    File {
        /// What was tried, as a verb: "write", "create".
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A sample of an arm cannot be made long enough for the clock.
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
    Stream(io::Error),
    /// This process cannot be restricted to some of its CPUs.
    Pin(PinError),
    /// A file of a run is damaged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A run was written by another version of the laboratory.
    UnknownFormat {
        /// The file that says so.
        path: PathBuf,
        /// The format it is in.
        found: u32,
    },
    /// A folder holds a run already.
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file that this program did not write has the name of one that it would write.
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// Another process is writing the run in this folder.
    FolderLocked {
        /// The folder.
        path: PathBuf,
    },
    /// A recorded run cannot go on with these experiments or settings.
    OtherRun {
        /// What differs.
        reason: String,
    },
    /// An observer ended the run; it knows why.
    Stopped,
    /// The interrupt signal cannot be caught.
    Signal(ctrlc::Error),
    /// A pool could not be made.
    Pool {
        /// Why.
        reason: String,
    },
    /// The machine should not measure now.
    Objection {
        /// Why, as a clause.
        reason: String,
    },
    /// Arguments make no sense.
    Arguments {
        /// Which, in one line.
        reason: String,
    },
    /// The terminal or pipe that reads what is printed is gone or broken.
    Output(io::Error),
    /// A chart could not be drawn.
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

#[expect(clippy::too_many_lines, reason = "one sentence for each kind of error")]
impl fmt::Display for LabError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChecksumMismatch {
                case,
                n,
                baseline,
                expected,
                arm,
                found,
            } => write!(
                formatter,
                "{case} at n = {n}: '{arm}' stored other results than '{baseline}' \
                 (checksum {found:016x}, expected {expected:016x}), so its time means nothing"
            ),
            Self::TooFewArms { case } => {
                write!(formatter, "{case} has fewer than two arms to compare")
            }
            Self::UnknownExperiment { id, near } => write!(
                formatter,
                "no experiment is called '{id}'; there is {}",
                near.join(", ")
            ),
            Self::File {
                operation,
                path,
                source,
            } => write!(
                formatter,
                "cannot {operation} '{}': {source}",
                path.display()
            ),
            Self::TooShort {
                case,
                n,
                arm,
                sample,
                needed,
            } => write!(
                formatter,
                "{case} at n = {n}: the clock is too coarse for '{arm}': a sample takes \
                 {sample:?}, and must take {needed:?}"
            ),
            Self::Stream(source) => {
                write!(
                    formatter,
                    "cannot talk to the process that started this one: {source}"
                )
            }
            Self::Pin(source) => write!(formatter, "cannot pin this process: {source}"),
            Self::Damaged { path, line, reason } => write!(
                formatter,
                "'{}' is damaged in line {line}: {reason}",
                path.display()
            ),
            Self::UnknownFormat { path, found } => write!(
                formatter,
                "'{}' has format {found}; this version reads format {FORMAT}",
                path.display()
            ),
            Self::FolderInUse { path } => write!(
                formatter,
                "'{}' holds a run already: go on with it (resume), replace it (--replace) or choose \
                 another folder (--out)",
                path.display()
            ),
            Self::ForeignFile { path } => write!(
                formatter,
                "'{}' was not written by this program, and is not replaced: choose another folder \
                 (--out) or move the file away",
                path.display()
            ),
            Self::FolderLocked { path } => write!(
                formatter,
                "another process is writing the run in '{}'",
                path.display()
            ),
            Self::OtherRun { reason } => write!(formatter, "the run cannot go on: {reason}"),
            Self::Signal(error) => write!(formatter, "cannot catch Ctrl-C: {error}"),
            Self::Pool { reason } => write!(formatter, "cannot make a pool: {reason}"),
            Self::Objection { reason } => {
                write!(formatter, "{reason}; '--force' measures nevertheless")
            }
            Self::Arguments { reason } => formatter.write_str(reason),
            Self::Output(error) => write!(formatter, "cannot write the output: {error}"),
            Self::Stopped => formatter.write_str("stopped before the end"),
            Self::Chart { reason } => write!(formatter, "cannot draw the chart: {reason}"),
        }
    }
}

impl Error for LabError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Stream(source) | Self::Output(source) => Some(source),
            Self::Pin(source) => Some(source),
            _ => None,
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
            baseline: "sequential".into(),
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
