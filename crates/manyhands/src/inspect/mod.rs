//! What is recorded of a running program, as values: its tasks with their waits, its loops, channels and workers. What these
//! types have changes with what is recorded, so they are there with the feature `inspect-unstable` only.
//!
//! When and what is recorded, and what it costs: [`diagnostics`](crate::diagnostics).

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
    AsyncLoopRecord, ChannelRecord, FrameMark, GroupName, LoopSite, RuntimeNumber, SetWait,
    TaskRecord, TaskSet, WaitSite, Waking, WorkType, during_loop, forget, forget_set, forget_task,
    is_open, is_recorded, keeps, runtime_made, short_loop, thread_begins, thread_blocks,
    thread_polls_any, thread_polls_one, thread_waits_for_task, waits, waits_for_set,
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
pub(crate) mod control;
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
pub(crate) mod server;
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
pub(crate) mod take;
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
pub(crate) mod watchdog;
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
pub(crate) use loops::{during_loop, short_loop};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use opening::is_open;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use record::{
    RuntimeNumber, TaskRecord, keeps, thread_blocks, thread_polls_any, thread_polls_one,
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
pub use loops::last_loop;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use no_more_threads::NoMoreThreads;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use snapshot::{
    FrameSnapshot, RuntimeSnapshot, Snapshot, TaskSnapshot, WaitSnapshot, WorkerSnapshot,
    WorkerState,
};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use starvation::Starvation;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use take::snapshot;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use task_number::TaskNumber;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use task_state::{TaskKind, TaskState};
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use verdict::Verdict;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub use wait_kind::WaitKind;
