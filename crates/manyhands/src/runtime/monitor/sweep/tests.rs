//! Unit tests of `sweep.rs`: when a sweep wakes or starts a worker for a task that waits.

use super::{Sweep, Sweeper};
use crate::job::RunPermit;
use crate::runtime::monitor::starved::Long;
use crate::runtime::policy::{IN_DOUBT, STALLED_AFTER};
use crate::runtime::{Activity, CallerNext, Claim, Pool, Stall, ThreadChangeReason, current};
use crate::sync::{clock, wait_until};
use crate::{Runtime, task};
use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// A task that runs until `end`.
struct Occupying {
    end: Sender<()>,
    worker: Receiver<Option<usize>>,
}

impl Occupying {
    fn begin(runtime: &Runtime) -> Self {
        let (end, ends) = mpsc::channel();
        let (send, worker) = mpsc::channel();
        let body = move || {
            task::blocking(|| wait_for_drop(&ends));
            let _ = send.send(current::worker().and_then(|(slot, _)| slot.worker()));
        };
        runtime.install(|| drop(task::run(body)));
        Self { end, worker }
    }

    /// One for which no worker is woken: the push relies on a worker that searches.
    fn begin_unnoticed(runtime: &Runtime) -> Self {
        let idle = &runtime.shared().idle;
        idle.search(RunPermit::new(), || Self::begin(runtime))
    }

    /// Returns the worker that has run it.
    fn end(self) -> Option<usize> {
        drop(self.end);
        self.worker.recv_timeout(LIMIT).expect("a worker runs it")
    }
}

fn wait_for_drop(receiver: &Receiver<()>) {
    let ended = receiver.recv_timeout(LIMIT);
    assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
}

/// A runtime of two workers, none of them started, whose only sweeps are those of the test.
fn without_monitor() -> Runtime {
    let runtime = Runtime::builder().workers(2).build();
    let runtime = runtime.expect("the number is right");
    runtime.shared().monitor.close();
    runtime
}

fn sweep(runtime: &Runtime) {
    let _ = Sweeper::default().sweep(runtime.shared());
}

#[test]
fn overcommit_that_began_between_two_sweeps_lasts_as_any_other() {
    let runtime = without_monitor();
    let shared = runtime.shared();
    let mut sweeper = Sweeper::default();
    let mut overcommits_after = |time| {
        let _ = sweeper.sweep_at(shared, clock::now() + time);
        shared.idle.overcommits()
    };
    assert!(!overcommits_after(Duration::ZERO));
    shared.idle.begin_overcommit(2);
    assert!(overcommits_after(Duration::ZERO));
    assert!(overcommits_after(Duration::ZERO));
    assert!(!overcommits_after(LIMIT));
}

#[test]
fn tasks_beyond_the_limit_starve_others_only_where_they_have_the_places() {
    let runtime = without_monitor();
    let shared = runtime.shared();
    let stats = |starving, starving_beyond| Long {
        starving,
        starving_beyond,
        ..Long::default()
    };
    assert_eq!(stats(0, 5).starving(shared), 2, "nobody else runs");
    shared.idle.begin(Activity::ExternalThread);
    assert_eq!(stats(1, 5).starving(shared), 2);
    shared.idle.begin(Activity::ExternalThread);
    assert_eq!(stats(2, 5).starving(shared), 2);
    assert_eq!(stats(1, 5).starving(shared), 1, "the other has just begun");
}

#[test]
fn a_task_beside_as_many_callers_outside_as_workers_gets_a_thread_at_the_next_sweep() {
    let runtime = without_monitor();
    let (entered, all_entered) = mpsc::channel();
    let call = |end: Receiver<()>| {
        let _entered = runtime.enter();
        current::with_slot(|slot| {
            entered.send(slot.is_some()).expect("the test waits");
            wait_for_drop(&end);
        });
    };
    let (threads, worker) = thread::scope(|scope| {
        let calls = [(); 2].map(|()| {
            let (end, ends) = mpsc::channel();
            scope.spawn(|| call(ends));
            assert_eq!(all_entered.recv_timeout(LIMIT), Ok(true));
            end
        });
        let occupying = Occupying::begin_unnoticed(&runtime);
        sweep(&runtime);
        let threads = runtime.shared().idle.threads();
        // Before the calls end, which look for a thread too if the first has not come yet.
        let worker = occupying.end();
        drop(calls);
        (threads, worker)
    });
    assert_eq!((threads, worker), (1, Some(0)));
}

#[test]
fn a_sweep_wakes_nobody_while_a_worker_that_was_woken_has_not_run_yet() {
    let runtime = without_monitor();
    let shared = runtime.shared();
    assert_eq!(shared.idle.claim(), Some(Claim::Unstarted(0)));
    assert!(shared.start(0));
    wait_until("it has looked for work, and sleeps", || {
        let slot = shared.worker_slots().next();
        slot.is_some_and(|slot| slot.parker.is_parked())
    });
    assert_eq!(shared.idle.claim(), Some(Claim::Asleep(0)));
    let occupying = Occupying::begin_unnoticed(&runtime);
    sweep(&runtime);
    let threads = shared.idle.threads();
    shared.unpark(0, CallerNext::GoesOn);
    assert_eq!((threads, occupying.end()), (1, Some(0)));
}

#[test]
fn a_sweep_starts_no_thread_while_one_is_being_started() {
    let runtime = without_monitor();
    let shared = runtime.shared();
    assert_eq!(shared.idle.claim(), Some(Claim::Unstarted(0)));
    let occupying = Occupying::begin_unnoticed(&runtime);
    sweep(&runtime);
    let threads = shared.idle.threads();
    assert!(shared.start(0));
    assert_eq!((threads, occupying.end()), (1, Some(0)));
}

#[test]
fn a_sweep_starts_another_thread_where_one_has_been_on_its_way_for_long() {
    let runtime = without_monitor();
    let shared = runtime.shared();
    assert_eq!(shared.idle.claim(), Some(Claim::Unstarted(0)));
    let occupying = Occupying::begin_unnoticed(&runtime);
    let mut sweeper = Sweeper::default();
    let begun = clock::now();
    let _ = sweeper.sweep_at(shared, begun);
    let at_first = shared.idle.threads();
    let _ = sweeper.sweep_at(shared, begun + IN_DOUBT);
    assert_eq!((at_first, occupying.end()), (1, Some(1)));
    assert!(shared.start(0));
}

#[test]
fn a_sweep_wakes_a_worker_while_the_hook_of_one_that_leaves_takes_long() {
    let (say, left) = mpsc::channel();
    let (end_hooks, hooks_end) = mpsc::channel();
    let hooks_end = Mutex::new(hooks_end);
    let hook = move |worker| {
        let _ = say.send(worker);
        wait_for_drop(&hooks_end.lock().expect("nobody panics with it"));
    };
    let builder = Runtime::builder()
        .workers(1)
        .thread_keep_alive(Duration::ZERO);
    let runtime = builder.on_thread_stop(hook).build();
    let runtime = runtime.expect("the number is right");
    let shared = runtime.shared();
    let two = [0, 1].map(|_| Occupying::begin(&runtime));
    wait_until("both run", || runtime.metrics().blocked == 2);
    two.into_iter()
        .for_each(|occupying| assert!(occupying.end().is_some()));
    let left = left.recv_timeout(LIMIT).expect("one is not needed");
    wait_until("the other one sleeps", || shared.idle.is_inactive());
    let occupying = Occupying::begin_unnoticed(&runtime);
    sweep(&runtime);
    assert_eq!(occupying.end(), Some(1 - left));
    drop(end_hooks);
}

/// A runtime of one thread, without a monitor, that counts its stalls.
fn stalling() -> (Runtime, Receiver<ThreadChangeReason>) {
    let (tell, stalls) = mpsc::channel();
    let tell = move |stall: &Stall| {
        let _ = tell.send(stall.reason);
    };
    let builder = Runtime::builder().workers(1).max_threads(1);
    let runtime = builder.on_stall(tell).build();
    let runtime = runtime.expect("the numbers are right");
    runtime.shared().monitor.close();
    (runtime, stalls)
}

/// Sweeps when so much more time has passed, and counts the stalls that were reported.
fn reports(
    runtime: &Runtime,
    stalls: &Receiver<ThreadChangeReason>,
) -> impl FnMut(Duration) -> (Sweep, usize) {
    let mut sweeper = Sweeper::default();
    let mut at = clock::now();
    move |passed| {
        at += passed;
        let sweep = sweeper.sweep_at(runtime.shared(), at);
        (sweep, stalls.try_iter().count())
    }
}

#[test]
fn a_stall_is_reported_once_after_a_time_and_again_when_the_pool_has_gone_on() {
    let (runtime, stalls) = stalling();
    let idle = &runtime.shared().idle;
    let mut reported_after = reports(&runtime, &stalls);
    let (moment, long) = (Duration::from_millis(1), STALLED_AFTER);
    let blocked = Occupying::begin(&runtime);
    wait_until("it is blocked", || runtime.metrics().blocked == 1);
    assert_eq!(reported_after(long), (Sweep::Nothing, 0), "nothing waits");
    let behind = Occupying::begin(&runtime);
    for _ in 0..2 {
        assert_eq!(reported_after(long), (Sweep::Busy, 0), "it has just begun");
        assert_eq!(reported_after(long - moment), (Sweep::Busy, 0));
        assert_eq!(reported_after(moment), (Sweep::Busy, 1));
        assert_eq!(
            reported_after(long),
            (Sweep::Busy, 0),
            "it has been reported"
        );
        idle.end(Activity::Blocked);
        assert_eq!(reported_after(long).1, 0, "a thread runs");
        idle.begin(Activity::Blocked);
    }
    blocked.end();
    behind.end();
}

#[test]
fn a_stall_that_begins_as_another_one_ends_is_reported_too() {
    let (runtime, stalls) = stalling();
    let mut reported_after = reports(&runtime, &stalls);
    let blocked_before = |queued| {
        wait_until("it is blocked", || {
            let now = runtime.metrics();
            (now.blocked, now.queued + now.queued_outside) == (1, queued)
        });
    };
    let [first, second, third] = [(); 3].map(|()| Occupying::begin(&runtime));
    blocked_before(2);
    assert_eq!(reported_after(STALLED_AFTER), (Sweep::Busy, 0));
    assert_eq!(reported_after(STALLED_AFTER), (Sweep::Busy, 1));
    // No sweep sees a thread run.
    first.end();
    blocked_before(1);
    assert_eq!(reported_after(STALLED_AFTER), (Sweep::Busy, 0));
    assert_eq!(reported_after(STALLED_AFTER), (Sweep::Busy, 1));
    second.end();
    third.end();
}

#[test]
fn where_all_are_blocked_a_worker_is_woken_although_one_counts_as_searching() {
    let runtime = without_monitor();
    let idle = &runtime.shared().idle;
    // Blocked in what it ran while it searched.
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    idle.search(RunPermit::new(), || {
        idle.begin(Activity::Blocked);
        let occupying = Occupying::begin(&runtime);
        let mut sweeper = Sweeper::default();
        let begun = clock::now();
        let _ = sweeper.sweep_at(runtime.shared(), begun);
        let _ = sweeper.sweep_at(runtime.shared(), begun + IN_DOUBT);
        assert_eq!(occupying.end(), Some(1));
        idle.end(Activity::Blocked);
    });
    assert!(runtime.shared().start(0));
}

#[test]
fn a_thread_that_waits_in_its_start_hook_is_replaced_after_a_while() {
    let (let_go, gate) = mpsc::channel();
    let gate = Mutex::new(gate);
    let hook = move |worker| {
        if worker == 0 {
            task::blocking(|| wait_for_drop(&gate.lock().expect("nobody panics with it")));
        }
    };
    let builder = Runtime::builder().workers(1).on_thread_start(hook);
    let runtime = builder.build().expect("the number is right");
    let shared = runtime.shared();
    shared.monitor.close();
    let occupying = Occupying::begin(&runtime);
    let (mut sweeper, begun) = (Sweeper::default(), clock::now());
    wait_until("it is in the hook", || {
        shared.worker_slots().any(|slot| slot.job().is_some())
    });
    let moment = Duration::from_millis(1);
    let mut at = begun;
    while at < begun + IN_DOUBT - moment {
        let _ = sweeper.sweep_at(shared, at);
        assert_eq!(shared.idle.threads(), 1);
        at += moment;
    }
    // It may not sleep yet.
    let sweeper = RefCell::new((sweeper, at));
    wait_until("another thread is started", || {
        let (sweeper, at) = &mut *sweeper.borrow_mut();
        *at += IN_DOUBT;
        let _ = sweeper.sweep_at(shared, *at);
        shared.idle.threads() > 1
    });
    assert_eq!(occupying.end(), Some(1));
    drop(let_go);
}

const LIMIT: Duration = Duration::from_secs(60);
