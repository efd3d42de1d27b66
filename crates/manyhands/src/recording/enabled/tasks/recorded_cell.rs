//! What a record knows of its task's cell: where it is.
//!
//! Not here: what is done with the cell there (`inspect/serve/wake_by_record.rs`).
//!
//! Unsafe: a pointer to it goes from thread to thread.

use std::ptr::NonNull;

/// The cell of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedCell(NonNull<()>);

// SAFETY: where a cell is, is known to any thread; what is done with it there is up to `wake_waiting`.
unsafe impl Send for RecordedCell {}

impl RecordedCell {
    /// For a record that leaves the table before this cell is freed.
    pub(crate) fn new(cell: NonNull<()>) -> Self {
        Self(cell)
    }

    /// Where it is.
    pub(crate) fn pointer(self) -> NonNull<()> {
        self.0
    }

    /// Which task this is for its handle and for `tracing`.
    pub(crate) fn id(self) -> usize {
        self.0.addr().get()
    }
}
