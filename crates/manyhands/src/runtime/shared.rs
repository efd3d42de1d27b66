//! What all threads of one runtime share.
//!
//! Not here: the public handle (`handle.rs`), and what a worker does (`worker.rs`).
//!
//! Unsafe: seats are kept as pointers to leaked memory; queues take jobs by pointer.

use crate::job::{Action, Home, Job, JobKind};
use crate::probe::{Ring, SharedCounter};
use crate::queue::TaskQueue;
use crate::runtime::LongJob;
use crate::runtime::builder::Settings;
use crate::runtime::changes::Changes;
use crate::runtime::current;
use crate::runtime::ending::{self, Ending, Ends, Joined};
use crate::runtime::idle::{Claim, Idle};
use crate::runtime::monitor::Monitor;
use crate::runtime::open::OpenSlot;
use crate::runtime::priority::{Lanes, Priority};
use crate::runtime::refused::Refusal;
use crate::runtime::seat::Seat;
use crate::runtime::timers::Clock;
use crate::runtime::waking::{self, Pool, Waker};
use crate::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, Padded, clock, lock, process, thread};
use crate::timer::Timers;
use std::marker::PhantomPinned;
use std::ptr;
use std::sync::{Arc, Weak};

/// The shared part of a runtime.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) idle: Idle,
    /// Tasks that come from outside.
    pub(crate) injector: Padded<TaskQueue<Job>>,
    /// Tasks that are not of the usual priority.
    pub(crate) lanes: Lanes,
    /// Tasks that wait, and through which they come back.
    home: &'static Home,
    /// Seats of workers, by worker, then of guests, by place.
    seats: Box<[AtomicPtr<Seat>]>,
    /// One bit a guest place, set while it is taken.
    guests: [AtomicU64; GUESTS_MAX / 64],
    /// Guest places ever taken, counted from the first.
    guests_end: AtomicUsize,
    /// How long a woken worker takes to run, in ticks, smoothed.
    wake_latency: AtomicU64,
    /// The kind of job that blocked its thread last, or null.
    blocking_kind: AtomicPtr<JobKind>,
    monitor: Monitor,
    /// What time it is.
    pub(crate) clock: Clock,
    /// What waits for a time on threads that are not workers.
    pub(crate) outside_timers: &'static Timers,
    ending: Ending,
    /// Tasks dropped because they had not been started.
    dropped: AtomicUsize,
    pub(super) threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// Threads ever started for workers.
    pub(crate) threads_started: SharedCounter,
    /// Why their number changed.
    pub(crate) changes: Changes,
    /// Computations that kept a worker for long while work waited.
    pub(crate) long_jobs: Ring<LongJob, LONG_JOBS_KEPT>,
    pub(crate) long_jobs_noted: SharedCounter,
    /// Starts of threads that the system has refused.
    pub(super) refusal: Refusal,
    this: Weak<Self>,
    /// While `drop` waits for visitors, it has this by `&mut` and they by `&`. The compiler takes that `&mut` for no
    /// promise that nobody else looks, because the type is not `Unpin`.
    _aliased: PhantomPinned,
}

impl Shared {
    /// A runtime without threads; they start when there is work for them.
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        Self::with_clock(settings, Clock::System)
    }

    /// A runtime by this clock.
    pub(crate) fn with_clock(settings: Settings, clock: Clock) -> Arc<Self> {
        process::watch_for_forks();
        process::refuse_forked();
        let (workers, threads_max) = (settings.workers, settings.threads_max);
        Arc::new_cyclic(|this: &Weak<Self>| Self {
            settings,
            idle: Idle::new(workers, threads_max),
            injector: Padded(TaskQueue::new()),
            lanes: Lanes::new(),
            home: Home::take(this.as_ptr().cast()),
            seats: (0..threads_max + GUESTS_MAX)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
            guests: [const { AtomicU64::new(0) }; GUESTS_MAX / 64],
            guests_end: AtomicUsize::new(0),
            wake_latency: AtomicU64::new(clock::ticks_in(WAKE_NANOS_FIRST)),
            blocking_kind: AtomicPtr::new(ptr::null_mut()),
            monitor: Monitor::new(),
            clock,
            outside_timers: Timers::take(),
            ending: Ending::new(),
            dropped: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
            threads_started: SharedCounter::default(),
            changes: Changes::new(),
            long_jobs: Ring::new(),
            long_jobs_noted: SharedCounter::default(),
            refusal: Refusal::default(),
            this: Weak::clone(this),
            _aliased: PhantomPinned,
        })
    }

    /// Where this runtime's tasks are registered while they wait.
    pub(crate) fn home(&self) -> &'static Home {
        self.home
    }

    /// Another owner of this.
    pub(crate) fn to_arc(&self) -> Arc<Self> {
        self.this
            .upgrade()
            .expect("what is borrowed is owned by somebody")
    }

    /// A pointer that owns nothing.
    pub(super) fn weak(&self) -> Weak<Self> {
        Weak::clone(&self.this)
    }

    /// Another owner of this, unless the last one is gone.
    pub(super) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Whether the runtime ends: no task is started any more.
    pub(crate) fn is_closing(&self) -> bool {
        self.ending.is_closing()
    }

    /// Worker: whether it may leave.
    pub(crate) fn is_over(&self) -> bool {
        ending::is_over(self)
    }

    /// Whether the workers leave.
    pub(super) fn has_ended(&self) -> bool {
        self.ending.has_ended()
    }

    /// Adds a task from outside and sees to it that somebody comes for it.
    ///
    /// # Safety
    /// `job` is valid until performed, and is in no queue.
    pub(crate) unsafe fn inject(&self, job: *mut Job) {
        // SAFETY: by the caller's promise.
        unsafe { self.injector.push(job) };
        self.wake_if_nobody_searches();
    }

    /// Adds a task of this priority, and sees to it that somebody comes for it.
    ///
    /// # Safety
    /// `job` is valid until performed, and is in no queue.
    pub(crate) unsafe fn queue_in_lane(&self, job: *mut Job, priority: Priority) {
        let lane = self.lanes.lane(priority).unwrap_or(&self.injector);
        // SAFETY: by the caller's promise.
        unsafe { lane.push(job) };
        self.wake_if_nobody_searches();
    }

    /// Wakes a worker for new work, unless one is already looking. Where as many run as may, the monitor
    /// is to look whether they do.
    pub(crate) fn wake_if_nobody_searches(&self) {
        waking::wake_if_nobody_searches(self);
    }

    /// Wakes a worker, or starts one, if one more may run. Returns whether one is coming.
    pub(crate) fn wake_one(&self) -> bool {
        waking::wake(self, Waker::GoesOn)
    }

    /// Wakes the worker on `seat`, for work that only it may do.
    pub(crate) fn wake_worker(&self, seat: &Seat) {
        if let Some(index) = seat.worker() {
            waking::wake_worker(self, index);
        }
    }

    /// Whether a worker that looks around now may find something, beside on `seat`, whose occupant is about to
    /// sleep and need not wait for what others hold.
    pub(crate) fn has_visible_work(&self, seat: Option<&Seat>) -> bool {
        !self.injector.is_empty()
            || !self.lanes.is_empty()
            || self.all_seats().any(|other| {
                let has_tasks = match seat {
                    None => !other.tasks.is_empty(),
                    Some(_) => waking::has_tasks_for_others(&other.hold, &other.tasks),
                };
                has_tasks
                    || (seat.is_none_or(|seat| !ptr::eq(seat, other))
                        && (other.deque.has_public(0)
                            || other.slots.iter().any(OpenSlot::is_inviting)))
            })
    }

    /// Whether tasks wait that any worker may take.
    pub(crate) fn has_waiting_tasks(&self) -> bool {
        !self.injector.is_empty()
            || !self.lanes.is_empty()
            || self.all_seats().any(|seat| !seat.tasks.is_empty())
    }

    /// How long a woken worker takes to run, in ticks.
    pub(crate) fn wake_latency(&self) -> u64 {
        // Relaxed: advice.
        self.wake_latency.load(Ordering::Relaxed)
    }

    /// Takes one measurement into account.
    pub(crate) fn learn_wake_latency(&self, ticks: u64) {
        let ticks = ticks.min(clock::ticks_in(WAKE_NANOS_BELIEVED_MAX));
        let before = self.wake_latency();
        // Relaxed: advice.
        self.wake_latency
            .store(before - before / 8 + ticks / 8, Ordering::Relaxed);
    }

    /// Whoever runs on `seat` is blocked, or about to be, by what it runs.
    pub(super) fn note_blocking_kind(&self, seat: &Seat) {
        let kind = seat.kind().cast_mut();
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
        (census.blocked + census.found_blocked > 0 && !kind.is_null()).then_some(kind)
    }

    /// Makes sure that the monitor watches.
    pub(crate) fn arm_monitor(&self) {
        self.monitor.arm(&self.this);
    }

    /// Makes the monitor look at the outside's timers anew.
    pub(crate) fn rouse_monitor(&self) {
        self.monitor.rouse(&self.this);
    }

    /// The seats of started workers and of guests past and present.
    pub(crate) fn all_seats(&self) -> impl Iterator<Item = &'static Seat> {
        // Acquire: pairs with the AcqRel in `take_guest_seat`; a seat not yet stored reads as null.
        let guests_end = self.guests_end.load(Ordering::Acquire);
        let guests = self.settings.threads_max..self.settings.threads_max + guests_end;
        let guest_seats = guests.filter_map(|index| self.seat_at(index));
        self.worker_seats().chain(guest_seats)
    }

    /// The seats of started workers.
    pub(crate) fn worker_seats(&self) -> impl Iterator<Item = &'static Seat> {
        (0..self.idle.started()).filter_map(|index| self.seat_at(index))
    }

    /// All seats but `seat`, beginning after the `random`th.
    pub(crate) fn other_seats(
        &self,
        seat: &Seat,
        random: usize,
    ) -> impl Iterator<Item = &'static Seat> {
        let workers = self.idle.started();
        // Acquire: as in `all_seats`.
        let guests = self.guests_end.load(Ordering::Acquire);
        let count = workers + guests;
        (0..count)
            .map(move |step| (step + random) % count)
            .map(move |index| {
                if index < workers {
                    index
                } else {
                    index - workers + self.settings.threads_max
                }
            })
            .filter_map(|index| self.seat_at(index))
            .filter(move |other| !ptr::eq(*other, seat))
    }

    /// Takes a guest place.
    pub(crate) fn take_guest_seat(&self) -> Option<&'static Seat> {
        for (index, word) in self.guests.iter().enumerate() {
            // Relaxed: the exchange decides.
            let mut taken = word.load(Ordering::Relaxed);
            while taken != u64::MAX {
                let free = (!taken).trailing_zeros() as usize;
                // Acquire: pairs with the Release of the guest that left; its seat's cells are ours now.
                let before = word.fetch_or(1 << free, Ordering::Acquire);
                if before & (1 << free) == 0 {
                    let place = index * 64 + free;
                    let seat = self.guest_seat_at(place);
                    if seat.is_none() {
                        // There may be seats again later.
                        self.leave_guest_place(place);
                    }
                    return seat;
                }
                taken = before;
            }
        }
        None
    }

    /// Leaves a guest place.
    pub(crate) fn give_guest_seat_back(&self, seat: &'static Seat) {
        self.leave_guest_place(seat.guest_place.get());
    }

    fn leave_guest_place(&self, place: usize) {
        // Release: pairs with the Acquire in `take_guest_seat`.
        self.guests[place / 64].fetch_and(!(1 << (place % 64)), Ordering::Release);
    }

    /// Ends the runtime: workers finish what they run, what did not run is dropped and counted.
    ///
    /// Called from one of its own workers, it does not wait for them.
    pub(crate) fn close(&self) -> usize {
        if self.is_the_parent_s() {
            // The threads to wait for are not in this process.
            return 0;
        }
        ending::close(self, || {
            let here = thread::current().id();
            if lock(&self.threads)
                .iter()
                .any(|thread| thread.thread().id() == here)
            {
                return Joined::NotSelf;
            }
            // Threads may still be started while others are waited for, until the runtime has ended.
            while let Some(thread) = self.next_thread() {
                // A worker never panics: jobs do not unwind, hooks are caught. Held by `tests/it/survival.rs`.
                let _ = thread.join();
            }
            self.monitor.close();
            self.close_timers();
            Joined::All
        });
        // Relaxed: an exact count once the threads have ended.
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether this is a copy in a forked child. What the parent's threads held stays held there, and cannot be told
    /// from what is free: all of it is leaked. A simulation has no other threads.
    fn is_the_parent_s(&self) -> bool {
        process::is_forked() && !self.clock.is_virtual()
    }

    /// Lets no task start or wait any more.
    pub(crate) fn begin_to_close(&self) {
        ending::begin_to_close(self);
    }

    fn next_thread(&self) -> Option<thread::JoinHandle<()>> {
        lock(&self.threads).pop()
    }

    pub(super) fn seat_at(&self, index: usize) -> Option<&'static Seat> {
        // Acquire: pairs with the Release that stored it.
        let seat = self.seats[index].load(Ordering::Acquire);
        // SAFETY: null, or a leaked seat.
        unsafe { seat.as_ref() }
    }

    fn guest_seat_at(&self, place: usize) -> Option<&'static Seat> {
        let index = self.settings.threads_max + place;
        if let Some(seat) = self.seat_at(index) {
            return Some(seat);
        }
        let seat = Seat::take(self)?;
        seat.guest_place.set(place);
        // Release: pairs with the Acquire in `seat_at`.
        self.seats[index].store(ptr::from_ref(seat).cast_mut(), Ordering::Release);
        // AcqRel: who sees the new end sees the seat.
        self.guests_end.fetch_max(place + 1, Ordering::AcqRel);
        Some(seat)
    }

    /// The seat of the one worker of a simulated runtime, whose thread is the calling one. Nobody can be
    /// woken in it, and no monitor comes.
    pub(crate) fn seat_simulator(&self) -> &'static Seat {
        let claim = self.idle.claim();
        assert_eq!(
            claim,
            Some(Claim::Unstarted(0)),
            "a new runtime has no worker"
        );
        self.monitor.close();
        self.seat_worker(0)
            .expect("fewer than 65,536 threads take part or wait at once")
    }

    /// Takes a seat for worker `index`; `None` if there are no more.
    pub(super) fn seat_worker(&self, index: usize) -> Option<&'static Seat> {
        let seat = Seat::take(self)?;
        seat.set_worker(index);
        // Release: pairs with the Acquire in `seat_at`.
        self.seats[index].store(ptr::from_ref(seat).cast_mut(), Ordering::Release);
        Some(seat)
    }

    /// Lets no task wait any more, and queues those that do, to be dropped.
    fn cancel_waiting(&self) {
        self.home.close(|job| {
            // SAFETY: registered, because the home is locked.
            unsafe { Job::cancel(job) };
        });
    }

    /// Lets no timer wait here any more. Futures that other runtimes poll are told to go elsewhere.
    fn close_timers(&self) {
        self.outside_timers.close();
        self.worker_seats().for_each(|seat| seat.timers.close());
    }

    /// Drops every queued task without running it.
    pub(crate) fn discard_queued(&self) {
        let queues = self.all_seats().map(|seat| &seat.tasks);
        let lanes = [
            &*self.injector,
            &*self.lanes.interactive,
            &*self.lanes.background,
        ];
        for queue in lanes.into_iter().chain(queues) {
            while let Some(run) = queue.take(1) {
                // SAFETY: 1. and 2.: taken from the queue, so it is ours alone.
                let is_dropped = unsafe { Job::perform(run.first, Action::Drop(self.home)) };
                self.count_dropped(is_dropped);
            }
        }
    }

    /// A task was taken from a queue to be dropped; it may have been run by then.
    pub(crate) fn count_dropped(&self, is_dropped: bool) {
        // Relaxed: a count.
        self.dropped
            .fetch_add(usize::from(is_dropped), Ordering::Relaxed);
    }
}

impl Pool for Shared {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        self.has_visible_work(None)
    }

    fn unpark(&self, worker: usize, waker: Waker) {
        let Some(seat) = self.seat_at(worker) else {
            return;
        };
        // Relaxed: a measurement.
        seat.woken_at
            .store(clock::ticks().max(1), Ordering::Relaxed);
        // Sockets wake workers far more often than loops do, and for less than it costs to move one.
        let is_watching = current::worker().is_some_and(|(own, _)| own.is_watching.get());
        if waker == Waker::GoesOn && !is_watching {
            seat.placement.steer_away();
        }
        seat.parker.unpark();
    }

    fn start(&self, worker: usize) -> bool {
        self.start_worker(worker)
    }

    fn arm_monitor(&self) {
        self.arm_monitor();
    }

    fn alert_monitor(&self) {
        self.monitor.alert(&self.this);
    }

    fn rouse_monitor(&self) {
        self.rouse_monitor();
    }

    fn look_for_end(&self) {
        ending::is_over(self);
    }
}

impl Ends for Shared {
    fn ending(&self) -> &Ending {
        &self.ending
    }

    fn home(&self) -> &Home {
        self.home
    }

    fn cancel_waiting(&self) {
        self.cancel_waiting();
    }

    fn discard_queued(&self) {
        self.discard_queued();
    }

    fn unpark_all(&self) {
        self.all_seats().for_each(|seat| seat.parker.unpark());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.is_the_parent_s() {
            return;
        }
        // The last thread is out: nobody sits. Who wakes a task from elsewhere may still visit, until `discard_rest`
        // finds the home deserted; see `_aliased`.
        self.monitor.close();
        self.close_timers();
        self.cancel_waiting();
        ending::discard_rest(self);
        self.home.give_back();
        self.outside_timers.give_back();
        self.all_seats().for_each(Seat::give_back);
    }
}

/// Outside threads that can take part at once; the next one runs its calls alone.
const GUESTS_MAX: usize = 1024;

/// The latest are enough to find where they come from.
const LONG_JOBS_KEPT: usize = 64;

/// Assumed until measured.
const WAKE_NANOS_FIRST: u64 = 50_000;
/// A sample above this says that the machine was busy, not how long a wake takes.
const WAKE_NANOS_BELIEVED_MAX: u64 = 100_000;
