//! One file per step, each with a `run`; those that are nothing but commands are together.

pub(crate) mod aarch64;
pub(crate) mod against;
pub(crate) mod commands;
pub(crate) mod compat;
pub(crate) mod dependencies;
pub(crate) mod examples;
pub(crate) mod explore;
pub(crate) mod inspect_costs;
pub(crate) mod inspect_pictures;
pub(crate) mod lab_results;
pub(crate) mod loom;
pub(crate) mod miri;
pub(crate) mod mpi;
pub(crate) mod package;
pub(crate) mod results;
pub(crate) mod sanitize;
mod scratch;
pub(crate) mod section;
pub(crate) mod soak;
pub(crate) mod surface;
pub(crate) mod test_programs;
