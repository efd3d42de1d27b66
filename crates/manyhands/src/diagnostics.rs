//! Why a program waits, and why a loop was no faster.
//!
//! Without any feature a runtime reports on itself: [`Metrics`] are its counters, [`Stall`] says which thread waits for what when
//! a pool at its limit cannot go on, [`ThreadChange`] why a thread was added or ended, [`LongJob`] what occupies a worker.
//!
//! With the feature `inspect` you can look at a running program: its tasks, what each of them waits for and where, its loops,
//! channels and workers. [`explain_last`] says what kept the last loop from being faster.
//!
//! With the feature `inspect-unstable` the recording can also be read as values, in [`inspect`](crate::inspect). These types may
//! change in any release.
//!
//! # Recording
//! Nothing is recorded until the program calls one of these:
//!
//! - [`open`] begins to record.
//! - [`serve`] also listens on a socket for `manyhands inspect`.
//! - [`start_watchdog`] also reports deadlocks and starved runtimes on standard error.
//!
//! The environment variable `MANYHANDS_INSPECT` does all three if it is neither empty nor `0` when the first runtime is made,
//! and with the value `control` it calls `allow_control` as well. Recording does not end before the program does.
//!
//! Futures and closures with a handle are recorded as tasks, and so are futures of scopes, and threads outside of any task
//! while they wait for one, for a scope of futures, at a channel, or in a `block_on`. Closures of
//! [`run_detached`](crate::task::run_detached) and of a scope, halves of a join and blocks of loops are not tasks. A task
//! that was spawned before recording was opened appears when it next runs.
//!
//! # What a task waits for
//! The waits of this library record themselves: tasks, groups of them, channels, completions, timers and
//! cancellations, each with the line of the program that waits. A wait for anything else, such as a socket of tokio, is
//! not recorded. A task that has more wakers than recorded waits is said to wait for something
//! outside this library, with the frame in which that is, if the program has named it.
//!
//! [`framed`] names a part of a task. A task shows the frames that it went through when it was last polled, and each wait
//! shows its frame.
//!
//! A task that has several waits goes on when the first of them ends. So a deadlock is a set of tasks each of
//! which waits only for tasks of the set, for scopes with one of them, or for groups of them; see [`Snapshot::deadlocks`](crate::inspect::Snapshot::deadlocks).
//!
//! # Starvation
//! A runtime is starved if tasks are queued, all its workers are blocked or have been at the same work for long, and no
//! thread can be added; see [`Snapshot::starvations`](crate::inspect::Snapshot::starvations).
//!
//! # Loops
//! [`Snapshot::loops`](crate::inspect::Snapshot::loops) are the parallel loops and queries that run. [`explain_last`] says what kept the
//! last one of a thread from being faster, and [`loop_reports`](crate::inspect::loop_reports) does so for the last one of each line that
//! calls loops.
//!
//! # Stacks
//! `manyhands inspect --stacks` shows what the threads of all runtimes run now, function by function, on Linux on x86-64 and
//! aarch64. `SIGURG` interrupts each thread, which copies its registers and up to 64 KiB of its stack, and goes on; the
//! program sends addresses, and the command follows them. The handler is installed when stacks are first asked for. If the
//! program handles the signal itself, its handler stays, and there are no stacks. A system call that is never restarted, such as
//! `nanosleep`, returns `EINTR` in a thread that is asked; the standard library calls it again.
//!
//! A task that waits has no stack. Where the program allows it, `manyhands inspect --poll` has one task polled once more, and the
//! thread that does so copies its stack at each place where the task is about to wait again.
//!
//! # Cost
//! Without the feature nothing. With it, eight bytes for each task, and one load and a branch where a task is spawned,
//! runs, waits and is woken, and where a loop begins. While recording is open, each of these takes a short lock and reads
//! the tick counter, a task takes some hundred bytes more, and each runner of a loop asks the system twice for its processor
//! time. A thread that first takes part in a runtime asks the system for the place of its stack; one whose stack is asked
//! for is interrupted for some microseconds.
//!
//! # Security
//! A snapshot shows names, types and source paths. Stacks show addresses of functions, and so also where the system has
//! put them. The socket is in a folder that only its user may enter, and the program refuses a
//! connection unless it comes from that user or from root. The protocol only reads, unless the program has called
//! `allow_control` or was started with `MANYHANDS_INSPECT=control`: then a waiting task can be polled on request.
//!
//! # Examples
//! A task that waits for ever is listed with how often it was polled. Nothing that it waits for is recorded:
//! ```
//! # #[cfg(feature = "inspect-unstable")] {
//! use manyhands::{inspect, task};
//! use std::time::{Duration, Instant};
//!
//! manyhands::diagnostics::open();
//! let task = task::Builder::new().name("clerk").spawn(std::future::pending::<()>());
//! let deadline = Instant::now() + Duration::from_secs(30);
//! let clerk = loop {
//!     let tasks = inspect::snapshot().tasks.into_iter();
//!     let clerk = tasks.into_iter().find(|task| task.name.as_deref() == Some("clerk"));
//!     match clerk {
//!         Some(clerk) if clerk.state == "waiting" => break clerk,
//!         _ => assert!(Instant::now() < deadline),
//!     }
//! };
//! assert_eq!((clerk.polls, clerk.waits.len()), (1, 0));
//! assert_eq!(clerk.spawned_at, Some(task.location().to_string()));
//! task.abort();
//! # assert!(task.join().is_err());
//! # }
//! ```

pub use crate::runtime::{
    LongJob, Metrics, Stall, StalledThread, ThreadChange, ThreadChangeReason, Wait,
};
pub use crate::task::framed::framed;

#[cfg(all(feature = "inspect", unix))]
#[cfg_attr(docsrs, doc(cfg(feature = "inspect")))]
pub use crate::inspect::serve::server::{allow_control, serve, serve_at};

#[cfg(feature = "inspect")]
#[cfg_attr(docsrs, doc(cfg(feature = "inspect")))]
pub use crate::{inspect::watchdog::start_watchdog, recording::enabled::opening::open};

/// What the last loop of the calling thread did, and what kept it from being faster: two sentences. `None` before the first
/// loop, and for those that ended before [`open`].
///
/// Loops and queries are recorded, `invoke`, and async loops. A query may be several loops, of which this is the last. A
/// loop inside another one is the last until the outer one ends. An async loop is one of the thread that polls it last: ask in
/// the next line after its `await`.
///
/// # Cost
/// A copy of the report. A loop takes a short lock for each runner, and one for its report, while recording is open.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{diagnostics, parallel};
/// diagnostics::open();
/// let alone = parallel::Options::new().degree_of_parallelism(1)?;
/// alone.for_each(0..1_000_u64, |i| drop(std::hint::black_box(i)));
/// let why = diagnostics::explain_last().unwrap();
/// assert!(why.ends_with("alone. No more than one runner was allowed."));
/// # }
/// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
/// ```
#[doc(alias = "profile")]
#[cfg(feature = "inspect")]
#[cfg_attr(docsrs, doc(cfg(feature = "inspect")))]
#[must_use]
pub fn explain_last() -> Option<String> {
    crate::inspect::last_loop().map(|report| report.to_string())
}
