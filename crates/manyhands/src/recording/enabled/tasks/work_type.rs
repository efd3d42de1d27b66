//! What a task runs: the type of its closure or future, and how such a future is woken by a thread that holds no part of its cell.
//!
//! Not here: the caller of that wake (`inspect/serve/wake_by_record.rs`).

use crate::recording::enabled::waits::lines::SOURCES;
use manyhands_analysis::Work;
use std::ptr::NonNull;

/// The type of a task's closure or future, and how a future is woken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkType {
    /// What a task shows of it.
    pub(crate) shown: Work,
    pub(crate) waking: Option<Waking>,
}

/// The two steps of a wake by a thread that holds no part of the task's cell. The first one needs only that the cell is there; if it
/// returns true, the caller must do the second one, and has the cell until then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waking {
    pub(crate) request: unsafe fn(NonNull<()>) -> bool,
    pub(crate) queue: unsafe fn(NonNull<()>),
}

impl WorkType {
    /// Of a closure.
    pub(crate) const fn closure<F>() -> Self {
        Self::new::<F>("closure", None)
    }

    /// Of a future, which any thread may wake by these two steps.
    pub(crate) const fn future<F>(
        request: unsafe fn(NonNull<()>) -> bool,
        queue: unsafe fn(NonNull<()>),
    ) -> Self {
        Self::new::<F>("future", Some(Waking { request, queue }))
    }

    const fn new<F>(kind: &'static str, waking: Option<Waking>) -> Self {
        let shown = Work {
            type_name: std::any::type_name::<F>,
            kind,
            library: SOURCES,
        };
        Self { shown, waking }
    }
}
