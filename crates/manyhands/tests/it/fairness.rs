//! Loops and tasks on one busy pool: neither starves the other.
//!
//! No thread may be added beyond the workers, or the monitor's would run what a helper should leave for.

use crate::support::{
    busy_micros, holds_within, loop_until, of_threads, on, on_runtime, wait_until,
};
use manyhands::parallel::{self, from_iter};
use manyhands::{Scope, scope, task};
use std::collections::HashSet;
use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Which threads have been somewhere.
#[derive(Default)]
struct Threads(Mutex<HashSet<ThreadId>>);

impl Threads {
    /// The calling thread is there, for a microsecond.
    fn enter(&self) {
        self.0.lock().unwrap().insert(thread::current().id());
        busy_micros(1);
    }

    fn are_several(&self) -> bool {
        self.0.lock().unwrap().len() >= 2
    }
}

#[test]
fn a_task_that_is_spawned_beside_an_endless_loop_runs() {
    on(of_threads(2), |runtime| {
        let _entered = runtime.enter();
        let stop = Arc::new(AtomicBool::new(false));
        let looping = task::run({
            let stop = Arc::clone(&stop);
            move || loop_until(&stop, || busy_micros(1))
        });
        for _ in 0..100 {
            let short = Arc::new(AtomicBool::new(false));
            let done = Arc::clone(&short);
            drop(task::run(move || done.store(true, Ordering::Relaxed)));
            wait_until("a short task", || short.load(Ordering::Relaxed));
        }
        drop(task::run(move || stop.store(true, Ordering::Relaxed)));
        looping.join().unwrap();
    });
}

#[test]
fn what_the_caller_of_an_endless_loop_has_spawned_runs() {
    on(of_threads(2), |runtime| {
        let _entered = runtime.enter();
        let looping = task::run(|| {
            let (stop, threads) = (Arc::new(AtomicBool::new(false)), Threads::default());
            let (caller, is_spawned) = (thread::current().id(), AtomicBool::new(false));
            parallel::Options::new().for_each_with_control(0..u64::MAX, |_, control| {
                threads.enter();
                let may_spawn = threads.are_several() && thread::current().id() == caller;
                if may_spawn && !is_spawned.swap(true, Ordering::Relaxed) {
                    let stop = Arc::clone(&stop);
                    // Into the caller's own queue, to which the caller does not come.
                    drop(task::run(move || stop.store(true, Ordering::Relaxed)));
                }
                if stop.load(Ordering::Relaxed) && !control.should_exit() {
                    control.stop();
                }
            });
        });
        looping.join().unwrap();
    });
}

#[test]
fn a_task_runs_beside_an_endless_loop_over_an_iterator() {
    on(of_threads(2), |runtime| {
        let _entered = runtime.enter();
        let (stop, threads) = (Arc::<AtomicBool>::default(), Arc::<Threads>::default());
        let looping = task::run({
            let (stop, threads) = (Arc::clone(&stop), Arc::clone(&threads));
            move || {
                let endless = std::iter::repeat_with(|| ());
                let endless = endless.take_while(|()| !stop.load(Ordering::Relaxed));
                parallel::for_each(from_iter(endless), |()| threads.enter());
            }
        });
        wait_until("a helper", || threads.are_several());
        drop(task::run(move || stop.store(true, Ordering::Relaxed)));
        looping.join().unwrap();
    });
}

/// Spawns a closure that spawns its like: there is always one for a helper to take.
fn spawn_again_until<'scope>(
    stop: &'scope AtomicBool,
    threads: &'scope Threads,
    scope: &Scope<'scope>,
) {
    scope.spawn(move |scope| {
        threads.enter();
        if !stop.load(Ordering::Relaxed) {
            spawn_again_until(stop, threads, scope);
        }
    });
}

#[test]
fn a_task_runs_beside_a_scope_that_spawns_on_and_on() {
    on(of_threads(2), |runtime| {
        let _entered = runtime.enter();
        let (stop, threads) = (Arc::<AtomicBool>::default(), Arc::<Threads>::default());
        let scoping = task::run({
            let (stop, threads) = (Arc::clone(&stop), Arc::clone(&threads));
            move || {
                threads.enter();
                scope(|scope| (0..100).for_each(|_| spawn_again_until(&stop, &threads, scope)));
            }
        });
        wait_until("a helper", || threads.are_several());
        drop(task::run(move || stop.store(true, Ordering::Relaxed)));
        scoping.join().unwrap();
    });
}

#[test]
fn a_surplus_helper_leaves_the_loop_after_a_wait() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let (stop, threads) = (Arc::<AtomicBool>::default(), Arc::<Threads>::default());
        let (open, gate) = mpsc::channel::<()>();
        let looping = task::run({
            let (stop, threads, gate) = (
                Arc::clone(&stop),
                Arc::clone(&threads),
                Mutex::new(Some(gate)),
            );
            move || {
                parallel::Options::new().for_each_with_control(0..u64::MAX, |_, control| {
                    threads.enter();
                    // So long that the loop does not try whether one thread alone is faster.
                    busy_micros(20);
                    if threads.are_several() {
                        let gate = gate.lock().unwrap().take();
                        gate.into_iter().for_each(|gate| gate.recv().unwrap());
                    }
                    if stop.load(Ordering::Relaxed) && !control.should_exit() {
                        control.stop();
                    }
                });
            }
        });
        wait_until("one that stands in", || threads.0.lock().unwrap().len() > 2);
        open.send(()).unwrap();
        let has_left = holds_within(Duration::from_secs(20), || {
            let metrics = runtime.metrics();
            metrics.detected_blocked == 0 && metrics.working <= 2
        });
        stop.store(true, Ordering::Relaxed);
        looping.join().unwrap();
        assert!(has_left, "{:?}", runtime.metrics());
    });
}

#[test]
fn every_index_is_run_once_while_helpers_come_and_go() {
    const LEN: usize = 200_000;
    on_runtime(3, |runtime| {
        let _entered = runtime.enter();
        let counts: Vec<AtomicUsize> = (0..LEN).map(|_| AtomicUsize::new(0)).collect();
        parallel::for_each(0..LEN, |i| {
            counts[i].fetch_add(1, Ordering::Relaxed);
            if i % 16 == 0 {
                drop(task::run(|| busy_micros(1)));
            }
        });
        assert!(
            counts
                .iter()
                .all(|count| count.load(Ordering::Relaxed) == 1)
        );
    });
}

/// Tasks of one type, long or short, which count how many have run.
fn counting(
    ran: &Arc<AtomicUsize>,
    lasts: Box<dyn FnOnce() + Send>,
) -> impl FnOnce() + Send + use<> {
    let ran = Arc::clone(ran);
    move || {
        lasts();
        ran.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_task_from_outside_does_not_wait_for_a_whole_round_of_tasks_of_a_long_type() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let ran = Arc::new(AtomicUsize::new(0));
        let is_known = Arc::new(AtomicBool::new(false));
        let known = Arc::clone(&is_known);
        let long = move || {
            while !known.load(Ordering::SeqCst) {
                hint::spin_loop();
            }
        };
        let long = task::run(counting(&ran, Box::new(long)));
        wait_until("a long job", || !runtime.long_jobs().is_empty());
        is_known.store(true, Ordering::SeqCst);
        long.join().unwrap();
        // Short ones, so that rounds are long again, and then sleep, with which one begins.
        (0..200).for_each(|_| task::run(|| ()).join().unwrap());
        wait_until("sleep", || runtime.metrics().asleep == 1);
        let (from_inside, from_outside) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        ran.store(0, Ordering::SeqCst);
        let inside = task::run({
            let ran = Arc::clone(&ran);
            move || {
                let tasks = (0..100).map(|_| task::run(counting(&ran, Box::new(|| ()))));
                let tasks: Vec<_> = tasks.collect();
                from_inside.0.send(()).unwrap();
                from_outside.1.recv().unwrap();
                tasks
            }
        });
        from_inside.1.recv().unwrap();
        let before = Arc::clone(&ran);
        let outside = task::run(move || before.load(Ordering::SeqCst));
        from_outside.0.send(()).unwrap();
        assert!(outside.join().unwrap() <= 4);
        let tasks = inside.join().unwrap();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}
