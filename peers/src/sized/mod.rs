//! Problems that are tasks over inputs of several sizes, each one call: queries and keys.
//!
//! A problem says what its tasks are ([`Task`]) and how a contender works on them ([`Data`]); the grid, the
//! child's answers and the tables are here.

mod case;
mod compare;
mod stage;
mod table;

pub(crate) use case::{Case, Task};
pub(crate) use compare::Comparison;
pub(crate) use stage::{Data, Stopwatch, in_order, serve};
