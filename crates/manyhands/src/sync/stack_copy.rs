//! What a thread had in its registers and on its stack at one moment.
//!
//! Not here: how the copy is made (`stack_signal.rs`), and what the addresses in it mean.

#![cfg_attr(
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    )),
    expect(
        dead_code,
        reason = "where no thread can be asked, there is no copy and one reason"
    )
)]

pub(crate) use crate::sync::stack_signal::{copy_of, copy_of_own, note_own_stack, prepare};

/// A copy of a thread's registers and stack.
#[derive(Debug, Clone)]
pub(crate) struct StackCopy {
    pub(crate) registers: Registers,
    /// The words of its stack, from the one at the stack pointer upwards. None if the stack pointer was not in the stack
    /// that the thread was started with.
    pub(crate) words: Vec<u64>,
    /// There are more words above.
    pub(crate) is_cut: bool,
}

/// The registers with which an unwinder begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The next instruction.
    pub(crate) instruction: u64,
    pub(crate) stack: u64,
    pub(crate) frame: u64,
    /// Where a function returns that has called none, on processors that keep this in a register; else 0.
    pub(crate) link: u64,
}

/// Why there is no copy of a thread's stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotCopied {
    /// The thread has ended.
    Ended,
    /// It did not answer in time: it blocks the signal, or did not get a processor.
    Silent,
}

/// Why no thread can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCopies {
    /// The program handles the signal itself.
    SignalInUse,
    /// The system has no such signals, or does not let the program handle them.
    Unsupported,
}
