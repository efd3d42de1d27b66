//! What `manyhands` asks of the operating system and of the processor, with an answer for each system that does not say.
//!
//! A port to another system is a port of this crate, one answer after the other: until a question has one, the library does
//! without. The README has the questions, what they are for, and which systems answer them. The types change with the
//! library.
//!
//! Not here: locks, atomics and threads (the library's `sync`, which models and explorations replace), and whatever follows
//! from an answer.
#![cfg_attr(
    any(unix, target_arch = "x86_64"),
    expect(unsafe_code, reason = "system calls; see each file's header")
)]
#![warn(missing_docs)]

#[cfg_attr(any(not(target_os = "linux"), miri, shuttle), path = "no_affinity.rs")]
mod affinity;
pub mod barrier;
pub mod clock;
mod files;
pub mod fork;
mod prefetch;
pub mod processor_load;
#[cfg(unix)]
pub mod socket;
pub mod stack_copy;
#[cfg_attr(
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    )),
    path = "no_stack_signal.rs"
)]
mod stack_signal;
pub mod thread_state;
mod usable_processors;
#[cfg(unix)]
pub mod user;

pub use affinity::{CpuSet, current_cpu};
pub use files::memory_map;
pub use prefetch::{prefetch_for_reading, prefetch_for_writing};
pub use usable_processors::usable_processors;
