//! Who may take a job, and who is woken for it: `src/wait.rs`, `src/worker.rs` and `src/registry.rs` on `src/slot.rs`,
//! `src/executions.rs` and `src/sleep.rs`.
//!
//! Threads: one that waits in a slot, one in another slot, which runs or sleeps, and one outside of the pool. Operations: fork,
//! spawn, hand over, inject; find and execute; wait at a latch, and set it.
//! Property: each job is run once; a waiter runs no job that is not a part of what it waits for, unless all other threads wait; and
//! no thread sleeps for ever beside a job that it may run, or looks for ever when there is none.

use crate::handlers::Handlers;
use crate::job::{Awaited, HeapJob, JobRef};
use crate::latch::{CountLatch, Latch};
use crate::registry::Registry;
use crate::stack_job::StackJob;
use crate::worker::WorkerThread;
use loom::thread;
use std::cell::Cell;
use std::ops::Deref;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

thread_local! {
    /// For the model that runs.
    static DO_NAPS_END: Cell<bool> = const { Cell::new(false) };
}

/// Whether a sleep with a limit ends without a token. If not, the model shows that nobody relies on that.
pub(crate) fn do_naps_end() -> bool {
    DO_NAPS_END.get()
}

/// A thread's half of a slot, or something else that each thread of a model may have: all are on one thread of the system.
struct Here<T>(Rc<T>);

// SAFETY: see the type.
unsafe impl<T> Send for Here<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Here<T> {}

impl<T> Here<T> {
    fn new(value: T) -> Self {
        Self(Rc::new(value))
    }
}

impl<T> Clone for Here<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Deref for Here<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A pool with threads of its own, and their halves of the slots. One that no thread of the model has is awake.
fn pool<const SLOTS: usize>() -> (Arc<Registry>, [Here<WorkerThread>; SLOTS]) {
    let (registry, workers) = WorkerThread::of_new_pool(SLOTS, false, None, Handlers::default());
    let workers: Vec<_> = workers.into_iter().map(Here::new).collect();
    let Ok(workers) = workers.try_into() else {
        unreachable!("as many as slots");
    };
    (registry, workers)
}

/// A job that is awaited so.
fn job(awaited: Awaited, closure: impl FnOnce() + Send) -> JobRef {
    // SAFETY: each model keeps what its jobs borrow until they have run.
    unsafe { HeapJob::job(awaited, closure) }
}

/// The calling thread forks a closure, and waits for it. Others have time to take it.
fn fork_and_wait(worker: &WorkerThread, closure: impl FnOnce() + Send) {
    let latch = Latch::new(Some(worker), worker.registry());
    let job = StackJob::new(latch, |_| closure());
    worker.push(job.as_job());
    thread::yield_now();
    worker.wait_until(job.latch());
}

/// The calling thread runs whatever there is.
fn run_all(worker: &WorkerThread) {
    while let Some(job) = worker.find() {
        worker.execute(job);
    }
}

/// Sets a latch from within a job.
fn set(latch: &Latch) {
    // SAFETY: 1. the model keeps it. 2. Jobs run in a slot.
    unsafe { Latch::set(ptr::from_ref(latch)) };
}

/// As [`set`], for one of those that a latch counts.
fn count_off(latch: &CountLatch) {
    // SAFETY: as in `set`.
    unsafe { CountLatch::decrement(ptr::from_ref(latch)) };
}

/// What runs once; and if it is a stranger to a waiter, on the thread that has made this.
struct Once {
    thread: Option<thread::ThreadId>,
    has_run: Cell<bool>,
}

impl Once {
    fn anywhere() -> Here<Self> {
        let (thread, has_run) = (None, Cell::new(false));
        Here::new(Self { thread, has_run })
    }

    fn here() -> Here<Self> {
        let (thread, has_run) = (Some(thread::current().id()), Cell::new(false));
        Here::new(Self { thread, has_run })
    }

    fn run(&self) {
        let is_stranger = self.thread.is_some_and(|it| it != thread::current().id());
        assert!(!is_stranger, "a waiter runs a stranger");
        assert!(!self.has_run.replace(true), "a job is run twice");
    }
}

/// A thread runs what another one waits for, and then, at the same level, a stranger. Both fork.
fn a_waiter_runs_no_stranger_that_lies_where_a_part_lay() {
    let (registry, [waiter, runner, _awake]) = pool();
    let (part, stranger) = (Once::anywhere(), Once::here());
    let latch = Here::new(Latch::new(Some(&waiter), &registry));
    let waits = thread::spawn({
        let latch = latch.clone();
        move || waiter.wait_until(&latch)
    });
    let whole = job(latch.awaited(), || {
        thread::yield_now();
        fork_and_wait(&runner, || part.run());
        set(&latch);
    });
    runner.execute(whole);
    let forks = || fork_and_wait(&runner, || stranger.run());
    runner.execute(job(Awaited::NOBODY, forks));
    waits.join().unwrap();
    assert!(
        part.has_run.get() && stranger.has_run.get(),
        "a job is lost"
    );
}

/// A closure of a scope spawns one of its own scope and one of another, whose waiter is busy elsewhere.
fn a_waiter_takes_its_own_of_two_scopes_closures() {
    let (registry, [waiter, runner, awake]) = pool();
    let scope = Here::new(CountLatch::new(2, Some(&waiter), &registry));
    let other_scope = CountLatch::new(1, Some(&awake), &registry);
    let (spawned, foreign) = (Once::anywhere(), Once::here());
    let waits = thread::spawn({
        let scope = scope.clone();
        move || waiter.wait_until(scope.latch())
    });
    let first = job(scope.latch().awaited(), || {
        thread::yield_now();
        let closure = || {
            spawned.run();
            count_off(&scope);
        };
        runner.push_spawned(job(scope.latch().awaited(), closure));
        thread::yield_now();
        let closure = || {
            foreign.run();
            count_off(&other_scope);
        };
        runner.push_spawned(job(other_scope.latch().awaited(), closure));
        thread::yield_now();
        count_off(&scope);
    });
    runner.execute(first);
    run_all(&runner);
    waits.join().unwrap();
    // The waiter may have handed it over last.
    run_all(&runner);
    assert!(
        spawned.has_run.get() && foreign.has_run.get(),
        "a job is lost"
    );
}

/// A thread that waits is told of a closure from outside, and no other is free for that.
fn a_waiter_is_woken_for_what_is_handed_to_it() {
    let (registry, [waiter, _awake]) = pool();
    let latch = Here::new(Latch::new(Some(&waiter), &registry));
    let brings = {
        let latch = latch.clone();
        job(latch.awaited(), move || set(&latch))
    };
    let outside = thread::spawn(move || registry.hand_over(brings));
    waiter.wait_until(&latch);
    outside.join().unwrap();
}

/// A thread that waits for a scope executes a closure in which it waits for something else. That comes by another closure of the
/// scope, which it may not run there.
fn wait_on_top_of_a_scope(bring: fn(&WorkerThread, JobRef)) {
    let (registry, [waiter, idle]) = pool();
    let brought = Once::here();
    let waits = thread::spawn({
        let brought = brought.clone();
        move || {
            let scope = Latch::new(Some(&waiter), waiter.registry());
            let closure = || {
                let needed = Latch::new(Some(&waiter), waiter.registry());
                let brings = job(scope.awaited(), || {
                    brought.run();
                    set(&needed);
                });
                bring(&waiter, brings);
                waiter.wait_until(&needed);
            };
            waiter.execute(job(scope.awaited(), closure));
            waiter.registry().remove_user();
        }
    });
    idle.run();
    waits.join().unwrap();
    assert!(brought.has_run.get() && registry.has_ended());
}

fn an_idle_thread_comes_for_what_is_handed_to_a_waiter_that_may_not_run_it_now() {
    wait_on_top_of_a_scope(|waiter, job| {
        let registry = Arc::clone(waiter.registry());
        thread::spawn(move || registry.hand_over(job));
    });
}

/// The waiter has pushed the closure itself. A push has no fence, so the idle thread needs its nap.
fn an_idle_thread_comes_for_what_a_waiter_has_pushed_and_may_not_run_now() {
    DO_NAPS_END.set(true);
    wait_on_top_of_a_scope(|waiter, job| waiter.push(job));
    DO_NAPS_END.set(false);
}

/// Both threads of a pool wait for what only an injected job brings.
fn one_of_two_waiters_is_the_last_resort() {
    let (registry, [first, second]) = pool();
    let latches = [&first, &second].map(|it| Here::new(Latch::new(Some(it), &registry)));
    let brings = job(Awaited::NOBODY, {
        let latches = latches.clone();
        move || latches.iter().for_each(|latch| set(latch))
    });
    let waits = thread::spawn({
        let latch = latches[1].clone();
        move || second.wait_until(&latch)
    });
    let injects = thread::spawn(move || registry.inject(brings));
    first.wait_until(&latches[0]);
    waits.join().unwrap();
    injects.join().unwrap();
}

/// Both threads of a pool wait, and two strangers lie beside them.
fn one_of_two_waiters_is_the_last_resort_at_a_time() {
    let (registry, [first, second]) = pool();
    let latches = [&first, &second].map(|it| Here::new(Latch::new(Some(it), &registry)));
    let (is_running, has_run) = (Here::new(Cell::new(false)), Here::new(Cell::new(0)));
    for _ in 0..2 {
        let (is_running, has_run) = (is_running.clone(), has_run.clone());
        let latches = latches.clone();
        let stranger = move || {
            let is_beside_another = is_running.replace(true);
            assert!(
                !is_beside_another,
                "a waiter runs a stranger beside a thread that runs"
            );
            thread::yield_now();
            is_running.set(false);
            has_run.set(has_run.get() + 1);
            if has_run.get() == 2 {
                latches.iter().for_each(|latch| set(latch));
            }
        };
        registry.inject(job(Awaited::NOBODY, stranger));
    }
    let waits = thread::spawn({
        let latch = latches[1].clone();
        move || second.wait_until(&latch)
    });
    first.wait_until(&latches[0]);
    waits.join().unwrap();
}

/// A waiter falls asleep while another one is about to see what it may run.
fn a_waiter_is_no_last_resort_while_another_one_takes_what_it_may_run() {
    let (registry, [waiter, runs]) = pool();
    let latches = [&waiter, &runs].map(|it| Here::new(Latch::new(Some(it), &registry)));
    let has_run = Here::new(Cell::new(false));
    registry.inject(job(Awaited::NOBODY, {
        let has_run = has_run.clone();
        move || assert!(has_run.get(), "a waiter runs a stranger")
    }));
    let part = job(latches[1].awaited(), {
        let latches = latches.clone();
        move || {
            has_run.set(true);
            latches.iter().for_each(|latch| set(latch));
        }
    });
    let waits = thread::spawn({
        let latch = latches[1].clone();
        move || runs.wait_until(&latch)
    });
    registry.hand_over(part);
    waiter.wait_until(&latches[0]);
    waits.join().unwrap();
    run_all(&waiter);
}

/// The only thread of a pool waits for a thread of another one.
fn who_waits_alone_sleeps_until_its_latch_is_set() {
    let (_registry, [waiter]) = pool();
    let (other_registry, [other]) = pool();
    let latch = Here::new(Latch::new(Some(&waiter), &other_registry));
    let sets = {
        let latch = latch.clone();
        move || set(&latch)
    };
    let runs = thread::spawn(move || other.execute(job(Awaited::NOBODY, sets)));
    waiter.wait_until(&latch);
    runs.join().unwrap();
}

/// Runs them all.
pub(crate) fn check() {
    let models: [(usize, fn()); _] = [
        (1, a_waiter_runs_no_stranger_that_lies_where_a_part_lay),
        (1, a_waiter_takes_its_own_of_two_scopes_closures),
        (3, a_waiter_is_woken_for_what_is_handed_to_it),
        (
            2,
            an_idle_thread_comes_for_what_is_handed_to_a_waiter_that_may_not_run_it_now,
        ),
        (
            1,
            an_idle_thread_comes_for_what_a_waiter_has_pushed_and_may_not_run_now,
        ),
        (2, one_of_two_waiters_is_the_last_resort),
        (3, one_of_two_waiters_is_the_last_resort_at_a_time),
        (
            2,
            a_waiter_is_no_last_resort_while_another_one_takes_what_it_may_run,
        ),
        (3, who_waits_alone_sleeps_until_its_latch_is_set),
    ];
    for (preemptions_max, model) in models {
        crate::check(preemptions_max, model);
    }
}
