//! Short tasks where long computations hold every place.

use crate::support::{Stopwatch, loop_until, on_runtime, wait_until};
use manyhands::channel;
use manyhands::task::{self, Priority};
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Long computations: how many have begun, and whether they may end.
struct Long {
    begun: AtomicUsize,
    may_end: AtomicBool,
    created: Stopwatch,
}

impl Long {
    fn new() -> Self {
        Self {
            begun: AtomicUsize::new(0),
            may_end: AtomicBool::new(false),
            created: Stopwatch::start(),
        }
    }

    /// A long computation, of the same type each time.
    fn compute(self: &Arc<Self>) -> impl FnOnce() + Send + use<> {
        let long = Arc::clone(self);
        move || {
            long.begun.fetch_add(1, Ordering::SeqCst);
            while !long.may_end.load(Ordering::SeqCst) {
                hint::spin_loop();
            }
        }
    }

    /// As [`compute`](Self::compute), of a type for each number.
    fn compute_as<const TYPE: usize>(self: &Arc<Self>) -> impl FnOnce() + Send + use<TYPE> {
        let compute = self.compute();
        move || compute()
    }

    /// A loop over short items, which ends as the computations do.
    fn run_loop(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        loop_until(&self.may_end, || ());
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    fn has_begun(&self, count: usize) {
        wait_until("long computations", || self.begun() >= count);
    }

    /// Where all `begun` have begun on `workers` workers, none passed a short task. A thread is added for the tasks that
    /// wait once long ones have held every place for half a second: then one more may begin.
    fn assert_has_place(&self, begun: usize, workers: usize) {
        let half_seconds = self.created.elapsed().as_millis() / 500;
        let places = workers + usize::try_from(half_seconds).unwrap();
        assert!(
            begun <= places,
            "{begun} have begun, {places} may have begun"
        );
    }

    fn end(&self) {
        self.may_end.store(true, Ordering::SeqCst);
    }

    /// Ends them when the test does, also where it fails: a runtime waits for what computes.
    fn ends_with_test(&self) -> impl Drop + '_ {
        struct End<'a>(&'a Long);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        End(self)
    }
}

#[test]
fn short_tasks_pass_long_ones_that_hold_every_place_and_more_that_wait() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let long = Arc::new(Long::new());
        let _ending = long.ends_with_test();
        let tasks: Vec<_> = (0..8).map(|_| task::run(long.compute())).collect();
        long.has_begun(2);
        let begun_before_short = || {
            let long = Arc::clone(&long);
            task::run(move || long.begun()).join().unwrap()
        };
        for _ in 0..100 {
            long.assert_has_place(begun_before_short(), 2);
        }
        long.end();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(long.begun(), 8);
    });
}

#[test]
fn short_tasks_are_run_while_loops_of_threads_outside_hold_every_place() {
    on_runtime(2, |runtime| {
        // Workers that have run something sleep, and are there.
        runtime.install(|| task::run(|| ())).join().unwrap();
        let long = Long::new();
        thread::scope(|scope| {
            let _ending = long.ends_with_test();
            for _ in 0..2 {
                scope.spawn(|| runtime.install(|| long.run_loop()));
            }
            long.has_begun(2);
            for _ in 0..100 {
                runtime.install(|| task::run(|| ())).join().unwrap();
            }
            long.end();
        });
    });
}

#[test]
fn short_tasks_of_a_long_one_that_goes_on_computing_are_run() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let computing = task::run(|| {
            let done = Arc::new(AtomicUsize::new(0));
            for _ in 0..3 {
                let done = Arc::clone(&done);
                // Into the queue of this worker, which does not come to it.
                drop(task::run(move || done.fetch_add(1, Ordering::SeqCst)));
            }
            while done.load(Ordering::SeqCst) < 3 {
                hint::spin_loop();
            }
        });
        computing.join().unwrap();
    });
}

#[test]
fn an_interactive_task_passes_long_ones_of_its_own_type() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (long, interactive) = (Arc::new(Long::new()), Arc::new(Long::new()));
        let _endings = (long.ends_with_test(), interactive.ends_with_test());
        let tasks = [task::run(long.compute()), task::run(long.compute())];
        long.has_begun(1);
        let passing = task::Builder::new().priority(Priority::Interactive);
        let passing = passing.run(interactive.compute());
        interactive.has_begun(1);
        long.assert_has_place(long.begun(), 1);
        interactive.end();
        passing.join().unwrap();
        long.end();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn a_short_task_passes_any_number_of_long_ones() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let long = Arc::new(Long::new());
        let _ending = long.ends_with_test();
        let tasks: Vec<_> = (0..MANY).map(|_| task::run(long.compute())).collect();
        long.has_begun(2);
        let short = task::run(|| ());
        wait_until("the short task", || short.is_finished());
        long.assert_has_place(long.begun(), 2);
        long.end();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(long.begun(), MANY);
    });
}

#[test]
fn short_tasks_that_block_let_no_more_long_ones_begin() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let long = Arc::new(Long::new());
        let _ending = long.ends_with_test();
        let tasks: Vec<_> = (0..8).map(|_| task::run(long.compute())).collect();
        long.has_begun(2);
        let (sender, receiver) = channel::unbounded::<()>();
        let blocked = Arc::new(AtomicUsize::new(0));
        let blocking: Vec<_> = (1..=4)
            .map(|count| {
                let (receiver, begun) = (receiver.clone(), Arc::clone(&blocked));
                let task = task::run(move || {
                    begun.fetch_add(1, Ordering::SeqCst);
                    receiver.recv_blocking().unwrap_err();
                });
                wait_until("a task that blocks", || {
                    blocked.load(Ordering::SeqCst) == count
                });
                for _ in 0..100 {
                    task::run(|| ()).join().unwrap();
                }
                long.assert_has_place(long.begun(), 2);
                task
            })
            .collect();
        drop(sender);
        blocking.into_iter().for_each(|task| task.join().unwrap());
        long.end();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// An endless loop of a thread outside, and then one task after the other that turns out to be endless, each of another type,
/// so that none is known to be long when it begins.
#[test]
fn short_tasks_are_run_however_many_before_them_turned_out_to_be_long() {
    for workers in [1, 2] {
        on_runtime(workers, move |runtime| {
            let long = Arc::new(Long::new());
            thread::scope(|scope| {
                let _ending = long.ends_with_test();
                for _ in 0..workers {
                    scope.spawn(|| runtime.install(|| long.run_loop()));
                }
                let _entered = runtime.enter();
                let endless = [
                    task::run(long.compute_as::<0>()),
                    task::run(long.compute_as::<1>()),
                    task::run(long.compute_as::<2>()),
                    task::run(long.compute_as::<3>()),
                ];
                long.has_begun(workers + endless.len());
                for _ in 0..100 {
                    task::run(|| ()).join().unwrap();
                }
                long.end();
                endless.into_iter().for_each(|task| task.join().unwrap());
            });
        });
    }
}

/// More tasks than are looked at one by one before the deadline of a wait.
const MANY: usize = 200_000;
