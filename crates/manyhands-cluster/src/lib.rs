//! Loops that leave their process: the same program is driver and worker, and each item's result comes once, in order.
//!
//! A loop over a range becomes one that can run elsewhere when its closure is wrapped in [`remote!`]. Without configuration
//! it runs on the pool of this process and nothing is serialised; with `MANYHANDS_CLUSTER=local:4` in the environment
//! the same program starts four worker processes of itself; with the feature `nats` and an address there, it uses the workers
//! of a NATS server.
//!
//! ```
//! use manyhands_cluster::{ClusterError, remote};
//!
//! fn main() -> Result<(), ClusterError> {
//!     let cluster = manyhands_cluster::init()?; // the first line: in a worker process it does not return
//!
//!     let words = vec!["many".to_owned(), "hands".to_owned()];
//!     let lens = cluster.map(0..2, remote!([words: Vec<String>] |i| -> u64 {
//!         words[usize::try_from(i).unwrap()].len() as u64
//!     }))?;
//!     assert_eq!(lens, [4, 5]);
//!
//!     let sum = cluster.map_reduce(1..101, remote!([] |i| -> u64 { i }, |a, b| { a + b }))?;
//!     assert_eq!(sum, Some(5050));
//!     Ok(())
//! }
//! ```
//!
//! # A query
//! A query is wrapped whole: each chunk runs the ordinary chain over its part, and the results are merged, see [`Merge`].
//! ```
//! use manyhands::query::prelude::*;
//! use manyhands_cluster::{Cluster, Total, remote};
//! use std::{collections::BTreeMap, ops::Range};
//!
//! let cluster = Cluster::local();
//! let by_last_digit = cluster.query(0..1_000, remote!([] |part: Range<u64>| -> BTreeMap<u64, Total<u64>> {
//!     part.into_par_query().filter(|i| i % 3 == 0).count_by(|i| i % 10).to_vec().into_iter()
//!         .map(|(digit, count)| (digit, Total(count as u64))).collect()
//! }))?;
//! assert_eq!(by_last_digit[&0], Total(34));
//! # Ok::<(), manyhands_cluster::ClusterError>(())
//! ```
//!
//! # What a body must bear
//! A body may run more than once: a worker may die after it has run it, and a chunk that takes long is given to a second
//! worker. Its result is used once. So bodies should depend on their index and on what they captured only; a file that is
//! written should be written anew each time.
//!
//! Workers are given chunks that take about a second, at least 20 ms where there are enough items. A chunk runs on all
//! threads of its worker. A call is worth it for items that take milliseconds; for others use [`manyhands::parallel`].
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod broadcast;
mod build_id;
mod caught;
mod clock;
mod cluster;
mod driver;
mod engine;
mod error;
mod function;
mod merge;
mod options;
mod remote;
mod run;
mod spawned;
#[cfg(unix)]
pub mod transport;
mod wire;
mod worker;

pub use broadcast::Broadcast;
pub use cluster::{Cluster, init};
pub use engine::loopback::{Faults, Loopback};
pub use error::ClusterError;
pub use function::{Captured, Input, Value};
pub use merge::{Greatest, Least, Merge, Total};
pub use options::Options;
pub use remote::{Remote, RemoteReduce};
pub use spawned::Spawned;

/// What the macro needs; no interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::function::{Function, Prepared, prepare, prepare_combining, types_of};
    pub use crate::remote::Lent;
    pub use inventory;
}

/// Its code runs in the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// A page of the book with a program of this crate, which runs, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/machines.md")]
struct Machines;
