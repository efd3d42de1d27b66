//! The threads of the workers: how they start, and how those that are not needed any more end.
//!
//! A thread starts when a worker is claimed that has none. Those beyond the limit stand in for blocked ones;
//! one that has slept for the keep-alive time ends, until as many are left as may run. Its slot keeps its
//! place, queues and timers: the queues are empty or others take from them, the monitor turns its wheel. Only
//! one with tasks that no other worker may run stays for ever.
//!
//! # Which thread may touch the slot
//! The thread until it vacates its place (`idle.rs`), then the next thread that is started there.
//!
//! Not here: when a thread is needed (`idle.rs`, `wait.rs`, `sweep.rs`).
//!
//! Unsafe: a thread occupies the slot of its worker.

use crate::integrations::tracing_events;
use crate::job::{OnDrop, abort, contain};
use crate::runtime::{
    Pool, RuntimeInner, Settings, SlotState, ThreadChangeReason, WorkerSlot, current, run_loop,
    waking,
};
use crate::sync::atomic::Ordering;
use crate::sync::{lock, thread, thread_state};
use std::sync::Arc;

impl RuntimeInner {
    /// Starts the thread of worker `index`; false if there can be none.
    pub(crate) fn start_worker(&self, index: usize) -> bool {
        if !self.refusal.may_ask() {
            // It was refused a moment ago.
            self.note_refused();
            return false;
        }
        // The thread that is started now replaces another one if there were threads enough without it.
        let reason = self.reason_to_start();
        let name = self.settings.name_of(index);
        let mut threads = lock(&self.threads);
        // The caller may visit the runtime by its registry, whose last owner waits for the end of visits: it must not be that owner.
        let this = self.weak();
        if self.ending.has_ended() || this.strong_count() == 0 {
            return false;
        }
        // An earlier thread of this worker, or a start that failed, may have left its slot there.
        let Some(slot) = self.slot_for(index) else {
            return false;
        };
        let mut builder = thread::Builder::new().name(name);
        if let Some(size) = self.settings.stack_size {
            builder = builder.stack_size(size);
        }
        let count = self.idle.threads();
        let life = move || {
            let Some(this) = this.upgrade() else { return };
            // On the thread that was started: once it is seen at work, it is counted, with its reason.
            this.note_change(count, reason);
            live(&this, slot, index);
            this.thread_ends();
        };
        // Relaxed: the lock orders it before the end of the thread, and of the runtime.
        self.alive.fetch_add(1, Ordering::Relaxed);
        let Ok(thread) = builder.spawn(life) else {
            self.thread_ends();
            drop(threads);
            self.note_refused();
            return false;
        };
        self.refusal.end();
        threads.push(thread);
        true
    }

    /// A thread ends, or could not be started.
    fn thread_ends(&self) {
        // AcqRel: the closing thread sees what all threads did.
        if self.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.closing_waits.unpark();
        }
    }

    fn reason_to_start(&self) -> ThreadChangeReason {
        let census = self.idle.census();
        let beyond = self.idle.threads().saturating_sub(self.idle.limit);
        if beyond == 0 {
            ThreadChangeReason::Warmup
        } else if beyond <= census.blocked {
            ThreadChangeReason::BlockingDeclared
        } else if census.detected_blocked > 0 {
            ThreadChangeReason::BlockingDetected
        } else {
            ThreadChangeReason::Starvation
        }
    }

    /// Notes a change that has left this many threads, and reports it.
    pub(crate) fn note_change(&self, threads: usize, reason: ThreadChangeReason) {
        self.changes.note(threads, reason);
        tracing_events::thread_change(&self.settings.name, threads, &reason);
    }
}

/// The life of the thread of worker `index`. What it runs of the user's is contained, each where it is called; a
/// worker that unwound all the same would count as awake for ever, and leave what it holds to nobody.
fn live(shared: &Arc<RuntimeInner>, slot: &'static WorkerSlot, index: usize) {
    let frame = OnDrop(|| abort("a worker has panicked outside of what it runs"));
    if work(shared, slot, index) {
        let (threads, reason) = (shared.idle.threads(), ThreadChangeReason::TimedOut);
        // Before a thread may start in its place, which is noted, too.
        shared.changes.note(threads, reason);
        waking::vacate(&**shared, index);
        // After that, because a subscriber is the user's.
        tracing_events::thread_change(&shared.settings.name, threads, &reason);
        // Nobody needs to wait for those that have ended, and the system keeps their stacks until then.
        lock(&shared.threads).retain(|thread| !thread.is_finished());
    }
    frame.disarm();
}

/// What the thread of worker `index` does with its slot. Returns whether it leaves, as one that is not needed.
fn work(shared: &Arc<RuntimeInner>, slot: &'static WorkerSlot, index: usize) -> bool {
    let surrounded = shared.settings.tokio_context.enter();
    // SAFETY: this thread was started for the worker, and no other one is until it vacates its place, after the guard
    // is dropped. Held by `models/spare.rs`.
    let guard = unsafe { current::WorkerGuard::begin(Arc::clone(shared), slot) };
    let slot = guard.slot;
    // A thread that waits in the start hook has not come to the work yet for which it was started. If the wait were declared,
    // another thread would be started for that work at once, wait in the same way, and so on. So the monitor detects the wait, if
    // it is long (`monitor/blocked.rs`).
    slot.set_occupant(SlotState::Starting);
    slot.run_undeclared(|| Settings::run_hook(shared.settings.on_start.as_ref(), index));
    slot.set_occupant(SlotState::Running);
    slot.is_not_blocked();
    // Now its thread is as the user wants it.
    let thread = thread_state::number(slot.thread());
    slot.placement.begin(thread);
    // The thread that has started this one may have been refused the monitor's.
    shared.arm_monitor();
    let leaves = run_loop::run(shared, slot, index);
    // It runs what the user wants run at the end, so it is neither asleep nor, to the monitor, on its way to work.
    slot.set_occupant(SlotState::Running);
    if let Some(reactor) = shared.reactor() {
        reactor.call_poller();
    }
    // The thread does not count as one that runs any more, so none of its waits may make room, and the end waits for none of them.
    slot.gets_no_help.set(true);
    slot.run_undeclared(|| Settings::run_hook(shared.settings.on_stop.as_ref(), index));
    slot.placement.end();
    drop(guard);
    // Tokio's guard panics if a task has entered tokio here and has forgotten to leave it. The thread ends anyway.
    contain(|| {
        let _left = surrounded;
    });
    leaves
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use crate::runtime::{RuntimeInner, current, ending};
    use crate::sync::{clock, lock, wait_until};
    use crate::{Runtime, task};
    use std::sync::mpsc::{self, Receiver};
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;
    use std::time::Duration;

    /// A hook that says that it waits, and does so until it is let go.
    fn waiting_hook() -> (
        impl Fn(usize) + Send + Sync,
        Receiver<usize>,
        mpsc::Sender<()>,
    ) {
        let ((say, waits), (let_go, gate)) = (mpsc::channel(), mpsc::channel());
        let gate = Mutex::new(gate);
        let hook = move |worker| {
            task::blocking(|| {
                let _ = say.send(worker);
                // The first waits in the channel and the others for the lock, until the sender is dropped.
                let _ = lock(&gate).recv_timeout(LIMIT);
            });
        };
        (hook, waits, let_go)
    }

    #[test]
    fn a_start_hook_that_waits_starts_no_other_thread() {
        let (hook, waits, let_go) = waiting_hook();
        let builder = Runtime::builder().workers(1).on_thread_start(hook);
        let runtime = builder.build().expect("the number is right");
        // Nobody sweeps.
        runtime.shared().monitor.close();
        let tasks = runtime.install(|| [task::run(|| 1), task::run(|| 2)]);
        assert_eq!(waits.recv_timeout(LIMIT), Ok(0));
        drop(runtime.install(|| task::spawn(async {})));
        assert_eq!((runtime.threads(), runtime.metrics().blocked), (1, 0));
        drop(let_go);
        assert_eq!(tasks.map(|task| task.join().expect("it only adds")), [1, 2]);
    }

    #[test]
    fn a_stop_hook_that_waits_makes_no_room() {
        let (hook, waits, let_go) = waiting_hook();
        let builder = Runtime::builder().workers(1).on_thread_stop(hook);
        let runtime = builder.thread_keep_alive(Duration::ZERO).build();
        let runtime = runtime.expect("the numbers are right");
        let inner = || task::spawn(async {}).join().expect("nothing fails");
        let outer = runtime.install(|| task::run(inner));
        outer.join().expect("another thread runs the inner one");
        let worker = waits.recv_timeout(LIMIT).expect("one is not needed");
        assert!(worker < 2);
        assert_eq!(runtime.metrics().blocked, 0);
        drop(let_go);
    }

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn a_start_from_a_visit_leaves_the_runtime_to_its_last_owner() {
        let runtime = Runtime::builder().workers(1).build();
        let runtime = runtime.expect("the number is right");
        let shared = runtime.shared().to_arc();
        drop(runtime);
        assert!(ending::is_over(&*shared), "no thread has begun");
        let (registry, owned) = (shared.registry, Arc::downgrade(&shared));
        let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let visit = move || {
            let is_started = registry.with_runtime(0, |runtime| {
                begin.send(()).expect("it is waited for");
                wait_until("its owner drops it", || owned.strong_count() == 0);
                // SAFETY: a runtime does not end during a visit.
                unsafe { &*runtime.cast::<RuntimeInner>() }.start_worker(0)
            });
            end.send(is_started)
        };
        let visitor = thread::spawn(visit);
        begun.recv_timeout(LIMIT).expect("it visits");
        drop(shared);
        assert_eq!(ended.recv_timeout(LIMIT), Ok(false));
        visitor.join().expect("it has ended").expect("it was heard");
    }

    #[test]
    fn the_stacks_of_threads_that_have_ended_are_given_back() {
        const THREADS: usize = 20;
        let keep_alive = Duration::from_millis(1);
        let builder = Runtime::builder().workers(1).thread_keep_alive(keep_alive);
        let runtime = builder.build().expect("the numbers are right");
        let _entered = runtime.enter();
        let barrier = Arc::new(Barrier::new(THREADS));
        let wait = |_| {
            let barrier = Arc::clone(&barrier);
            task::run(move || task::blocking(|| barrier.wait()))
        };
        let tasks: Vec<_> = (0..THREADS).map(wait).collect();
        for task in tasks {
            task.join().expect("it only waits");
        }
        let kept = || current::with_runtime(|runtime| lock(&runtime.threads).len());
        let begun = clock::ticks();
        // One stays. Of threads that end at the same time each may see the others still running.
        while runtime.threads() > 1 || kept() > THREADS / 2 {
            assert!(clock::ticks() - begun < clock::ticks_in(20_000_000_000));
            thread::yield_now();
        }
    }
}
