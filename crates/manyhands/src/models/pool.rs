//! A small pool for the models: a queue, in some of several shards, in some with one of interactive tasks beside it, a
//! parker for each worker, and the steps of `runtime/sleep/waking.rs`.
//!
//! A thread that is started runs on the thread that starts it, which is one of its possible orders.

use super::{Count, Flag, Work};
use crate::job::{self, RunPermit, TaskRegistry};
use crate::queue::{ShardedQueue, TaskQueue};
use crate::runtime::ending::{self, Ending, Ends, VISITOR};
use crate::runtime::sleep::idle::{Claim, CountedFlag, Idle};
use crate::runtime::sleep::waking::{self, CallerNext, Next, Notify, Slept};
use crate::runtime::worker::steal_grace::StealGrace;
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;
use std::{mem, ptr};

/// The pool.
pub(super) struct Pool<const TASKS: usize> {
    pub(super) idle: Idle,
    pub(super) queue: ShardedQueue<Work>,
    /// That of interactive tasks, where a model has these.
    interactive: Option<ShardedQueue<Work>>,
    /// That of the queue's owner.
    pub(super) steal_grace: StealGrace,
    pub(super) tasks: [Work; TASKS],
    places: Vec<Place>,
    starts: Starts,
    /// Where tasks that wait are registered.
    registry: TaskRegistry,
    ending: Ending,
    pub(super) closing_waits: Parker,
    /// Where the first task is registered, if it waits.
    waiting: Option<job::TaskKey>,
    /// Which worker alone may run or drop the task that waits.
    bound_to: Option<usize>,
    /// That worker's own queue.
    bound: TaskQueue<Work>,
    /// The thread that drops the first task brings the second one, and sleeps here until that has been run or dropped.
    dropper: Option<Parker>,
    /// Only workers run or drop tasks, so that no end comes meanwhile. Such a pool must be closed.
    is_workers_only: bool,
    /// Somebody has the right to queue the first task; stands for the task's state.
    woken: Flag,
    /// Every task has been run. Unused where a task waits, or one is dropped: such a pool must be closed.
    over: Flag,
    run: Count,
}

/// Where a worker sleeps, and how many threads are there.
struct Place {
    parker: Parker,
    threads: Count,
}

/// Whether threads can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starts {
    Never,
    Always,
    /// A thread that is started leaves when it has run what is there.
    Briefly,
}

/// Whether a worker that falls asleep has slept for long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleeps {
    Shortly,
    Long,
}

impl<const TASKS: usize> Pool<TASKS> {
    /// A pool in which `limit` threads may run, whose `workers` are awake, and that has room for
    /// `more` of them.
    pub(super) fn new(limit: usize, workers: usize, more: usize, starts: Starts) -> Arc<Self> {
        Arc::new(Self::with_workers(limit, workers, more, starts))
    }

    /// A pool of `workers` workers, all awake, whose first task waits.
    pub(super) fn with_waiting(workers: usize) -> Arc<Self> {
        Self::with_waiting_for(workers, None)
    }

    /// As [`with_waiting`](Self::with_waiting), of a task that may run on the first worker only.
    pub(super) fn with_bound(workers: usize) -> Arc<Self> {
        Self::with_waiting_for(workers, Some(0))
    }

    /// A pool of one worker, whose first task brings the second one when it is run or dropped, and waits for that.
    pub(super) fn with_drop_that_waits() -> Arc<Self> {
        let mut pool = Self::with_workers(1, 1, 1, Starts::Briefly);
        pool.dropper = Some(Parker::default());
        Arc::new(pool)
    }

    /// A pool of one worker, which is awake, and alone runs or drops tasks before the end.
    pub(super) fn with_workers_only() -> Arc<Self> {
        let mut pool = Self::with_workers(1, 1, 0, Starts::Never);
        pool.is_workers_only = true;
        Arc::new(pool)
    }

    fn with_waiting_for(workers: usize, bound_to: Option<usize>) -> Arc<Self> {
        let mut pool = Self::with_workers(workers, workers, 0, Starts::Never);
        pool.bound_to = bound_to;
        let job = ptr::without_provenance_mut(64);
        pool.waiting = pool.registry.register(job, 0);
        Arc::new(pool)
    }

    /// A pool of `workers` workers, all awake, and of this number of shards.
    pub(super) fn with_shards(workers: usize, shards: usize) -> Arc<Self> {
        let mut pool = Self::with_workers(workers, workers, 0, Starts::Never);
        pool.queue = ShardedQueue::new(shards);
        Arc::new(pool)
    }

    /// As [`with_shards`](Self::with_shards), with interactive tasks too.
    pub(super) fn with_priorities(workers: usize, shards: usize) -> Arc<Self> {
        let mut pool = Self::with_workers(workers, workers, 0, Starts::Never);
        pool.queue = ShardedQueue::new(shards);
        pool.interactive = Some(ShardedQueue::new(shards));
        Arc::new(pool)
    }

    fn with_workers(limit: usize, workers: usize, more: usize, starts: Starts) -> Self {
        let pool = Self {
            idle: Idle::new(limit, workers + more),
            queue: ShardedQueue::new(1),
            interactive: None,
            steal_grace: StealGrace::default(),
            tasks: Work::some(),
            places: (0..workers + more).map(|_| Place::new()).collect(),
            starts,
            registry: TaskRegistry::default(),
            ending: Ending::default(),
            closing_waits: Parker::default(),
            waiting: None,
            bound_to: None,
            bound: TaskQueue::default(),
            dropper: None,
            is_workers_only: false,
            woken: Flag::new(),
            over: Flag::new(),
            run: Count::new(),
        };
        for worker in 0..workers.min(limit) {
            assert_eq!(pool.idle.claim(), Some(Claim::Unstarted(worker)));
            pool.attach(worker);
        }
        pool
    }

    /// Wakes the task that waits, from outside.
    pub(super) fn wake_waiting(&self) {
        let Some(place) = self.waiting else { return };
        if self.woken.set() {
            return;
        }
        match self.bound_to {
            None => self
                .registry
                .with_runtime(place.shard(), |_| self.inject(0)),
            Some(worker) => {
                let task = &self.tasks[0];
                task.prepare();
                let (bound, shard) = (&self.bound, place.shard());
                ending::queue_for_worker(self, shard, bound, task.unqueued(), worker);
            }
        }
    }

    /// Queues a task and rings for it.
    pub(super) fn inject(&self, number: usize) {
        self.queue(number, Notify::Others);
    }

    /// Queues a short task and rings for it.
    pub(super) fn inject_short(&self, number: usize) {
        self.queue(number, Notify::OthersOfShort);
    }

    /// Queues a task, as the queue's owner.
    pub(super) fn queue(&self, number: usize, notify: Notify) {
        let task = &self.tasks[number];
        task.prepare();
        let queue = self.first_shard();
        waking::queue(self, &self.steal_grace, queue, task.unqueued(), notify);
    }

    /// Queues a task from outside, as pusher number `pusher`.
    pub(super) fn inject_from(&self, pusher: usize, number: usize) {
        self.inject_into(&self.queue, pusher, number);
    }

    /// Queues an interactive task, as pusher number `pusher`.
    pub(super) fn inject_interactive(&self, pusher: usize, number: usize) {
        let queue = self.interactive.as_ref();
        self.inject_into(queue.expect("the model has these"), pusher, number);
    }

    fn inject_into(&self, queue: &ShardedQueue<Work>, pusher: usize, number: usize) {
        let task = &self.tasks[number];
        task.prepare();
        waking::queue_outside(self, queue.shard(pusher), task.unqueued(), false);
    }

    /// Whether the queue has several shards, and no owner.
    fn is_sharded(&self) -> bool {
        self.queue.only().is_none()
    }

    /// The only one, where the queue has an owner.
    fn first_shard(&self) -> &TaskQueue<Work> {
        self.queue.shard(0)
    }

    /// A worker's life, until every task has been run.
    pub(super) fn work(&self, index: usize, sleeps: Sleeps) {
        let mut worker = Worker {
            pool: self,
            index,
            steal_grace: StealGrace::default(),
            is_within_limit: false,
            in_short_task: CountedFlag::default(),
            sleeps,
        };
        let mut permit = RunPermit::new();
        while !self.leaves(index, permit.again()) {
            match waking::next(self, index, &mut worker, permit.again()) {
                Next::FoundWork(task) | Next::Searched(task) => self.run(task),
                Next::FoundShort(task) => {
                    self.run(task);
                    self.idle.in_short_tasks.unmark(&worker.in_short_task);
                }
                Next::Slept(Slept::Left) | Next::SleptOverLimit(Slept::Left) => {
                    return self.vacate(index);
                }
                // What is visible may not be takeable yet.
                Next::Slept(_) | Next::SleptOverLimit(_) => thread::yield_now(),
            }
        }
        self.discard_own(index);
    }

    /// A worker's life until it has run one task, or every task has been run. Then it counts as awake still, as one does
    /// that is kept by what it runs.
    pub(super) fn work_until_kept(&self, index: usize) {
        let mut worker = Worker {
            pool: self,
            index,
            steal_grace: StealGrace::default(),
            is_within_limit: false,
            in_short_task: CountedFlag::default(),
            sleeps: Sleeps::Shortly,
        };
        let mut permit = RunPermit::new();
        while !self.leaves(index, permit.again()) {
            match waking::next(self, index, &mut worker, permit.again()) {
                Next::FoundWork(task) | Next::Searched(task) => return self.run(task),
                _ => thread::yield_now(),
            }
        }
    }

    /// Worker: drops the tasks that only it may drop.
    fn discard_own(&self, worker: usize) {
        while let Some(task) = self.take_own(worker) {
            self.run(task);
        }
    }

    /// Worker: takes a task that only it may run. Where none can come, it does not look, so that loom has less to try.
    fn take_own(&self, worker: usize) -> Option<&Work> {
        let own = self.own(worker)?;
        own.take(1).map(|run| Work::taken(run.split_first().0))
    }

    /// Whether tasks wait that any worker may take.
    fn has_tasks(&self) -> bool {
        let interactive = self.interactive.as_ref();
        !self.queue.is_empty() || interactive.is_some_and(|queue| !queue.is_empty())
    }

    /// Worker: takes a task from the queue, or an interactive one before. With several shards it wakes another worker for
    /// what is left; with one, loom has enough to try without that.
    fn take_shared(&self, worker: usize) -> Option<&Work> {
        let interactive = self.interactive.as_ref();
        let interactive = interactive.and_then(|queue| queue.take(|| worker, 1));
        let run = interactive.or_else(|| self.queue.take(|| worker, 1))?;
        if self.is_sharded() {
            waking::leave_rest(self, self.has_tasks());
        }
        Some(Work::taken(run.split_first().0))
    }

    fn own(&self, worker: usize) -> Option<&TaskQueue<Work>> {
        (self.bound_to == Some(worker)).then_some(&self.bound)
    }

    /// Another thread comes to the place of a worker that was claimed.
    pub(super) fn attach(&self, worker: usize) {
        let before = self.places[worker].threads.add(1);
        assert_eq!(before, 0, "two threads have one place");
    }

    fn vacate(&self, worker: usize) {
        self.places[worker].threads.sub(1);
        waking::vacate(self, worker);
    }

    fn is_over(&self) -> bool {
        self.over.is_set() || ending::is_over(self)
    }

    /// Worker, between two pieces of work: whether it leaves.
    fn leaves(&self, worker: usize, permit: RunPermit<'_>) -> bool {
        let discard_own = |_: RunPermit<'_>| self.discard_own(worker);
        self.over.is_set() || ending::leaves(self, permit, discard_own)
    }

    /// Runs or drops a task.
    fn run(&self, task: &Work) {
        let is_helped = self.is_workers_only && !self.ending.has_ended();
        task.run();
        assert!(
            !is_helped || !self.ending.has_ended(),
            "nobody is left who could help"
        );
        if let Some(dropper) = &self.dropper {
            if task.number == 0 {
                self.inject(1);
                waking::begin_block(self);
                dropper.park();
                waking::end_block(self);
            } else {
                dropper.unpark();
            }
        }
        if let Some(place) = self.waiting {
            if task.number == 0 {
                self.registry.take_out(place);
            }
        } else if self.dropper.is_none() && !self.is_workers_only && self.run.add(1) + 1 == TASKS {
            self.over.set();
            self.unpark_all();
        }
    }

    /// A worker looks again for as long as it sees something.
    pub(super) fn run_what_is_there(&self) {
        while !self.queue.is_empty() {
            match self.queue.take(|| 0, 1) {
                Some(run) => self.run(Work::taken(run.split_first().0)),
                None => thread::yield_now(),
            }
        }
    }
}

impl Place {
    fn new() -> Self {
        Self {
            parker: Parker::default(),
            threads: Count::new(),
        }
    }
}

impl<const TASKS: usize> waking::Pool for Pool<TASKS> {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        self.has_tasks()
    }

    fn has_unowned_work(&self) -> bool {
        self.has_tasks()
    }

    fn unpark(&self, worker: usize, _: CallerNext) {
        self.places[worker].parker.unpark();
    }

    fn start(&self, worker: usize) -> bool {
        if self.starts == Starts::Never || self.ending.has_ended() {
            return false;
        }
        self.attach(worker);
        self.run_what_is_there();
        if self.starts == Starts::Briefly {
            self.idle.announce(worker);
            ending::is_over(self);
            if self.idle.leave(worker) {
                self.vacate(worker);
            }
        }
        true
    }

    fn arm_monitor(&self) {}

    fn alert_monitor(&self) {}

    fn rouse_monitor(&self) {}

    fn look_for_end(&self) {
        ending::is_over(self);
    }
}

impl<const TASKS: usize> Ends for Pool<TASKS> {
    fn ending(&self) -> &Ending {
        &self.ending
    }

    fn registry(&self) -> &TaskRegistry {
        &self.registry
    }

    fn cancel_waiting(&self) {
        self.registry.close(|_| self.wake_waiting());
    }

    fn pass_calls_on(&self) {}

    fn discard_queued(&self, _permit: RunPermit<'_>) {
        while let Some(run) = self.queue.take(|| 0, 1) {
            self.run(Work::taken(run.split_first().0));
        }
    }

    fn inside(&self, f: impl FnOnce()) {
        self.idle.begin(VISITOR);
        f();
        waking::leave_external(self, VISITOR);
    }

    fn unpark_all(&self) {
        self.places.iter().for_each(|place| place.parker.unpark());
    }

    fn unpark_closing(&self) {
        self.closing_waits.unpark();
    }
}

/// A worker on the pool's queue.
struct Worker<'pool, const TASKS: usize> {
    pool: &'pool Pool<TASKS>,
    index: usize,
    /// On a queue of its own, where nothing comes.
    steal_grace: StealGrace,
    is_within_limit: bool,
    in_short_task: CountedFlag,
    sleeps: Sleeps,
}

impl<'pool, const TASKS: usize> waking::Worker for Worker<'pool, TASKS> {
    type FoundWork = &'pool Work;

    fn is_within_limit(&mut self) -> &mut bool {
        &mut self.is_within_limit
    }

    fn find(&mut self) -> Option<&'pool Work> {
        if self.pool.ending.is_closing() {
            return None;
        }
        let own = self.pool.take_own(self.index);
        own.or_else(|| self.pool.take_shared(self.index))
    }

    fn in_short_task(&self) -> &CountedFlag {
        &self.in_short_task
    }

    fn find_short(&mut self) -> Option<Self::FoundWork> {
        let may = self.pool.idle.may_run_short_task();
        may.then(|| self.find()).flatten()
    }

    fn may_search(&self) -> bool {
        true
    }

    fn spin(&mut self) -> Option<&'pool Work> {
        self.find()
    }

    fn has_more(&self) -> bool {
        self.pool.has_tasks()
    }

    fn steal_grace(&self) -> &StealGrace {
        &self.steal_grace
    }

    fn announced(&mut self) {}

    fn is_over(&self) -> bool {
        self.pool.is_over()
    }

    fn has_own_work(&self) -> bool {
        let own = self.pool.own(self.index);
        own.is_some_and(|own| !own.is_empty())
    }

    fn sees_work(&self) -> bool {
        if self.pool.is_sharded() {
            self.pool.has_tasks()
        } else {
            waking::has_tasks_for_others(&self.pool.steal_grace, self.pool.first_shard())
        }
    }

    fn is_spare(&mut self) -> bool {
        mem::replace(&mut self.sleeps, Sleeps::Shortly) == Sleeps::Long
    }

    fn park(&mut self) {
        self.pool.places[self.index].parker.park();
    }

    fn is_timer_due(&self) -> bool {
        false
    }

    fn awake(&mut self, _: Slept) {}
}
