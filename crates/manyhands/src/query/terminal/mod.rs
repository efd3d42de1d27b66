//! What ends a query: one file for each family of results.

pub(crate) mod async_query;
pub(crate) mod collect;
mod equal;
mod extremes;
pub(crate) mod find;
mod for_each;
pub(crate) mod from_query;
pub(crate) mod iterate;
mod map_async;
pub(crate) mod numbers;
pub(crate) mod prefetch;
mod reduce;
mod split;
mod steps;
mod try_forms;
