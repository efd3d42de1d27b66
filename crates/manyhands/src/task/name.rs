//! What a task is called and of which kind it is, and what its cell keeps of its name, its priority and its home.
//!
//! Not here: the cell (`cell.rs`), and where they are given (`builder.rs`).

use crate::job::SlotNumber;
use crate::runtime::{Priority, current};
use crate::sync::lock;
use std::panic::Location;
use std::sync::Arc;

/// What a task is called, and where and when it runs.
#[derive(Debug, Default)]
pub(super) struct Label<'task> {
    pub(super) name: Option<&'task Arc<str>>,
    pub(super) priority: Priority,
    /// The slot of the worker that alone may run it, if it is bound to one.
    pub(super) home: Option<SlotNumber>,
}

/// What runs in a cell, and on which workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// A closure: on any worker, or in place by the thread that waits for it.
    Closure,
    /// A future: polled by any worker.
    Future,
    /// A future that only the worker that spawned it polls.
    LocalFuture,
    /// A future with a priority of its own, which its label has.
    PrioritizedFuture,
}

/// What a task keeps of its [`Label`]; zero-sized for a task without a name and with the normal priority.
pub(super) trait Name: Send + Sync + 'static {
    /// The kind of a future with such a label.
    const FUTURE: TaskKind = TaskKind::Future;

    fn label(&self) -> Label<'_> {
        Label::default()
    }

    /// Runs `f`, which does not unwind, while the slot of the calling worker shows the name of this task, spawned there.
    #[inline]
    fn shown<R>(&self, spawned_at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        match self.label().name {
            Some(name) => show(name, spawned_at, f),
            None => f(),
        }
    }
}

/// A priority, and perhaps a name.
pub(super) struct Prioritized {
    pub(super) name: Option<Arc<str>>,
    pub(super) priority: Priority,
}

impl Name for Prioritized {
    const FUTURE: TaskKind = TaskKind::PrioritizedFuture;

    fn label(&self) -> Label<'_> {
        Label {
            name: self.name.as_ref(),
            priority: self.priority,
            home: None,
        }
    }
}

/// The name of a local task, and the slot of its worker.
pub(super) struct Bound<N> {
    pub(super) name: N,
    pub(super) home: SlotNumber,
}

impl<N: Name> Name for Bound<N> {
    const FUTURE: TaskKind = TaskKind::LocalFuture;

    fn label(&self) -> Label<'_> {
        Label {
            home: Some(self.home),
            ..self.name.label()
        }
    }
}

impl Name for () {}

impl Name for Arc<str> {
    fn label(&self) -> Label<'_> {
        Label {
            name: Some(self),
            ..Label::default()
        }
    }
}

/// See [`Name::shown`].
fn show<R>(name: &Arc<str>, spawned_at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    let Some((slot, _)) = current::worker() else {
        return f();
    };
    let (outer_task, outer_name) = (slot.task(), lock(&slot.task_name).take());
    slot.set_task(Some(spawned_at));
    *lock(&slot.task_name) = Some(Arc::clone(name));
    let result = f();
    *lock(&slot.task_name) = outer_name;
    slot.set_task(outer_task);
    result
}
