//! The atomics of who sleeps and who searches. In `tests/models.rs` loom's are in their place.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
