//! In place of `stack_signal.rs` on systems and processors where no thread can be asked for a copy of its stack.

use crate::stack_copy::{NoCopies, NotCopied, StackCopy};

/// Nothing to note.
pub fn note_own_stack() {}

/// Says that no thread can be asked.
///
/// # Errors
/// Always.
pub fn prepare() -> Result<(), NoCopies> {
    Err(NoCopies::Unsupported)
}

/// Not called, because nothing was prepared.
///
/// # Errors
/// Always.
pub fn copy_of_own() -> Result<StackCopy, NotCopied> {
    Err(NotCopied::Silent)
}

/// Not called, because nothing was prepared.
///
/// # Errors
/// Always.
pub fn copy_of(_thread: i32) -> Result<StackCopy, NotCopied> {
    Err(NotCopied::Silent)
}
