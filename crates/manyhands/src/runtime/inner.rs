//! What all threads of one runtime share.
//!
//! Not here: its public owner, which ends it (`owner.rs`), what the steps of sleeping and ending need of it (`pool.rs`), its
//! slots (`slots.rs`), and what a worker does (`run_loop.rs`).

mod slots;

use crate::job::{Action, Job, JobKind, LongKinds, RunPermit, TaskRegistry};
use crate::probe::{Ring, SharedCounter};
use crate::queue::{ShardedQueue, TaskQueue};
use crate::recording::{self, RuntimeNumber};
use crate::runtime::ending::{self, Ending};
use crate::runtime::fork_join::unowned_forks::UnownedForks;
use crate::runtime::monitor::changes::Changes;
use crate::runtime::monitor::control::Monitor;
use crate::runtime::policy::{Seen, WAKE_NANOS_FIRST};
use crate::runtime::worker::refusal::Refusal;
use crate::runtime::{
    CallerNext, Clock, Ends, HelperSlot, Idle, LongJob, PriorityQueues, Settings, WorkerSlot,
    waking,
};
use crate::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, Padded, Parker, clock, global, leak, lock, process, thread};
use crate::timer::Timers;
use std::marker::PhantomPinned;
use std::ptr;
use std::sync::{Arc, Weak};

/// The shared part of a runtime.
pub(crate) struct RuntimeInner {
    /// Names it where its tasks are recorded.
    pub(crate) number: RuntimeNumber,
    pub(crate) settings: Settings,
    pub(crate) idle: Idle,
    /// Tasks that come from outside.
    pub(crate) injector: ShardedQueue<Job>,
    /// Long tasks that were met in the search for short ones; older than those from outside. See `worker/short_tasks.rs`.
    pub(crate) set_aside: Padded<TaskQueue<Job>>,
    /// Forks that their thieves must not run.
    pub(crate) unowned_forks: UnownedForks<Job>,
    /// Tasks that are not of the usual priority.
    pub(crate) priority_queues: PriorityQueues,
    /// Tasks that wait, and through which they come back.
    pub(crate) registry: &'static TaskRegistry,
    /// Slots of workers, by worker, then of external threads, by place.
    slots: Box<[AtomicPtr<WorkerSlot>]>,
    /// One bit an external thread place, set while it is free.
    external_free: [AtomicU64; EXTERNAL_THREADS_MAX / 64],
    /// External thread places ever taken, counted from the first.
    external_end: AtomicUsize,
    /// How long a woken worker takes to run, in ticks, smoothed. Every woken worker writes it.
    wake_latency: Padded<AtomicU64>,
    /// The kind of job that blocked its thread last, or null.
    blocking_kind: AtomicPtr<JobKind>,
    /// The kinds of job that compute for long.
    pub(super) long_kinds: LongKinds,
    /// Short tasks that threads beyond the limit have found.
    pub(super) short_tasks_found: SharedCounter,
    pub(super) monitor: Monitor,
    /// What time it is.
    pub(crate) clock: Clock,
    pub(crate) lasting: &'static Lasting,
    pub(super) ending: Ending,
    /// Tasks dropped because they had not been started.
    pub(super) dropped: AtomicUsize,
    pub(super) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// How many of them have not ended.
    pub(super) alive: AtomicUsize,
    /// Where the closing thread waits for them.
    pub(super) closing_waits: Parker,
    /// Why their number changed.
    pub(crate) changes: Changes,
    /// Computations that kept a worker for long while work waited: the latest, which are enough to find where they come from.
    pub(crate) long_jobs: Ring<LongJob, 64>,
    pub(crate) long_jobs_noted: SharedCounter,
    /// Starts of threads that the system has refused.
    pub(super) refusal: Refusal,
    this: Weak<Self>,
    /// While `drop` waits for visitors, it has this by `&mut` and they by `&`. The compiler takes that `&mut` for no
    /// promise that nobody else looks, because the type is not `Unpin`.
    _aliased: PhantomPinned,
}

impl RuntimeInner {
    /// A runtime without threads; they start when there is work for them.
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        Self::with_clock(settings, Clock::System)
    }

    /// A runtime by this clock.
    pub(crate) fn with_clock(settings: Settings, clock: Clock) -> Arc<Self> {
        process::watch_for_forks();
        process::refuse_forked();
        let (workers, threads_max) = (settings.workers, settings.threads_max);
        let no_slot = |_| AtomicPtr::new(ptr::null_mut());
        let slots = 0..threads_max + EXTERNAL_THREADS_MAX;
        let lasting = Lasting::take();
        let shared = Arc::new_cyclic(|this: &Weak<Self>| Self {
            number: RuntimeNumber::default(),
            settings,
            idle: Idle::new(workers, threads_max),
            injector: ShardedQueue::new(workers),
            set_aside: Padded(TaskQueue::default()),
            unowned_forks: UnownedForks::new(),
            priority_queues: PriorityQueues::new(workers),
            registry: lasting.open(this.as_ptr().cast()),
            slots: slots.map(no_slot).collect(),
            external_free: [const { AtomicU64::new(u64::MAX) }; EXTERNAL_THREADS_MAX / 64],
            external_end: AtomicUsize::new(0),
            wake_latency: Padded(AtomicU64::new(clock::ticks_in(WAKE_NANOS_FIRST))),
            blocking_kind: AtomicPtr::new(ptr::null_mut()),
            long_kinds: LongKinds::default(),
            short_tasks_found: SharedCounter::default(),
            monitor: Monitor::default(),
            clock,
            lasting,
            ending: Ending::default(),
            dropped: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            alive: AtomicUsize::new(0),
            closing_waits: Parker::default(),
            changes: Changes::default(),
            long_jobs: Ring::default(),
            long_jobs_noted: SharedCounter::default(),
            refusal: Refusal::default(),
            this: Weak::clone(this),
            _aliased: PhantomPinned,
        });
        recording::runtime_made(&shared);
        #[cfg(feature = "inspect")]
        crate::first_runtime::open_if_wanted();
        shared
    }

    /// Another owner of this.
    pub(crate) fn to_arc(&self) -> Arc<Self> {
        let this = self.this.upgrade();
        this.expect("what is borrowed is owned by somebody")
    }

    /// A pointer that owns nothing.
    pub(crate) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    /// Whether the runtime ends: no task is started any more.
    pub(crate) fn is_closing(&self) -> bool {
        self.ending.is_closing()
    }

    /// Wakes a worker for new work, unless one is already looking. Where as many run as may, the monitor
    /// must look whether they do.
    pub(crate) fn wake_if_nobody_searches(&self) {
        waking::wake_if_nobody_searches(self);
    }

    /// Wakes a worker, or starts one, if one more may run. Returns whether one is coming.
    pub(crate) fn wake_one(&self) -> bool {
        waking::wake(self, self.idle.claim(), CallerNext::GoesOn)
    }

    /// Whether a worker that looks around now may find something, beside on `slot`, whose occupant is about to
    /// sleep and need not wait for what others hold.
    pub(crate) fn has_visible_work(&self, slot: Option<&WorkerSlot>) -> bool {
        self.has_tasks_outside()
            || !self.unowned_forks.is_empty()
            || self.all_slots().any(|other| {
                let has_tasks = match slot {
                    None => !other.tasks.is_empty(),
                    Some(_) => waking::has_tasks_for_others(&other.steal_grace, &other.tasks),
                };
                has_tasks
                    || (slot.is_none_or(|slot| !ptr::eq(slot, other))
                        && (other.deque.has_public(0)
                            || other.open_calls.iter().any(HelperSlot::is_inviting)))
            })
    }

    /// Whether tasks wait that any worker may take.
    pub(crate) fn has_waiting_tasks(&self) -> bool {
        self.has_tasks_outside() || self.all_slots().any(|slot| !slot.tasks.is_empty())
    }

    /// Whether tasks wait in queues that belong to no worker.
    pub(crate) fn has_tasks_outside(&self) -> bool {
        !self.injector.is_empty() || !self.set_aside.is_empty() || !self.priority_queues.is_empty()
    }

    /// The queues that belong to no worker, those with a priority last.
    pub(crate) fn queues_outside(&self) -> impl Iterator<Item = &TaskQueue<Job>> {
        let usual = self.injector.shards().chain([&*self.set_aside]);
        usual.chain(self.priority_queues.all())
    }

    /// How long a woken worker takes to run, in ticks.
    pub(crate) fn wake_latency(&self) -> u64 {
        // Relaxed: advice.
        self.wake_latency.load(Ordering::Relaxed)
    }

    /// What the counts say now, for a decision.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            has_room: self.idle.has_room(),
            is_anyone_searching: self.idle.is_anyone_searching(),
            wake_latency: self.wake_latency(),
        }
    }

    /// Takes one measurement into account.
    pub(crate) fn learn_wake_latency(&self, ticks: u64) {
        // More says that the machine was busy, not how long a wake takes.
        let ticks = ticks.min(clock::ticks_in(2 * WAKE_NANOS_FIRST));
        let before = self.wake_latency();
        // Relaxed: advice.
        self.wake_latency
            .store(before - before / 8 + ticks / 8, Ordering::Relaxed);
    }

    /// The thread that occupies `slot` is blocked, or about to be, by what it runs.
    pub(super) fn note_blocking_kind(&self, slot: &WorkerSlot) {
        let kind = slot.kind().cast_mut();
        if !kind.is_null() {
            // Relaxed: a hint; kinds are only compared.
            self.blocking_kind.store(kind, Ordering::Relaxed);
        }
    }

    /// The kind of job that blocked its thread last, while any thread is blocked.
    pub(crate) fn blocking_kind(&self) -> Option<*const JobKind> {
        let census = self.idle.census();
        // Relaxed: as above.
        let kind = self.blocking_kind.load(Ordering::Relaxed).cast_const();
        (census.blocked + census.detected_blocked > 0 && !kind.is_null()).then_some(kind)
    }

    /// Whether this is a copy in a forked child. What the parent's threads held stays held there, and cannot be distinguished
    /// from what is free, so all of it is leaked. A simulation has no other threads.
    pub(super) fn is_the_parent_s(&self) -> bool {
        process::is_forked() && !self.clock.is_virtual()
    }

    /// Lets no timer wait here any more. Futures that other runtimes poll are sent elsewhere.
    pub(super) fn close_timers(&self) {
        self.lasting.outside_timers.close();
        self.worker_slots().for_each(|slot| slot.timers.close());
    }

    /// Drops the tasks in this queue. Returns whether there were any.
    pub(crate) fn discard(&self, queue: &TaskQueue<Job>, mut permit: RunPermit<'_>) -> bool {
        let mut is_any = false;
        while let Some(job) = queue.take_first() {
            is_any = true;
            let is_dropped = Job::perform(job, Action::Drop(self.registry), permit.again());
            // It may have been run by the thread that waits for it. Relaxed: a count.
            self.dropped
                .fetch_add(usize::from(is_dropped), Ordering::Relaxed);
        }
        is_any
    }
}

impl Drop for RuntimeInner {
    fn drop(&mut self) {
        if self.is_the_parent_s() {
            return;
        }
        // The last thread is out: no slot is occupied. A thread that wakes a task from elsewhere may still visit, until `discard_rest`
        // finds the registry deserted; see `_aliased`.
        self.monitor.close();
        self.close_timers();
        self.cancel_waiting();
        ending::discard_rest(self);
        lock(&UNUSED).push(self.lasting);
        self.all_slots().for_each(WorkerSlot::give_back);
    }
}

/// What wakes from outside and timers may still reach when a runtime has ended. It is not freed, but used by another one.
#[derive(Default)]
pub(crate) struct Lasting {
    registry: TaskRegistry,
    /// What waits for a time on threads that are not workers.
    pub(crate) outside_timers: Timers,
}

impl Lasting {
    fn take() -> &'static Self {
        let unused = lock(&UNUSED).pop();
        unused.unwrap_or_else(|| leak(Self::default()))
    }

    /// Opens it for a runtime at this address; returns the registry of that.
    fn open(&self, runtime: *const ()) -> &TaskRegistry {
        self.registry.open(runtime);
        self.outside_timers.open();
        &self.registry
    }
}

global! {
    /// That of no runtime.
    static UNUSED: Mutex<Vec<&'static Lasting>> = Mutex::new(Vec::new());
}

/// Outside threads that can take part at once; the next one runs its calls alone.
const EXTERNAL_THREADS_MAX: usize = 1024;
