//! One file per step; each has a `run`.

pub(crate) mod aarch64;
pub(crate) mod against;
pub(crate) mod clippy;
pub(crate) mod cluster_costs;
pub(crate) mod compat;
pub(crate) mod compile_time;
pub(crate) mod dependencies;
pub(crate) mod docs;
pub(crate) mod examples;
pub(crate) mod explore;
pub(crate) mod format;
pub(crate) mod inspect_costs;
pub(crate) mod inspect_pictures;
mod inspect_scene;
pub(crate) mod lab_results;
pub(crate) mod loom;
pub(crate) mod miri;
pub(crate) mod mpi;
pub(crate) mod package;
pub(crate) mod peers;
pub(crate) mod results;
pub(crate) mod sanitize;
pub(crate) mod soak;
pub(crate) mod surface;
pub(crate) mod test;
pub(crate) mod tour;
