//! Tasks as values.

pub(crate) mod number;
