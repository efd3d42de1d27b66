//! Tasks as values.

pub(in crate::inspect) mod outside;
pub(in crate::inspect) mod rows;
pub(crate) mod snapshot;
pub(crate) mod take;
