//! What the table knows of a task's cell: where it is, and how a future in it is woken.
//!
//! Not here: what is done with the cell there (`inspect/serve/wake_by_record.rs`).
//!
//! Unsafe: a pointer to it goes from thread to thread.

use crate::recording::enabled::tasks::work_type::Waking;
use std::ptr::NonNull;

/// The cell of a task, for a record that leaves the table before the cell is freed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedCell {
    pub(crate) at: NonNull<()>,
    pub(crate) waking: Option<&'static Waking>,
}

// SAFETY: where a cell is, is known to any thread; what is done with it there is up to `wake_waiting`.
unsafe impl Send for RecordedCell {}
