//! What a thread had in its registers and on its stack at one moment.
//!
//! Not here: how the copy is made (`stack_signal.rs`), and what the addresses in it mean.

pub use crate::stack_signal::{copy_of, copy_of_own, note_own_stack, prepare};

/// A copy of a thread's registers and stack.
#[derive(Debug, Clone)]
pub struct StackCopy {
    /// Those with which an unwinder begins.
    pub registers: Registers,
    /// The words of its stack, from the one at the stack pointer upwards. None if the stack pointer was not in the stack
    /// that the thread was started with.
    pub words: Vec<u64>,
    /// There are more words above.
    pub is_cut: bool,
}

/// The registers with which an unwinder begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer.
    pub frame: u64,
    /// Where a function returns that has called none, on processors that keep this in a register; else 0.
    pub link: u64,
}

/// Why there is no copy of a thread's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCopied {
    /// The thread has ended.
    Ended,
    /// It did not answer in time: it blocks the signal, or did not get a processor.
    Silent,
}

/// Why no thread can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCopies {
    /// The program handles the signal itself.
    SignalInUse,
    /// The system has no such signals, or does not let the program handle them.
    Unsupported,
}
