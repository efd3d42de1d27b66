//! What is said of a loop that has ended: numbers, a verdict, two sentences.

mod calls_verdict;
pub(crate) mod report;
mod sentences;
pub(crate) mod verdict;
