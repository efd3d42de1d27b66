//! With the feature: what is recorded, and how. The same names as in `disabled.rs`, and what `inspect` reads.

pub(crate) mod channel_snapshot;
#[expect(
    unsafe_code,
    reason = "channels are looked at by their addresses; see the file's header"
)]
pub(crate) mod channels;
pub(crate) mod loops;
pub(crate) mod no_more_threads;
pub(crate) mod opening;
pub(crate) mod runtime_snapshot;
pub(crate) mod runtimes;
pub(crate) mod tasks;
pub(crate) mod waits;

pub(crate) use crate::sync::stack_copy::note_own_stack as thread_begins;
pub(crate) use channel_snapshot::ChannelLoad;
pub(crate) use channels::{ChannelRecord, ObservedChannel};
pub(crate) use loops::async_loops::AsyncLoopRecord;
pub(crate) use loops::running::during_loop;
pub(crate) use no_more_threads::NoMoreThreads;
pub(crate) use opening::is_open;
pub(crate) use runtime_snapshot::{RuntimeSnapshot, WorkerSnapshot, WorkerState};
pub(crate) use runtimes::{Observed, runtime_made};
pub(crate) use tasks::current::is_recorded;
pub(crate) use tasks::hooks::{RuntimeNumber, TaskRecord, keeps, waits};
#[cfg(feature = "tokio")]
pub(crate) use tasks::in_tokio::in_tokio;
pub(crate) use tasks::thread_waits::{
    thread_blocks, thread_polls_any, thread_polls_one, thread_waits_for_task,
};
pub(crate) use tasks::work_type::{Waking, WorkType};
pub(crate) use waits::forget::{forget, forget_moved};
pub(crate) use waits::frame_mark::FrameMark;
pub(crate) use waits::group_names::GroupName;
pub(crate) use waits::site::Site;
pub(crate) use waits::task_set::TaskSet;
