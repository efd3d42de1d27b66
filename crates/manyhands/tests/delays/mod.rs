//! Delays for tests: threads that are stalled by signals at random instants, threads that burn processor time,
//! tasks that arrive from outside all the time, and fewer processors.
//!
//! None of it is anything a scheduler may not do by itself; here it happens often. Elsewhere than on Linux nothing
//! is stalled and the processors stay as they are.

pub(crate) mod arrivals;
pub(crate) mod hogs;
pub(crate) mod processors;
pub(crate) mod random;
pub(crate) mod stalls;
