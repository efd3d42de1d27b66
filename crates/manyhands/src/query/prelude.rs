//! The traits that make queries of things.

pub use crate::query::source::{IntoParQuery, ParQuery, ParQueryMut, ParText};
