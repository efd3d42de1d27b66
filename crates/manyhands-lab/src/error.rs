//! What can go wrong in the laboratory.

use std::{error::Error, fmt, io, path::PathBuf};

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
    /// An observer ended the run; it knows why.
    Stopped,
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

    /// Wraps whatever a drawing library reports.
    pub(crate) fn chart(reason: impl fmt::Display) -> Self {
        Self::Chart {
            reason: reason.to_string(),
        }
    }
}

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
            Self::UnknownExperiment { id } => write!(formatter, "no experiment is called '{id}'"),
            Self::File {
                operation,
                path,
                source,
            } => write!(
                formatter,
                "cannot {operation} '{}': {source}",
                path.display()
            ),
            Self::Stopped => formatter.write_str("stopped before the end"),
            Self::Chart { reason } => write!(formatter, "cannot draw the chart: {reason}"),
        }
    }
}

impl Error for LabError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
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
