//! Queries against their sequential twins: every operator, panics, cancellation.
//!
//! Which of them hold the library's promises is in `docs/promises.md`.

mod adversary;
mod async_source;
mod controls;
mod drop_panics;
mod drops;
mod early_ends;
mod edges;
mod inner_ends;
mod keyed;
mod keyed_failures;
mod operators;
mod setting;
mod steps_of_while;
mod stream;
mod support;
mod terminals;
