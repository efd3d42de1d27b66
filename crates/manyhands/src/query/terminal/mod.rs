//! What ends a query: one file for each family of results.

pub(crate) mod async_query;
pub(crate) mod collect;
pub(crate) mod find;
pub(crate) mod from_query;
pub(crate) mod iterate;
pub(crate) mod numbers;
pub(crate) mod prefetch;
mod reduce;
mod steps;
mod try_forms;
