//! One breach of a rule: where, and what to do about it.

use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding(String);

impl Finding {
    /// About a file as a whole.
    pub(crate) fn in_file(path: &str, message: impl fmt::Display) -> Self {
        Self(format!("{path}: {message}"))
    }

    /// About one line, counted from 1.
    pub(crate) fn on_line(path: &str, line_number: usize, message: impl fmt::Display) -> Self {
        Self(format!("{path}:{line_number}: {message}"))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
