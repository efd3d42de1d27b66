//! The page of results of the comparison programs: builds them as they are to be measured and has them renew
//! the sections of the problems that are named.
//!
//! Not here: what is measured, and how a section is replaced (`peers`).

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace::PEERS_MANIFEST;

/// Measures; `words` are problems and options, as for `peers results`.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let measure = Invocation::cargo("run --locked --release --manifest-path")
        .arg(PEERS_MANIFEST)
        .arg("--")
        .arg("results");
    words.iter().fold(measure, Invocation::arg).run()
}
