//! What a program prints, and in which form.
//!
//! Not here: colours, which only the program knows that prints some.

use super::Screen;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};

/// Options of every command that prints something.
///
/// # Examples
/// ```
/// use manyhands_lab::console::{Printing, Screen};
///
/// let printing = Printing { json: true, quiet: false };
/// printing.answer(&[1, 2], || "one and two\n".to_owned())?;
/// assert_eq!(printing.screen(Screen::Answer), Screen::Json);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct Printing {
    /// Print the answer as JSON and nothing else; messages go to standard error
    #[arg(long, global = true)]
    pub json: bool,

    /// Print the answer and nothing else: no progress, no remarks
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

impl Printing {
    /// Prints what was asked for: as a line of JSON, or as this text.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn answer(self, json: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            serde_json::to_writer(&mut out, json)?;
            writeln!(out)?;
        } else {
            write!(out, "{}", text())?;
        }
        out.flush()
    }

    /// Prints what nobody asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn remark(self, text: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        if self.json {
            return self.warn(text);
        }
        let mut out = io::stdout().lock();
        write!(out, "{text}")?;
        out.flush()
    }

    /// Says what matters beside the answer: where that stands alone, on standard error.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn warn(self, text: &str) -> io::Result<()> {
        if self.json || self.quiet {
            return write!(io::stderr().lock(), "{text}");
        }
        self.remark(text)
    }

    /// What is printed of a run, given what is printed of it for people.
    #[must_use]
    pub fn screen(self, for_people: Screen) -> Screen {
        if self.json { Screen::Json } else { for_people }
    }
}
