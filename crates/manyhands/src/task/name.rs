//! What a task is called, and what its cell keeps of that, of its priority and of its home.
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
    pub(super) name: Option<&'task str>,
    pub(super) priority: Priority,
    /// The slot of the worker that alone may run it, if it is bound to one.
    pub(super) home: Option<SlotNumber>,
}

/// What a task keeps of its [`Label`]; zero-sized for a task without a name and with the normal priority.
pub(super) trait Name: Send + Sync + 'static {
    /// Whether the priority may differ from the normal one.
    const HAS_PRIORITY: bool = false;

    /// Whether there is a home.
    const HAS_HOME: bool = false;

    /// The name.
    fn shared(&self) -> Option<&Arc<str>>;

    /// Runs `f`, which does not unwind, while the slot of the calling worker shows the name of this task, spawned there.
    #[inline]
    fn shown<R>(&self, spawned_at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        match self.shared() {
            Some(name) => show(name, spawned_at, f),
            None => f(),
        }
    }

    /// The priority.
    fn priority(&self) -> Priority {
        Priority::Normal
    }

    /// See [`Label::home`].
    fn home(&self) -> Option<SlotNumber> {
        None
    }
}

/// A priority, and perhaps a name.
pub(super) struct Prioritized {
    pub(super) name: Option<Arc<str>>,
    pub(super) priority: Priority,
}

impl Name for Prioritized {
    const HAS_PRIORITY: bool = true;

    fn shared(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    fn priority(&self) -> Priority {
        self.priority
    }
}

/// The name of a local task, and the slot of its worker.
pub(super) struct Bound<N> {
    pub(super) name: N,
    pub(super) home: SlotNumber,
}

impl<N: Name> Name for Bound<N> {
    const HAS_HOME: bool = true;

    fn shared(&self) -> Option<&Arc<str>> {
        self.name.shared()
    }

    fn home(&self) -> Option<SlotNumber> {
        Some(self.home)
    }
}

impl Name for () {
    fn shared(&self) -> Option<&Arc<str>> {
        None
    }
}

impl Name for Arc<str> {
    fn shared(&self) -> Option<&Self> {
        Some(self)
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
