//! Delays for tests: threads that are stalled by signals at random instants, threads that use processor time, tasks
//! that arrive from outside continuously, and fewer processors.
//!
//! A scheduler may do all of this by itself; here it happens often. On systems other than Linux nothing is stalled and
//! the processors stay as they are.

pub(crate) mod arrivals;
pub(crate) mod hogs;
pub(crate) mod processors;
pub(crate) mod random;
pub(crate) mod stalls;
