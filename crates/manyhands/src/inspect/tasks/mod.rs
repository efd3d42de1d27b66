//! Tasks as values.

pub(in crate::inspect) mod outside;
pub(crate) mod snapshot;
pub(crate) mod take;
