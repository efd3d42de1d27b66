//! With the feature: what is recorded, and how. The same names as in `disabled.rs`, and what `inspect` reads.
#![cfg_attr(not(unix), expect(dead_code, reason = "nobody asks from outside"))]

#[expect(
    unsafe_code,
    reason = "channels are looked at by their addresses; see the file's header"
)]
pub(crate) mod channels;
pub(crate) mod loops;
mod moment;
pub(crate) mod opening;
pub(crate) mod runtimes;
pub(crate) mod tasks;
pub(crate) mod waits;

pub(crate) use crate::sync::stack_copy::note_own_stack as thread_begins;
pub(crate) use channels::{ChannelRecord, ObservedChannel};
pub(crate) use loops::async_loops::AsyncLoopRecord;
pub use loops::last_reports::loop_reports;
pub(crate) use loops::running::during_loop;
pub use loops::running::last_loop;
pub(crate) use moment::moment;
pub(crate) use opening::is_open;
pub(crate) use runtimes::{Observed, runtime_made};
pub(crate) use tasks::current::{Current, is_recorded};
pub(crate) use tasks::hooks::{RuntimeNumber, TaskRecord, waits};
#[cfg(feature = "tokio")]
pub(crate) use tasks::last_waker::in_tokio;
pub(crate) use tasks::recorded_cell::RecordedCell;
pub(crate) use tasks::thread_waits::{thread_blocks, thread_polls, thread_waits_for_task};
pub(crate) use tasks::work_type::WorkType;
pub(crate) use tasks::{current, leaf_stacks, table};
pub(crate) use waits::forget::{forget, forget_moved};
pub(crate) use waits::frame_mark::FrameMark;
pub(crate) use waits::lines::Lines;
pub(crate) use waits::site::Site;
pub(crate) use waits::task_set::TaskSet;

pub(crate) use manyhands_analysis::{AloneBecause as RunsAlone, WaitKind};
