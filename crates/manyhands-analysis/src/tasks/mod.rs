//! Tasks as values: what is recorded of one, a copy of that, and what follows from it alone.

pub(crate) mod frames;
pub(crate) mod number;
pub(crate) mod outside;
pub(crate) mod record;
pub(crate) mod seen;
pub(crate) mod state;
pub(crate) mod wait_kind;
pub(crate) mod waits;
