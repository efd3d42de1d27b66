//! Without the feature: nothing is recorded. The same functions as in `enabled/mod.rs`, without code; one type without
//! data has the names and the methods of all that is kept there. The compiler inlines what has no code by itself; what runs
//! something else says so.

#![expect(
    clippy::extra_unused_type_parameters,
    reason = "the types are named with the feature only"
)]

use crate::priority::Priority;
use crate::recording::{AsyncLoopEvent, Awaited, Unobserved};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// In place of what is kept of a task, a wait, a thread, a loop, a channel, a runtime, a name or a line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Nothing;

pub(crate) type AsyncLoopRecord = Nothing;
pub(crate) type ChannelRecord = Nothing;
pub(crate) type FrameMark = Nothing;
pub(crate) type RuntimeNumber = Nothing;
pub(crate) type Site = Nothing;
pub(crate) type TaskRecord = Nothing;
pub(crate) type TaskSet = Nothing;
pub(crate) type WorkType = Nothing;

/// What is waited for that is no task.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WaitKind {
    Receive,
    Send,
    ChannelEnd,
    Completion,
    Timer,
    Cancellation,
}

/// Why a call runs on its caller alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsAlone {
    TooShort,
    OneAllowed,
    SourceSlow,
    SharingHurt,
    NoPlace,
}

pub(crate) const fn is_open() -> bool {
    false
}

pub(crate) const fn is_recorded() -> bool {
    false
}

pub(crate) const fn thread_begins() {}

#[cfg(feature = "tokio")]
pub(crate) fn in_tokio<R>(wait: impl FnOnce() -> R) -> R {
    wait()
}

pub(crate) fn waits<'a, L>(_leaf: &L, _waker: &Waker, _awaited: impl FnOnce() -> Awaited<'a>) {}

pub(crate) fn forget<L>(_leaf: &L) {}

pub(crate) fn forget_moved<'a, L>(_leaf: &L, _awaited: impl FnOnce() -> Awaited<'a>) {}

pub(crate) fn thread_waits_for_task(_task: &TaskRecord, _id: usize) -> Nothing {
    Nothing
}

pub(crate) fn thread_polls(_waker: &Waker, _one: Option<Site>) -> Nothing {
    Nothing
}

pub(crate) fn thread_blocks() -> Nothing {
    Nothing
}

pub(crate) fn runtime_made<R>(_runtime: &Arc<R>) {}

#[inline(always)]
pub(crate) fn during_loop<C>(
    _items: Option<u64>,
    _site: Site,
    run: impl FnOnce(Unobserved) -> u64,
) {
    run(Unobserved);
}

impl Nothing {
    // What more than one of its names has.

    /// What a thread polls, or a member of a set, or what waits on a line.
    #[inline(always)]
    pub(crate) fn poll<R>(&self, poll: impl FnOnce() -> R) -> R {
        poll()
    }

    // Tasks, and their runs.

    pub(crate) const fn closure<F>() -> Self {
        Self
    }

    pub(crate) const fn future<F>(
        _request: unsafe fn(NonNull<()>) -> bool,
        _queue: unsafe fn(NonNull<()>),
    ) -> Self {
        Self
    }

    pub(crate) fn spawned(
        &self,
        _cell: NonNull<()>,
        _label: (Option<&str>, Priority),
        _work: &'static Self,
        _spawned_at: &'static Location<'static>,
    ) {
    }

    pub(crate) fn seen(&self, _spawn: impl FnOnce()) {}

    pub(crate) fn run(&self, _id: usize, _worker: Option<(usize, &Self)>) -> Self {
        Self
    }

    pub(crate) fn end(self, _is_over: bool, _wakers: impl FnOnce() -> Option<u32>) {}

    pub(crate) fn woken(&self) {}

    pub(crate) fn ended(&self) {}

    // Sets of tasks, their names, and those of frames.

    pub(crate) fn of_futures(_are_handles: impl FnOnce() -> bool) -> Self {
        Self
    }

    pub(crate) fn add(&self, _task: &Self) {}

    pub(crate) fn named<N>(_name: N) -> Self {
        Self
    }

    pub(crate) fn enter(&mut self) -> Self {
        Self
    }

    pub(crate) fn leave<R>(self, _polled: &Poll<R>) {}

    // Lines, async loops and channels.

    pub(crate) const fn here() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn around<R>(self, poll: impl FnOnce() -> R) -> R {
        poll()
    }

    pub(crate) fn begin<C>(_site: Self) -> Self {
        Self
    }

    pub(crate) fn note(&mut self, _event: impl FnOnce() -> AsyncLoopEvent) {}

    pub(crate) fn made<T, C>(
        &self,
        _channel: &C,
        _name: Option<Box<str>>,
        _capacity: Option<usize>,
    ) {
    }

    pub(crate) fn end_removed(&self, _is_last: bool) {}
}
