//! Queries against their sequential twins: every operator, pairs of operators, panics, cancellation.
//!
//! A test whose name begins with `p` and a number holds the promise of that number.

mod controls;
mod drops;
mod edges;
mod keyed;
mod keyed_failures;
mod operators;
mod pairs;
mod stream;
mod support;
mod terminals;
