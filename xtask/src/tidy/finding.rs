//! One breach of a rule: where, and what to do about it.

use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line_number: Option<usize>,
    message: String,
}

impl Finding {
    /// About a file as a whole.
    pub(crate) fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line_number: None,
            message: message.into(),
        }
    }

    /// About one line, counted from 1.
    pub(crate) fn on_line(path: &str, line_number: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line_number: Some(line_number),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line_number) = self.line_number {
            write!(f, ":{line_number}")?;
        }
        write!(f, ": {}", self.message)
    }
}
