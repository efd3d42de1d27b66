//! Which slot the calling thread occupies, and which runtime its calls go to.
//!
//! Each thread has a stack of what it has entered and which slots it occupies. Guards may be dropped in any
//! order: each takes its own entry out, and an entry keeps its runtime's memory alive. Only tokio's,
//! which a guard may hold, insists on the order. A worker ends the process if a task has forgotten a guard
//! (`run_loop.rs`): later tasks on its thread would go to the other runtime.
//!
//! Not here: what is done there.
//!
//! Unsafe: a thread occupies a slot.

use crate::job::{OnDrop, RunPermit};
use crate::recording;
use crate::runtime::ending::{self, VISITOR};
use crate::runtime::fork_join::caller_threads;
use crate::runtime::io::tokio_context::TokioContextGuard;
use crate::runtime::{
    Activity, Idle, OccupiedSlot, RuntimeInner, Settings, SlotState, TokioContext, WorkerSlot,
    refused_starts, waking,
};
use crate::sync::{process, thread_state, usable_processors};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, OnceLock};

crate::sync::thread_local! {
    /// The slot that calls use now: what [`publish`] found in the stack.
    static CURRENT_SLOT: Cell<Option<&'static OccupiedSlot>> = const { Cell::new(None) };
    /// The slot of a worker thread, whatever it has entered since.
    static WORKER: Cell<Option<&'static OccupiedSlot>> = const { Cell::new(None) };
    /// Without a destructor: other thread-local values use it in theirs.
    static STACK: ManuallyDrop<RefCell<Vec<Frame>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
    static AT_END: AtEnd = const { AtEnd };
    /// How many entries that has.
    static ENTRIES: Cell<usize> = const { Cell::new(0) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// One entry of a thread's stack.
struct Frame {
    id: u64,
    shared: Arc<RuntimeInner>,
    /// The slot, if the thread occupies one and has not only entered.
    slot: Option<&'static OccupiedSlot>,
    /// The slot that calls use while this is the newest entry; what is below decides it.
    current: Option<&'static OccupiedSlot>,
}

/// Frees the stack of a thread that ends, with the entries of guards that it has forgotten. Where the process exits inside of
/// calls, their slots stay.
struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        // Under the controlled scheduler it may be gone.
        let forgotten = STACK.try_with(|stack| {
            let mut frames = stack.borrow_mut();
            let forgotten = frames.extract_if(.., |frame| frame.slot.is_none());
            let forgotten: Vec<_> = forgotten.collect();
            frames.shrink_to_fit();
            if !forgotten.is_empty() {
                publish(&frames);
            }
            forgotten
        });
        // Dropped only now, as in `remove`.
        drop(forgotten);
    }
}

/// The slot of the calling thread, if it is a worker or an external thread of the runtime that is current.
#[inline(always)]
pub(crate) fn slot() -> Option<&'static OccupiedSlot> {
    CURRENT_SLOT.get()
}

/// The slot of the calling thread, if it is a worker, with its runtime; whatever it has entered since.
#[inline]
pub(crate) fn worker() -> Option<(&'static OccupiedSlot, &'static RuntimeInner)> {
    let slot = WORKER.get()?;
    Some((slot, slot.runtime()))
}

/// The slot of the calling thread with its runtime, if it takes part in one.
#[inline]
pub(crate) fn slot_of_runtime() -> Option<(&'static OccupiedSlot, &'static RuntimeInner)> {
    let slot = slot()?;
    Some((slot, slot.runtime_or_none()?))
}

/// Calls `f` on the calling thread, as one of those that run, with this runtime as the current one.
pub(crate) fn install<R>(shared: &RuntimeInner, f: impl FnOnce() -> R) -> R {
    let _entered = EnterGuard::new(shared);
    let _external = slot()
        .is_none()
        .then(|| WorkerGuard::enter_for_call(shared));
    f()
}

/// As [`install`], for a thread that only drops tasks of a runtime that ends, which waits for it.
pub(crate) fn visit(shared: &RuntimeInner, f: impl FnOnce()) {
    let _entered = EnterGuard::new(shared);
    let enter = || WorkerGuard::enter_as_visitor(shared);
    let visitor = slot().is_none().then(enter).flatten();
    if let Some(visitor) = &visitor {
        // E7: it was counted before.
        visitor.slot.gets_no_help.set(shared.ending.is_emptied());
    }
    f();
}

/// Calls `f` with the runtime of the calling thread: that of its slot, else the entered one, else the
/// default one, which is made if need be.
pub(crate) fn with_runtime<R>(f: impl FnOnce(&RuntimeInner) -> R) -> R {
    if let Some(slot) = slot() {
        return f(slot.runtime());
    }
    process::refuse_forked();
    match entered() {
        Some(shared) => f(&shared),
        None => f(default_runtime()),
    }
}

/// Calls `f` with the runtime that [`with_runtime`] would use, unless it would have to make one.
pub(crate) fn with_existing_runtime<R>(f: impl FnOnce(&RuntimeInner) -> R) -> Option<R> {
    if let Some((_, shared)) = slot_of_runtime() {
        return Some(f(shared));
    }
    let entered = entered();
    let shared = entered.as_ref().or_else(|| DEFAULT.get())?;
    Some(f(shared))
}

/// The runtime entered last that has not been closed.
fn entered() -> Option<Arc<RuntimeInner>> {
    let newest_open = |stack: &RefCell<Vec<Frame>>| {
        let stack = stack.borrow();
        let frame = stack.iter().rev().find(|frame| !frame.shared.is_closing());
        frame.map(|frame| Arc::clone(&frame.shared))
    };
    STACK.with(|stack| newest_open(stack))
}

/// How many runtimes and slots the calling thread has entered.
#[inline]
pub(crate) fn entries() -> usize {
    ENTRIES.get()
}

/// Puts an entry on the stack; returns what takes it out again.
fn push(shared: Arc<RuntimeInner>, slot: Option<&'static OccupiedSlot>) -> u64 {
    let id = NEXT_ID.get();
    NEXT_ID.set(id + 1);
    // From now on the thread's end frees the stack; if that has been, `remove` does.
    let _ = AT_END.try_with(|_| ());
    STACK.with(|stack| {
        let mut frames = stack.borrow_mut();
        let current = current_above(frames.iter(), &shared, slot);
        frames.push(Frame {
            id,
            shared,
            slot,
            current,
        });
        publish(&frames);
    });
    id
}

/// Takes an entry out, wherever it is.
fn remove(id: u64) {
    let removed = STACK.with(|stack| {
        let mut frames = stack.borrow_mut();
        let index = frames.iter().rposition(|frame| frame.id == id)?;
        let removed = frames.remove(index);
        for above in index..frames.len() {
            let (below, Frame { shared, slot, .. }) = (&frames[..above], &frames[above]);
            frames[above].current = current_above(below.iter(), shared, *slot);
        }
        publish(&frames);
        if frames.is_empty() && AT_END.try_with(|_| ()).is_err() {
            frames.shrink_to_fit();
        }
        Some(removed)
    });
    // Dropped only now, because the last owner of a runtime may itself look at the stack.
    drop(removed);
}

/// The slot that calls use while an entry of this runtime, with its own slot if any, is the newest, above these: the newest
/// slot in that runtime. The newest entry of the same runtime knows it, however many are below.
fn current_above<'a>(
    below: impl DoubleEndedIterator<Item = &'a Frame>,
    shared: &Arc<RuntimeInner>,
    slot: Option<&'static OccupiedSlot>,
) -> Option<&'static OccupiedSlot> {
    let same = |frame: &&Frame| Arc::ptr_eq(&frame.shared, shared);
    slot.or_else(|| below.rev().find(same)?.current)
}

/// Tells calls which slot and which runtime they use, those of the newest entry.
fn publish(stack: &[Frame]) {
    let slot = stack.last().and_then(|newest| newest.current);
    CURRENT_SLOT.set(slot);
    ENTRIES.set(stack.len());
    let entered = stack.last().map(|newest| &newest.shared);
    let runtime = entered.or_else(|| DEFAULT.get());
    caller_threads::set_runtime(runtime.map_or(ptr::null(), Arc::as_ptr));
}

/// The runtime that is used where no other is current, once it is made.
pub(crate) static DEFAULT: OnceLock<Arc<RuntimeInner>> = OnceLock::new();

/// The runtime that is used where no other is current.
pub(crate) fn default_runtime() -> &'static RuntimeInner {
    let new = || RuntimeInner::new(Settings::for_workers(usable_processors()));
    DEFAULT.get_or_init(new)
}

/// Whether it is that one, which never ends.
pub(crate) fn is_default(shared: &RuntimeInner) -> bool {
    DEFAULT
        .get()
        .is_some_and(|default| ptr::eq(&raw const **default, shared))
}

/// Makes a runtime the current one of this thread until dropped. See [`Runtime::enter`](crate::Runtime::enter).
///
/// Example: see [`Runtime::enter`](crate::Runtime::enter).
#[derive(Debug)]
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'runtime> {
    /// `None`: the runtime had ended.
    id: Option<u64>,
    _surrounded: TokioContextGuard<'runtime>,
    /// Not `Send`: it speaks of this thread.
    borrowed: PhantomData<(&'runtime RuntimeInner, *const ())>,
}

impl<'runtime> EnterGuard<'runtime> {
    pub(crate) fn new(runtime: &'runtime RuntimeInner) -> Self {
        Self::of_handle(Some(runtime.to_arc()), &runtime.settings.tokio_context)
    }

    /// For a runtime that may have ended: then nothing is entered but the context.
    pub(crate) fn of_handle(
        runtime: Option<Arc<RuntimeInner>>,
        tokio_context: &'runtime TokioContext,
    ) -> Self {
        refused_starts::try_again();
        Self {
            id: runtime.map(|runtime| push(runtime, None)),
            _surrounded: tokio_context.enter(),
            borrowed: PhantomData,
        }
    }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            remove(id);
        }
    }
}

/// A thread as the occupant of a slot: a worker's for life, an external thread's for one outermost call.
pub(crate) struct WorkerGuard {
    /// The slot, until the guard is dropped.
    pub(crate) slot: &'static OccupiedSlot,
    /// External thread: its runtime, its place among the external threads there, and as what it counts.
    external: Option<(Arc<RuntimeInner>, usize, Activity)>,
    id: u64,
    /// The worker's slot that the thread had before, if this is a simulation on top of it.
    before: Option<&'static OccupiedSlot>,
}

impl WorkerGuard {
    /// Occupies the slot.
    ///
    /// # Safety
    /// As for [`WorkerSlot::occupy`]; the slot is left when the guard is dropped.
    pub(crate) unsafe fn begin(shared: Arc<RuntimeInner>, slot: &'static WorkerSlot) -> Self {
        if THREAD.get() == 0 {
            THREAD.set(thread_state::current_thread());
            recording::thread_begins();
        }
        // SAFETY: by the caller's promise.
        let slot = unsafe { slot.occupy(THREAD.get()) };
        let before = WORKER.get();
        if slot.is_worker() {
            WORKER.set(Some(slot));
        }
        Self {
            slot,
            external: None,
            id: push(shared, Some(slot)),
            before,
        }
    }

    /// Occupies a slot as an external thread, one of those that run, and counts as this if it `begins`. `None` where it does not, and
    /// when every external thread slot is taken.
    fn enter(
        shared: &RuntimeInner,
        counts_as: Activity,
        begins: impl FnOnce(&Idle, Activity) -> bool,
    ) -> Option<Self> {
        process::refuse_forked();
        let (place, slot) = shared.take_external_slot()?;
        if !begins(&shared.idle, counts_as) {
            shared.give_external_slot_back(place);
            return None;
        }
        let shared = shared.to_arc();
        // SAFETY: the place is this thread's until `drop` gives it back, after it has left the slot.
        let mut guard = unsafe { Self::begin(Arc::clone(&shared), slot) };
        guard.external = Some((shared, place, counts_as));
        Some(guard)
    }

    /// Occupies one to drop tasks.
    fn enter_as_visitor(shared: &RuntimeInner) -> Option<Self> {
        let begins = |idle: &Idle, counts_as| {
            idle.begin(counts_as);
            true
        };
        Self::enter(shared, VISITOR, begins)
    }

    /// Occupies one for a call, unless the runtime ends. The end waits for that only in the stop hook of a worker of the same runtime.
    /// `None`: the call is the thread's alone, or goes to another runtime.
    fn enter_for_call(shared: &RuntimeInner) -> Option<Self> {
        let is_own = worker().is_some_and(|(_, own)| ptr::eq(own, shared));
        let counts_as = if is_own {
            VISITOR
        } else {
            Activity::ExternalThread
        };
        Self::enter(shared, counts_as, Idle::begin_call)
    }
}

impl Drop for WorkerGuard {
    /// The next occupant is another thread, so nothing may be left that only this one may poll. Waiting
    /// tasks of that kind are gone before a worker ends (`ending::is_over`, `AtWork::announced`); what a hook, a waker or a
    /// destructor has spawned since is dropped here, while the thread still is the worker, until nothing is left.
    fn drop(&mut self) {
        let slot = self.slot;
        if slot.is_worker() {
            let shared = slot.runtime();
            // E8: others may wait for what the hook has queued, and for what destructors queue.
            ending::discard_if_ended(shared);
            while shared.discard(&slot.local, RunPermit::new()) {
                ending::discard_if_ended(shared);
            }
            slot.has_bound_tasks.set(false);
        }
        remove(self.id);
        if slot.is_worker() {
            WORKER.set(self.before);
        }
        slot.is_not_blocked();
        slot.gets_no_help.set(false);
        slot.set_occupant(SlotState::None);
        if let Some((shared, place, counted_as)) = self.external.take() {
            shared.give_external_slot_back(place);
            // A child that was forked in the call has nobody to wake.
            if !process::is_forked() {
                waking::leave_external(&*shared, counted_as);
            }
        }
    }
}

/// The calling thread is one of those that run, until this is dropped. `None` when it is in any case, or when half of
/// the external thread slots are taken: the others are for those that cannot do without, such as a loop whose bodies wait
/// for one another.
pub(crate) fn enter_as_running() -> Option<WorkerGuard> {
    // A forked child has no pool; alone the loop needs none.
    if slot().is_some() || process::is_forked() {
        return None;
    }
    with_runtime(|shared| {
        let enter = || WorkerGuard::enter_for_call(shared);
        (!shared.has_many_externals()).then(enter).flatten()
    })
}

/// Calls `f` with the slot of the calling thread, which takes part as an external thread of the current runtime if it
/// has none. `f` gets `None` when every external thread slot is taken.
pub(crate) fn with_slot<R>(f: impl FnOnce(Option<&'static OccupiedSlot>) -> R) -> R {
    if let Some(slot) = slot() {
        return f(Some(slot));
    }
    // E6: where the runtime ends, another one is current from now on.
    let enter = |shared: &RuntimeInner| {
        let guard = WorkerGuard::enter_for_call(shared);
        guard.ok_or_else(|| shared.is_closing())
    };
    let mut guard = with_runtime(enter);
    while let Err(true) = guard {
        guard = with_runtime(enter);
    }
    f(guard.ok().as_ref().map(|guard| guard.slot))
}

/// As [`with_slot`], for a call that may need help. Where no thread may be left that could come, in a stop hook and in the last
/// destructors, the slot is that of a thread outside; if the runtime ends, in another one.
pub(crate) fn with_helped_slot<R>(f: impl FnOnce(Option<&'static OccupiedSlot>) -> R) -> R {
    let unhelped = slot().filter(|slot| slot.gets_no_help.get());
    let _restore = unhelped.map(|slot| {
        CURRENT_SLOT.set(None);
        OnDrop(move || CURRENT_SLOT.set(Some(slot)))
    });
    with_slot(f)
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::{Frame, current_above};
    use crate::engine::ending::assert_ends_process;
    use crate::{Runtime, task};
    use std::cell::Cell;
    use std::mem::ManuallyDrop;
    use std::sync::Arc;

    #[test]
    fn to_enter_a_runtime_again_looks_at_one_entry_however_many_there_are() {
        let shared = super::default_runtime().to_arc();
        let frame = |id| Frame {
            id,
            shared: Arc::clone(&shared),
            slot: None,
            current: None,
        };
        let frames: Vec<Frame> = (0..1_000).map(frame).collect();
        let looked_at = Cell::new(0);
        let counted = frames
            .iter()
            .inspect(|_| looked_at.set(looked_at.get() + 1));
        assert!(current_above(counted, &shared, None).is_none());
        assert_eq!(looked_at.get(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "miri starts no processes")]
    fn a_task_that_forgets_a_guard_ends_the_process_with_a_message() {
        assert_ends_process(
            "runtime::current::tests::a_task_that_forgets_a_guard_ends_the_process_with_a_message",
            "a task has ended without dropping its guard of `Runtime::enter`",
            || {
                let pool = || Runtime::builder().workers(1).build().expect("one is right");
                let (first, second) = (pool(), pool());
                let forgets = move || {
                    let _ = ManuallyDrop::new(second.enter());
                };
                let _entered = first.enter();
                let forgets = task::run(forgets);
                // The worker looks before it runs the next one.
                drop(forgets.join());
                drop(task::run(|| ()).join());
            },
        );
    }
}
