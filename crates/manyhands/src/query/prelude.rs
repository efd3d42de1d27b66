//! The traits that make queries of things, and the parallel methods of slices and texts.

pub use crate::query::source::{IntoParQuery, ParQuery, ParQueryMut, ParSlice, ParText};
