//! Loops: what is recorded of one, and what is said of it when it has ended: numbers, a verdict, two sentences.

pub(crate) mod calls;
mod calls_verdict;
pub(crate) mod line;
mod numbers;
pub(crate) mod part;
pub(crate) mod report;
mod sentences;
pub(crate) mod verdict;
