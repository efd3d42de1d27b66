//! Runs with real processes: this test program is parent and child.
//!
//! A child is this program with the arguments that run the one test which serves.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod kills;
mod processes;
mod program;
