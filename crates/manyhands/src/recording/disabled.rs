//! Without the feature: nothing is recorded. The same functions as in `enabled/mod.rs`, without code.

use crate::priority::Priority;
use crate::recording::{AsyncLoopEvent, Awaited, FoundConcurrency, Unobserved};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

#[inline(always)]
pub(crate) const fn is_open() -> bool {
    false
}

#[inline(always)]
pub(crate) const fn is_recorded() -> bool {
    false
}

#[inline(always)]
pub(crate) const fn thread_begins() {}

/// In place of a task's number.
#[derive(Debug)]
pub(crate) struct TaskRecord;

/// In place of the name of a type of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkType;

/// In place of the steps of a wake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waking;

/// In place of a run of a task.
pub(crate) struct Running;

#[cfg(feature = "tokio")]
#[inline(always)]
pub(crate) fn in_tokio<R>(wait: impl FnOnce() -> R) -> R {
    wait()
}

/// In place of a wait of a thread.
pub(crate) struct ThreadWait;

/// In place of a runtime's number.
#[derive(Debug)]
pub(crate) struct RuntimeNumber;

impl TaskRecord {
    #[inline(always)]
    pub(crate) const fn none() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn is_none(&self) -> bool {
        true
    }

    #[inline(always)]
    pub(crate) fn spawned(
        &self,
        _cell: NonNull<()>,
        _label: (Option<&str>, Priority),
        _work: &'static WorkType,
        _spawned_at: &'static Location<'static>,
    ) {
    }

    #[inline(always)]
    pub(crate) fn clear_parent(&self) {}

    #[inline(always)]
    pub(crate) fn run(
        &self,
        _id: usize,
        _worker: Option<(usize, &RuntimeNumber)>,
        _waker: impl FnOnce() -> Option<Waker>,
    ) -> Option<Running> {
        Some(Running)
    }

    #[inline(always)]
    pub(crate) fn woken(&self) {}

    #[inline(always)]
    pub(crate) fn ended(&self) {}
}

#[expect(
    clippy::extra_unused_type_parameters,
    reason = "the types are named with the feature only"
)]
impl WorkType {
    #[inline(always)]
    pub(crate) const fn closure<F>() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) const fn future<F>(_waking: Waking) -> Self {
        Self
    }
}

impl Waking {
    #[inline(always)]
    pub(crate) const fn new(
        _request: unsafe fn(NonNull<()>) -> bool,
        _queue: unsafe fn(NonNull<()>),
    ) -> Self {
        Self
    }
}

impl Running {
    #[inline(always)]
    pub(crate) fn end(self, _is_over: bool, _wakers: impl FnOnce() -> Option<u32>) {}
}

#[inline(always)]
pub(crate) fn waits<'a, L>(_leaf: &L, _waker: &Waker, _awaited: impl FnOnce() -> Awaited<'a>) {}

/// In place of the tasks of a scope or group.
#[derive(Debug)]
pub(crate) struct TaskSet;

impl TaskSet {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn of_futures(_are_handles: impl FnOnce() -> bool) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn poll<R>(&self, poll: impl FnOnce() -> R) -> R {
        poll()
    }

    #[inline(always)]
    pub(crate) fn add(&self, _task: &TaskRecord) {}
}

#[inline(always)]
pub(crate) fn keeps(_waker: &Waker) {}

#[inline(always)]
pub(crate) fn forget<L>(_leaf: &L) {}

#[inline(always)]
pub(crate) fn forget_moved<'a, L>(_leaf: &L, _awaited: impl FnOnce() -> Awaited<'a>) {}

#[inline(always)]
pub(crate) fn thread_waits_for_task(_task: &TaskRecord, _id: usize) -> ThreadWait {
    ThreadWait
}

#[inline(always)]
pub(crate) fn thread_polls_any(_waker: &Waker) -> ThreadWait {
    ThreadWait
}

#[inline(always)]
pub(crate) fn thread_polls_one(_waker: &Waker) -> ThreadWait {
    ThreadWait
}

impl ThreadWait {
    #[inline(always)]
    pub(crate) fn poll<R>(&self, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        poll()
    }
}

/// In place of the mark of a blocked thread.
pub(crate) struct Blocked;

#[inline(always)]
pub(crate) fn thread_blocks() -> Blocked {
    Blocked
}

impl RuntimeNumber {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn wait_for_thaw(&self) -> bool {
        false
    }
}

/// In place of the name of a frame.
#[derive(Debug)]
pub(crate) struct FrameMark;

/// In place of a poll of a frame.
pub(crate) struct InFrame;

impl FrameMark {
    #[inline(always)]
    pub(crate) const fn new(_name: &'static str) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn enter(&mut self) -> InFrame {
        InFrame
    }
}

impl InFrame {
    #[inline(always)]
    pub(crate) fn leave<R>(self, _polled: &Poll<R>) {}
}

#[inline(always)]
pub(crate) fn runtime_made<R>(_runtime: &Arc<R>) {}

/// In place of the name of a group.
#[derive(Debug)]
pub(crate) struct GroupName;

impl GroupName {
    #[inline(always)]
    pub(crate) const fn none() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn new(_name: String) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn resource(&self) -> usize {
        0
    }
}

/// In place of the line that waits, or calls a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site;

impl Site {
    #[inline(always)]
    pub(crate) const fn here() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn during<R>(self, poll: impl FnOnce() -> R) -> R {
        poll()
    }

    #[inline(always)]
    pub(crate) fn around<R>(self, poll: impl FnOnce() -> R) -> R {
        poll()
    }
}

#[expect(
    clippy::extra_unused_type_parameters,
    reason = "the type is named with the feature only"
)]
#[inline(always)]
pub(crate) fn during_loop<C>(_items: Option<u64>, _site: Site, run: impl FnOnce(Unobserved)) {
    run(Unobserved);
}

/// In place of what is recorded of an async loop.
#[derive(Debug)]
pub(crate) struct AsyncLoopRecord;

impl AsyncLoopRecord {
    #[expect(
        clippy::extra_unused_type_parameters,
        reason = "the type is named with the feature only"
    )]
    #[inline(always)]
    pub(crate) fn begin<C>(_site: Site) -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn note(&mut self, _event: impl FnOnce() -> AsyncLoopEvent) {}

    #[inline(always)]
    pub(crate) fn ends(
        &mut self,
        _known: impl FnOnce() -> FoundConcurrency,
        _now: impl FnOnce() -> Instant,
    ) {
    }
}

/// In place of a channel's number in the list of channels.
#[derive(Debug)]
pub(crate) struct ChannelRecord;

impl ChannelRecord {
    #[inline(always)]
    pub(crate) const fn none() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn made<T, C>(
        &self,
        _channel: &C,
        _name: Option<Box<str>>,
        _capacity: Option<usize>,
    ) {
    }

    #[inline(always)]
    pub(crate) fn end_removed(&self, _is_last: bool) {}
}
