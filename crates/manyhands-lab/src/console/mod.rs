//! A run as its user sees it in a terminal: options, progress, tables, files, and how it ended.

mod needed;
mod options;
mod printing;
mod progress;
mod reports;
mod screen;
mod session;

pub use needed::needed;
pub use options::{Options, parse_budget};
pub use printing::Printing;
pub use reports::{Companion, alone, text, write};
pub use screen::{Screen, width};
pub use session::{Ending, INTERRUPTED, Job, Program, begin, launcher, resume};
