//! What a running program does now: its tasks, what each of them waits for and where, its loops, and its workers. Only
//! with the feature `inspect`.
//!
//! Nothing is recorded until it is asked for: by [`open`], by [`serve`], which also listens on a socket for
//! `manyhands inspect`, by [`watch`], which reports deadlocks and starved runtimes on standard error, or by the
//! environment variable `MANYHANDS_INSPECT`: if that is neither empty nor `0` when the first runtime is made, the program does all three, and if
//! it is `control`, also what `allow_control` does.
//! What has been opened stays open.
//!
//! Tasks are futures and closures with a handle, and futures of scopes; also threads that are no task's, as long as
//! they wait for one. Closures of [`run_detached`](crate::task::run_detached) and of a scope, halves of a join and
//! blocks of loops are not tasks. A task that was spawned before recording was opened appears when it next runs.
//!
//! # What a task waits for
//! The waits of this library record themselves: tasks, groups of them, channels, completions, timers and
//! cancellations, each with the line of the program that waits. A wait for anything else, such as a socket of tokio, is
//! not recorded. A task that has more wakers than recorded waits is said to wait for something
//! [outside this library](WaitKind::Outside), with the frame in which that is, if the program has named it.
//!
//! [`task::framed`](crate::task::framed) names a part of a task. A task shows the frames in which it waits, and each wait
//! in which of them it is: those that the task went through when it was last polled.
//!
//! A task that can be woken by any of several waits goes on with the first. So a deadlock is a set of tasks each of
//! which waits only for tasks of the set, for scopes with one of them, or for groups of them; see [`Snapshot::deadlocks`].
//!
//! # Starvation
//! A runtime whose workers are all blocked, or at the same work for long, while tasks are queued and no thread can be added,
//! is starved; see [`Snapshot::starvations`].
//!
//! # Loops
//! [`Snapshot::loops`] are the parallel loops and queries that run. How the last one of a thread ran and what kept it from
//! being faster is said by [`explain_last`](crate::parallel::explain_last), and of the last one of each place that calls loops
//! by `loop_reports`. Async loops are listed only.
//!
//! # Stacks
//! What the threads of all runtimes run now, function by function, is shown by `manyhands inspect --stacks`, on Linux on
//! x86-64 and aarch64. Each thread is interrupted by `SIGURG`, copies its registers and up to 64 KiB of its stack, and goes on;
//! addresses are sent and followed elsewhere. The signal is handled from the first time on that stacks are asked for. If the
//! program handles it itself, its handler stays, and there are no stacks. A system call that is never restarted, such as
//! `nanosleep`, returns `EINTR` in a thread that is asked; the standard library calls it again.
//!
//! A task that waits has no stack. Where the program allows it, `manyhands inspect --poll` has one task polled once more, and the
//! thread that does so copies its stack at each place where the task is about to wait again.
//!
//! # Freezing
//! Where the program allows it, who looks at it on the page of `manyhands inspect --control` can freeze a future that this
//! library polls: it is not polled until it is thawed, which is at the latest when the command ends. What waits for it waits. A
//! cancelled task is dropped all the same.
//!
//! # Cost
//! Without the feature nothing. With it, eight bytes for each task, and one load and a branch where a task is spawned,
//! runs, waits and is woken, and where a loop begins. While recording is open, each of these takes a short lock and reads
//! the tick counter, a task that waits takes 64 bytes more, and each runner of a loop asks the system twice for its processor
//! time. A thread that first takes part in a runtime asks the system for the place of its stack; one whose stack is asked
//! for is interrupted for some microseconds.
//!
//! # Security
//! A snapshot shows names, types and source paths, and stacks show addresses: of functions, and so also where the system has
//! put them. The socket is in a folder that only its user may enter, and each
//! connection is refused unless it comes from that user or from root. The protocol only reads, unless the program has called
//! `allow_control` or was started with `MANYHANDS_INSPECT=control`: then a waiting task can be polled, and a task frozen, on request.
//!
//! # Examples
//! A task that waits for ever is listed with how often it was polled; it waits for nothing:
//! ```
//! # #[cfg(feature = "inspect")] {
//! use manyhands::{inspect, task};
//! use std::time::{Duration, Instant};
//!
//! inspect::open();
//! let task = task::Builder::new().name("clerk").spawn(std::future::pending::<()>());
//! let deadline = Instant::now() + Duration::from_secs(30);
//! let clerk = loop {
//!     let tasks = inspect::snapshot().tasks.into_iter();
//!     let clerk = tasks.into_iter().find(|task| task.name.as_deref() == Some("clerk"));
//!     match clerk {
//!         Some(clerk) if clerk.state == inspect::TaskState::Waiting => break clerk,
//!         _ => assert!(Instant::now() < deadline),
//!     }
//! };
//! assert_eq!((clerk.polls, clerk.waits.len()), (1, 0));
//! assert_eq!(clerk.spawned_at, Some(task.location()));
//! task.cancel();
//! # assert!(task.join().is_err());
//! # }
//! ```

#[cfg_attr(
    not(all(feature = "inspect", not(any(loom, shuttle)))),
    expect(unreachable_pub, reason = "public with the feature")
)]
mod alone;
#[cfg_attr(
    not(all(feature = "inspect", not(any(loom, shuttle)))),
    expect(unreachable_pub, reason = "public with the feature")
)]
mod concurrency;
#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
mod disabled;
mod loop_observer;
#[cfg_attr(
    not(all(feature = "inspect", not(any(loom, shuttle)))),
    expect(unreachable_pub, reason = "public with the feature")
)]
mod wait_kind;

pub(crate) use concurrency::{BeginsNoMore, FoundConcurrency};
pub(crate) use loop_observer::{LoopObserver, RunnerObserver, Unobserved};

#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
pub(crate) use alone::AloneBecause;
#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
pub(crate) use concurrency::{CallLimit, LevelTrial};
#[cfg(all(
    feature = "tokio",
    not(all(feature = "inspect", not(any(loom, shuttle))))
))]
pub(crate) use disabled::in_tokio;
#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
pub(crate) use disabled::{
    AsyncLoopRecord, ChannelRecord, FrameMark, GroupName, LoopSite, Running, RuntimeNumber,
    SetWait, TaskRecord, TaskSet, WaitSite, Waking, WorkType, during_loop, forget, forget_set,
    forget_task, is_open, is_recorded, keeps, runtime_made, short_loop, thread_begins,
    thread_blocks, thread_polls_any, thread_polls_one, thread_waits_for_task, waits, waits_for_set,
    waits_for_task,
};
#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
pub(crate) use wait_kind::WaitKind;

#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod async_loops;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod awaited_set;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod calls_report;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod calls_verdict;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod changes;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod channel_snapshot;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[expect(
    unsafe_code,
    reason = "channels are looked at by their addresses; see the file's header"
)]
mod channels;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod coarse;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod control;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod current;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod deadlock;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod environment;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod forget;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod frame_mark;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod frames;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask for it"))]
mod freezer;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask for it"))]
mod frozen;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod group_names;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod groups;
#[cfg(all(feature = "inspect", feature = "tokio", not(any(loom, shuttle))))]
mod in_tokio;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod interned;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod last_waker;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod leaf_stacks;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod lines;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod loop_report;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod loop_reports;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod loop_site;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod loop_snapshot;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod loops;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod mappings;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod no_more_threads;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod one_wait;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod opening;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod outside;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod packed;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod poll_once;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod printable;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod record;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod recorded;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[expect(
    unsafe_code,
    reason = "where a cell is, any thread may know; see the file's header"
)]
mod recorded_cell;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
#[expect(
    unsafe_code,
    reason = "tasks are woken by their cells; see the file's header"
)]
mod recorded_task;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod rows;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod runtimes;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod sent;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod sentences;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod server;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod shard;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod shared_shard;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod snapshot;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod socket;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod stacks;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod starvation;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod starvation_looks;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod stuck;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod table;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod take;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod task_number;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod task_set;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod task_state;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod unpacked;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod varint;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod verdict;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod wait_site;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod waits;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod watchdog;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
mod wire;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod work_type;

#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use crate::sync::stack_copy::note_own_stack as thread_begins;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use async_loops::AsyncLoopRecord;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use awaited_set::SetWait;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use channels::{ChannelRecord, ObservedChannel};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use current::is_recorded;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use environment::runtime_made;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use forget::{forget, forget_set, forget_task};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use frame_mark::FrameMark;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use group_names::GroupName;
#[cfg(all(feature = "inspect", feature = "tokio", not(any(loom, shuttle))))]
pub(crate) use in_tokio::in_tokio;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use loop_site::LoopSite;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use loops::{during_loop, last as last_loop, short_loop};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use opening::is_open;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use record::{
    Running, RuntimeNumber, TaskRecord, keeps, thread_blocks, thread_polls_any, thread_polls_one,
    thread_waits_for_task, waits, waits_for_task,
};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use runtimes::Observed;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
pub(crate) use runtimes::ObservedThread;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use task_set::{TaskSet, waits_for_set};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use wait_site::WaitSite;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use work_type::{Waking, WorkType};

#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use alone::AloneBecause;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use calls_report::CallsReport;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use channel_snapshot::{ChannelLoad, ChannelSnapshot};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use concurrency::{CallLimit, LevelTrial};
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
pub use control::allow_control;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use deadlock::Deadlock;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use last_waker::LastWaker;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use loop_report::{BlockReport, LoopReport, RunnerReport, TrialReport};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use loop_reports::loop_reports;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use loop_snapshot::LoopSnapshot;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use no_more_threads::NoMoreThreads;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
pub use server::{serve, serve_at};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use snapshot::{
    FrameSnapshot, RuntimeSnapshot, Snapshot, TaskSnapshot, WaitSnapshot, WorkerSnapshot,
    WorkerState,
};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use starvation::Starvation;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use take::{open, snapshot};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use task_number::TaskNumber;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use task_state::{TaskKind, TaskState};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use verdict::Verdict;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use wait_kind::WaitKind;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use watchdog::watch;
