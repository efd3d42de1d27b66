//! Programs of [manyhands-cluster](manyhands_cluster) under `mpirun`: rank 0 is the driver, the other ranks are its workers.
//!
//! ```no_run
//! use manyhands_cluster::{ClusterError, remote};
//!
//! fn main() -> Result<(), ClusterError> {
//!     let cluster = manyhands_mpi::init()?; // the first line: at a worker it does not return
//!     let squares = cluster.map(0..1_000, remote!([] |i| -> u64 { i * i }))?;
//!     assert_eq!(squares[30], 900);
//!     Ok(())
//! }
//! ```
//!
//! ```sh
//! MANYHANDS_CLUSTER=mpi mpirun -n 5 ./program
//! ```
//!
//! # What is not promised
//! Calls give what they give with the other engines, errors and panics too, with one difference: **the program ends when one
//! of its ranks does**. MPI ends all of them then, and `mpirun` fails. So a body that kills its process ends everything,
//! where another engine would replace the worker. Ranks cannot come later either. A worker that only stops is worked
//! around, until the program is to end: that waits for it for half a minute, and then ends all ranks by force.
#![forbid(unsafe_code)]

mod exchange;
mod ranks;

use manyhands_cluster::{Cluster, ClusterError};
use std::env;

/// Begins, as [`manyhands_cluster::init`] does, which it calls unless the variable `MANYHANDS_CLUSTER` is `mpi`. Then rank 0
/// has a cluster whose workers are the other ranks, and in those this works for it and does not return.
///
/// It calls MPI's initialisation in a thread of its own, which is the only one that speaks MPI, so the program must not do so
/// itself. Dropping the last clone of the cluster ends MPI: a program that ends in another way, as by
/// [`exit`](std::process::exit), is a failure to `mpirun`.
///
/// It blocks until all ranks are there. A worker's threads are its part of the processors that `mpirun` lets it use, where
/// the ranks on a host are supposed to share the same ones.
///
/// # Errors
/// [`ClusterError::Configuration`] if there is no other rank; [`ClusterError::Start`] if MPI was begun already, or allows no
/// threads beside the one that speaks to it; and what [`manyhands_cluster::init`] returns. A worker says its errors on the
/// standard error, and ends.
///
/// Example: see [the crate](crate).
pub fn init() -> Result<Cluster, ClusterError> {
    let asked = env::var_os("MANYHANDS_CLUSTER").unwrap_or_default();
    if asked.to_string_lossy().trim() == "mpi" {
        ranks::join()
    } else {
        manyhands_cluster::init()
    }
}

/// Its code is checked as documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
