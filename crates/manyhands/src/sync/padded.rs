//! A value alone on its pair of cache lines.
//!
//! Not an optimisation of size: each value takes a pair of lines, so that two writers never share one.

use std::ops::Deref;

/// Aligns `T` to 128 bytes: processors fetch 64-byte lines in adjacent pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
