//! What is printed of a run, where to, and how wide.

use crate::{LabError, report::Width};
use ::console::Term;
use std::io::{self, Write};

/// What is printed of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Screen {
    /// The tables of each experiment as soon as it is measured.
    #[default]
    Tables,
    /// The answer at the end, and no table: those are in the report.
    Answer,
    /// Nothing but the summary as JSON, at the end; messages for people go to standard error.
    Json,
    /// Nothing: whoever began the run prints what it has found.
    Nothing,
}

/// Prints a text to standard output.
pub(super) fn print(text: &str) -> Result<(), LabError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).map_err(LabError::Output)
}

/// The width of the terminal that standard output goes to; that of text without a terminal if it goes elsewhere.
///
/// # Examples
/// ```
/// use manyhands_lab::{console, report::Width};
/// let width = console::width();
/// assert!((Width::NARROWEST.columns()..=Width::WIDEST.columns()).contains(&width.columns()));
/// ```
#[must_use]
pub fn width() -> Width {
    let size = Term::stdout().size_checked();
    size.map_or_else(Width::default, |(_, columns)| Width::of(columns))
}
