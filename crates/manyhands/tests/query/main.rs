//! Queries against their sequential twins: every operator, panics, cancellation.
//!
//! A test whose name begins with `p` and a number holds the promise of that number.

mod adversary;
mod controls;
mod drops;
mod early_ends;
mod edges;
mod inner_ends;
mod keyed;
mod keyed_failures;
mod operators;
mod setting;
mod stream;
mod support;
mod terminals;
