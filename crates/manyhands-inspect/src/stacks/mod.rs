//! What the threads of a program run: their stacks, function by function, and all of them merged.
//!
//! A program sends of each thread its registers and the addresses on its stack, as [`RawStacks`]; it knows no names.
//! [`Resolver`] follows the calls and finds the names, in the files that the program has loaded. It exists on Linux on x86-64
//! and aarch64.
//!
//! # Examples
//! ```
//! use manyhands_inspect::stacks::{Frame, FrameKind, Frames, Stacks, ThreadStack, merged_text};
//!
//! let frame = |function: &str| Frame {
//!     function: function.to_owned(),
//!     file: None,
//!     line: None,
//!     module: "office".to_owned(),
//!     inlined: false,
//!     kind: FrameKind::Program,
//! };
//! let thread = |worker, functions: [&str; 2]| ThreadStack {
//!     runtime: 1,
//!     worker: Some(worker),
//!     thread: 70,
//!     name: "office".to_owned(),
//!     state: "running".to_owned(),
//!     task_spawned_at: None,
//!     missing: None,
//!     frames: functions.map(frame).to_vec(), // the innermost first
//!     cut: false,
//! };
//! let threads = vec![thread(0, ["file", "work"]), thread(1, ["copy", "work"]), thread(2, ["file", "work"])];
//! let stacks = Stacks { threads };
//! let graph = stacks.graph(Frames::OfProgram);
//! let text = merged_text(&graph, "threads", |thread| stacks.threads[thread].label());
//! assert_eq!(text, "3 threads
//! 3 × worker 0, worker 1, worker 2
//!   work
//!     2 × worker 0, worker 2
//!       file
//!     1 × worker 1
//!       copy
//! ");
//! ```

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod elf;
mod folding;
pub(crate) mod graph;
mod locks;
#[cfg(all(feature = "page", unix))]
pub(crate) mod method_view;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod opening;
mod record;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod resolver;
mod task;
mod text;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod unwind;

pub use folding::FrameKind;
pub use graph::{Graph, Method, Place, Segment};
#[cfg(all(feature = "page", unix))]
pub(crate) use locks::LockWait;
pub use manyhands_wire::{Code, Mapping, Number, RawCopy, RawLeaf, RawStack, Registers};
pub use record::{RawPolledTask, RawStacks};
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub use resolver::Resolver;
pub use task::{LeafStack, PolledTask, polled_task_json, polled_task_text};
pub use text::{merged_text, stacks_json, stacks_text};

use serde::Serialize;

/// What the threads of a program run now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stacks {
    /// The threads that take part in a runtime, in the order of the runtimes and of their workers.
    pub threads: Vec<ThreadStack>,
}

/// What a thread runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadStack {
    /// The number of its runtime.
    pub runtime: u32,
    /// Its number among the workers; none for an external thread.
    pub worker: Option<usize>,
    /// The system's number of it.
    pub thread: i32,
    /// The system's name of it, of at most 15 bytes.
    pub name: String,
    /// `running`, `idle` or `blocked`.
    pub state: String,
    /// Where the task was spawned that it runs.
    pub task_spawned_at: Option<String>,
    /// Why there are no frames: `ended`, or `silent` if it did not answer in time.
    pub missing: Option<String>,
    /// The functions that it is in, the innermost first.
    pub frames: Vec<Frame>,
    /// There are more frames behind the last one, which could not be found.
    pub cut: bool,
}

/// A function that a thread is in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Frame {
    /// Its path; where no name is known, the address in its file.
    pub function: String,
    /// The source file of the call, or of the next instruction. Known if the program has tables of lines.
    pub file: Option<String>,
    /// The line in this file.
    pub line: Option<u32>,
    /// The name of the program's file, or of the library's, that the code comes from.
    pub module: String,
    /// The compiler has put it into the function that called it.
    pub inlined: bool,
    /// Whose code it is.
    pub kind: FrameKind,
}

/// Which frames are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Those of the program, and what each stack calls last.
    OfProgram,
    /// All of them.
    All,
}
