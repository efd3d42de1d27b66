//! Runtimes that start and end with work in flight, and tasks whose handles are joined, dropped or sent away.

use crate::rounds::{Random, Rounds, command};
use crate::watchdog::Watchdog;
use manyhands::task::{self, JoinHandle};
use manyhands::{Runtime, join, parallel, scope, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

#[test]
fn a_dropped_runtime_leaves_nothing_behind() {
    let name = "a_dropped_runtime_leaves_nothing_behind";
    for_each_round(name, |runtime, ledger, mut random, command| {
        let entered = runtime.enter();
        let count = random.length(TASKS);
        let handles: Vec<_> = (0..count)
            .map(|_| spawn_something(ledger, &mut random))
            .collect();
        drop(entered);
        let is_dropped_inside = random.is_one_in(4);
        let dropped = end(runtime, is_dropped_inside);
        let cancelled = handles.into_iter().filter_map(cancelled).count();
        if let Some(dropped) = dropped {
            let lost = ledger.detached_left();
            assert_eq!(dropped, cancelled + lost, "{command}");
        }
        let run = ledger.run.load(Ordering::Relaxed);
        assert_eq!(run + cancelled, count, "{command}");
    });
}

#[test]
fn a_shutdown_beside_tasks_that_spawn_tasks_ends() {
    let name = "a_shutdown_beside_tasks_that_spawn_tasks_ends";
    for_each_round(name, |runtime, ledger, mut random, _| {
        let entered = runtime.enter();
        for _ in 0..1 + random.below(4) {
            let (ledger, random) = (Arc::clone(ledger), Random::new(random.next()));
            drop(task::run(move || breed(&ledger, random)));
        }
        drop(entered);
        let count = random.pick(&[0, 1, 10, 200]);
        while ledger.run.load(Ordering::Relaxed) < count {
            thread::yield_now();
        }
        end(runtime, false);
    });
}

#[test]
fn tasks_whose_handles_are_joined_or_dropped_at_random_all_run() {
    let name = "tasks_whose_handles_are_joined_or_dropped_at_random_all_run";
    for_each_round(name, |runtime, ledger, mut random, command| {
        let spawned = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..4 {
                let random = Random::new(random.next());
                let (runtime, ledger, spawned) = (&runtime, &ledger, &spawned);
                s.spawn(move || {
                    spawned.fetch_add(spawn_many(runtime, ledger, random), Ordering::Relaxed)
                });
            }
        });
        let spawned = spawned.into_inner();
        while ledger.run.load(Ordering::Relaxed) < spawned || ledger.detached_left() > 0 {
            thread::yield_now();
        }
        assert_eq!(ledger.run.load(Ordering::Relaxed), spawned);
        assert_eq!(end(runtime, false), Some(0), "{command}");
    });
}

#[test]
fn futures_side_by_side_are_dropped_once_whether_they_end_or_not() {
    let name = "futures_side_by_side_are_dropped_once_whether_they_end_or_not";
    for_each_round(name, |runtime, ledger, mut random, command| {
        let entered = runtime.enter();
        let count = random.length(TASKS);
        let futures: Vec<_> = (0..count)
            .map(|_| plain_future(ledger, &mut random))
            .collect();
        let all = task::spawn(async { task::when_all(futures).await.len() });
        let is_cancelled = random.is_one_in(2);
        if is_cancelled {
            (0..random.below(50)).for_each(|_| thread::yield_now());
            all.abort();
        }
        match all.join() {
            Ok(results) => assert_eq!(results, count, "{command}"),
            Err(error) => assert!(is_cancelled && error.is_cancelled(), "{error} {command}"),
        }
        drop(entered);
        let dropped = ledger.run.load(Ordering::Relaxed);
        assert_eq!(dropped, count, "{command}");
        end(runtime, false);
    });
}

/// Runs the rounds of a test, each on a runtime of its own. A round gets the runtime, a ledger whose only owner it
/// must be at the end, a generator from its seed, and the command that repeats it.
fn for_each_round(name: &str, round: impl Fn(Arc<Runtime>, &Arc<Ledger>, Random, &str)) {
    let watchdog = Watchdog::new();
    for seed in Rounds::of(1) {
        let mut random = Random::new(seed);
        let runtime = new_runtime(&mut random);
        let command = command(&format!("life::{name}"), seed);
        watchdog.begin(command.clone(), &runtime);
        let ledger = Arc::new(Ledger::default());
        round(runtime, &ledger, random, &command);
        ledger.wait_until_alone();
    }
}

/// What tasks have done; its owner count shows when the last closure is gone.
#[derive(Debug, Default)]
struct Ledger {
    run: AtomicUsize,
    /// Tasks without a handle that tasks have spawned, and how many of these have run.
    detached: AtomicUsize,
    detached_run: AtomicUsize,
    sum: AtomicU64,
}

impl Ledger {
    fn detached_left(&self) -> usize {
        let run = self.detached_run.load(Ordering::Relaxed);
        self.detached.load(Ordering::Relaxed).saturating_sub(run)
    }

    fn note(&self, value: u64) {
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.run.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns when no closure holds the ledger any more; the watchdog aborts if that never happens.
    fn wait_until_alone(self: Arc<Self>) {
        while Arc::strong_count(&self) > 1 {
            thread::yield_now();
        }
    }
}

fn new_runtime(random: &mut Random) -> Arc<Runtime> {
    let workers = random.pick(&[1, 2, 3, 8]);
    let runtime = Runtime::builder().workers(workers).build();
    Arc::new(runtime.expect("the number is right"))
}

/// Ends a runtime in one of several ways. Returns how many tasks were dropped, if the runtime reports it.
fn end(runtime: Arc<Runtime>, inside: bool) -> Option<usize> {
    if inside {
        // The runtime's own worker may be the last to hold it.
        let entered = runtime.enter();
        let its_own = Arc::clone(&runtime);
        drop(task::run(move || drop(its_own)));
        drop(entered);
        drop(runtime);
        return None;
    }
    let runtime = Arc::into_inner(runtime).expect("the runtime has no other owner");
    Some(runtime.shutdown_blocking().dropped)
}

/// Waits for a task; it may have been cancelled, but must not have panicked.
fn is_cancelled(handle: JoinHandle<()>) -> bool {
    handle.join().is_err_and(|error| {
        assert!(error.is_cancelled(), "{error}");
        true
    })
}

/// A task of some kind that records itself once.
fn spawn_something(ledger: &Arc<Ledger>, random: &mut Random) -> JoinHandle<()> {
    let ledger = Arc::clone(ledger);
    let (kind, size) = (random.below(5), random.below(50));
    task::run(move || match kind {
        0 => ledger.note(size),
        1 => {
            let (a, b) = join(|| size, || size + 1);
            ledger.note(a + b);
        }
        2 => {
            let sum = AtomicU64::new(0);
            parallel::for_each(0..size, |i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
            assert_eq!(
                sum.load(Ordering::Relaxed),
                size * size.saturating_sub(1) / 2
            );
            ledger.note(sum.into_inner());
        }
        3 => {
            let count = AtomicU64::new(0);
            scope(|s| {
                for _ in 0..size {
                    s.spawn(|_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(count.load(Ordering::Relaxed), size);
            ledger.note(size);
        }
        _ => {
            // Not joined: it may be dropped when the runtime ends.
            let theirs = Arc::clone(&ledger);
            ledger.detached.fetch_add(1, Ordering::Relaxed);
            drop(task::run(move || {
                theirs.detached_run.fetch_add(1, Ordering::Relaxed);
            }));
            ledger.note(size);
        }
    })
}

/// A future of some kind that records when it is dropped.
fn plain_future(ledger: &Arc<Ledger>, random: &mut Random) -> impl Future<Output = ()> + use<> {
    let (kind, size) = (random.below(4), random.below(5));
    let noted = NotedOnDrop(Arc::clone(ledger), size);
    async move {
        match kind {
            0 => {}
            1 => {
                for _ in 0..size {
                    task::yield_now().await;
                }
            }
            2 => time::sleep(Duration::from_millis(size)).await,
            _ => {
                let (completer, completion) = task::completion();
                drop(task::run(move || completer.complete(size)));
                assert_eq!(completion.await.ok(), Some(size));
            }
        }
        drop(noted);
    }
}

/// Part of a future that is to be dropped once.
struct NotedOnDrop(Arc<Ledger>, u64);

impl Drop for NotedOnDrop {
    fn drop(&mut self) {
        self.0.note(self.1);
    }
}

/// A task that spawns at least one more, as long as the runtime runs.
fn breed(ledger: &Arc<Ledger>, mut random: Random) {
    ledger.note(1);
    for _ in 0..1 + u64::from(random.is_one_in(16)) {
        let (theirs, their_random) = (Arc::clone(ledger), Random::new(random.next()));
        let spawn = move || drop(task::run(move || breed(&theirs, their_random)));
        match random.below(3) {
            0 => spawn(),
            1 => {
                join(spawn, || ());
            }
            _ => scope(|s| s.spawn(|_| spawn())),
        }
    }
}

/// Spawns tasks and disposes of their handles in several ways. Returns how many there are.
fn spawn_many(runtime: &Runtime, ledger: &Arc<Ledger>, mut random: Random) -> usize {
    let _entered = runtime.enter();
    let count = random.length(TASKS);
    let mut kept = Vec::new();
    for _ in 0..count {
        let handle = spawn_something(ledger, &mut random);
        match random.below(4) {
            0 => assert!(!is_cancelled(handle)),
            1 => drop(handle),
            2 => {
                let is_finished = handle.is_finished();
                assert!(!is_cancelled(handle) || is_finished);
            }
            _ => kept.push(handle),
        }
    }
    let elsewhere = kept.split_off(kept.len() / 2);
    let joiner = thread::spawn(move || elsewhere.into_iter().filter_map(cancelled).count());
    assert_eq!(kept.into_iter().filter_map(cancelled).count(), 0);
    assert_eq!(joiner.join().expect("tasks do not panic"), 0);
    count
}

fn cancelled(handle: JoinHandle<()>) -> Option<()> {
    is_cancelled(handle).then_some(())
}

const TASKS: usize = if cfg!(miri) { 6 } else { 300 };
