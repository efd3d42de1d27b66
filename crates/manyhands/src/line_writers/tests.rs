//! How many threads write a cache line for one task, or for one item of a loop, in pools of 64 and 192 workers.
//!
//! All writes by atomics and locks of the library are noted, by workers and by threads that bring tasks (see
//! `sync/tests/writers.rs`). A pool of 192 workers on two processors shows which threads write what, but not how many do so at
//! the same moment. So the bound is asserted for what one task causes in a pool that sleeps. How often a line moves from
//! one thread to the next while there are many tasks depends on who gets a processor, and is printed:
//! `cargo test -p manyhands --lib line_writers::table -- --ignored --nocapture`.

use crate::sync::clock;
use crate::sync::writers::{Line, Notes};
use crate::task::{self, Builder, Priority};
use crate::{Runtime, channel, parallel};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A pool, all of whose workers have been started and sleep.
struct Noted {
    runtime: Runtime,
    workers: usize,
    notes: Arc<Notes>,
}

impl Noted {
    fn new(workers: usize) -> Self {
        let notes = Arc::new(Notes::default());
        let theirs = Arc::clone(&notes);
        // No thread stands in for one that waits in the meeting below, and leaves later.
        let builder = Runtime::builder().workers(workers).max_threads(workers);
        let builder = builder.on_thread_start(move |_| theirs.enrol());
        let runtime = builder.build().expect("the number is right");
        let noted = Self {
            runtime,
            workers,
            notes,
        };
        let meeting = Arc::new(Meeting::default());
        let meet = |_| {
            let meeting = Arc::clone(&meeting);
            noted
                .runtime
                .install(|| task::run(move || meeting.wait_for(workers)))
        };
        let tasks: Vec<_> = (0..workers).map(meet).collect();
        for task in tasks {
            task.join().expect("all threads start");
        }
        noted.notes.enrol();
        noted.wait_until_all_sleep();
        noted
    }

    fn wait_until_all_sleep(&self) {
        let begun = clock::now();
        while !self.is_at_rest() {
            assert!(clock::now() - begun < LIMIT, "{:?}", self.runtime);
            thread::yield_now();
        }
    }

    /// Whether no worker is awake. `asleep` counts also those that were woken and have not run yet; what they then write
    /// would be counted for the next task.
    fn is_at_rest(&self) -> bool {
        self.runtime.shared().idle.is_inactive() && self.runtime.metrics().asleep == self.workers
    }

    /// What is written until all workers sleep again after `work`.
    fn written_by(&self, work: impl FnOnce()) -> Vec<Line> {
        self.notes.begin();
        work();
        self.wait_until_all_sleep();
        self.notes.end()
    }
}

/// Where a number of threads wait for each other, but not for ever.
#[derive(Debug, Default)]
struct Meeting {
    arrived: Mutex<usize>,
    all_here: Condvar,
}

impl Meeting {
    fn wait_for(&self, count: usize) {
        let mut arrived = self.arrived.lock().expect("nobody panics with it");
        *arrived += 1;
        self.all_here.notify_all();
        let is_missing = |arrived: &mut usize| *arrived < count;
        let waited = self.all_here.wait_timeout_while(arrived, LIMIT, is_missing);
        let here = *waited.expect("nobody panics with it").0;
        assert!(here >= count, "{here} of {count} threads");
    }
}

/// One workload, and of how many tasks or items it consists.
struct Workload {
    name: &'static str,
    count: u64,
    run: fn(&Noted),
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "tasks from one thread outside",
        count: 1_000,
        run: |pool| bring(&pool.runtime, Priority::Normal, 1_000),
    },
    Workload {
        name: "tasks from eight threads outside",
        count: 2_000,
        run: |pool| bring_by_eight(pool, Priority::Normal),
    },
    Workload {
        name: "tasks that spawn two tasks each",
        count: 2_047,
        run: |pool| spawn_all(pool, Priority::Normal),
    },
    Workload {
        name: "interactive tasks from one thread outside",
        count: 1_000,
        run: |pool| bring(&pool.runtime, Priority::Interactive, 1_000),
    },
    Workload {
        name: "interactive tasks from eight threads outside",
        count: 2_000,
        run: |pool| bring_by_eight(pool, Priority::Interactive),
    },
    Workload {
        name: "interactive tasks that spawn two tasks each",
        count: 2_047,
        run: |pool| spawn_all(pool, Priority::Interactive),
    },
    Workload {
        name: "background tasks from eight threads outside",
        count: 2_000,
        run: |pool| bring_by_eight(pool, Priority::Background),
    },
    Workload {
        name: "background tasks that spawn two tasks each",
        count: 2_047,
        run: |pool| spawn_all(pool, Priority::Background),
    },
    Workload {
        name: "pairs of tasks that pass messages",
        count: 2_000,
        run: |pool| {
            let _entered = pool.runtime.enter();
            let pairs: Vec<_> = (0..50).map(|_| task::spawn(pass_messages(20))).collect();
            for pair in pairs {
                pair.join().expect("it does not panic");
            }
        },
    },
    Workload {
        name: "items of 10 loops of 2 ms",
        count: 2_000,
        run: |pool| {
            pool.runtime.install(|| {
                for _ in 0..10 {
                    parallel::for_each(0..200_u64, |_| busy(10));
                }
            });
        },
    },
];

/// Brings tasks, up to 50 of them at a time.
fn bring(runtime: &Runtime, priority: Priority, count: usize) {
    let _entered = runtime.enter();
    let task = |_| Builder::new().priority(priority).run(|| busy(5));
    for _ in 0..count.div_ceil(50) {
        let tasks: Vec<_> = (0..count.min(50)).map(task).collect();
        for task in tasks {
            task.join().expect("it does not panic");
        }
    }
}

fn bring_one_that_spawns(runtime: &Runtime, priority: Priority) {
    let _entered = runtime.enter();
    let run = move || Builder::new().priority(priority).run(|| ()).join();
    let outer = Builder::new().priority(priority).run(run);
    let inner = outer.join().expect("it does not panic");
    inner.expect("it does not panic");
}

fn bring_by_eight(pool: &Noted, priority: Priority) {
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                pool.notes.enrol();
                bring(&pool.runtime, priority, 250);
            });
        }
    });
}

fn spawn_all(pool: &Noted, priority: Priority) {
    let _entered = pool.runtime.enter();
    let first = task::run(move || spawn_tree(priority, 10));
    first.join().expect("it does not panic");
}

fn spawn_tree(priority: Priority, depth: u32) {
    busy(5);
    if depth > 0 {
        for _ in 0..2 {
            let next = move || spawn_tree(priority, depth - 1);
            drop(Builder::new().priority(priority).run(next));
        }
    }
}

async fn pass_messages(count: u32) {
    let (to, from) = channel::bounded(1);
    let (back_to, back_from) = channel::bounded(1);
    let other = task::spawn(async move {
        while let Ok(number) = from.recv().await {
            if back_to.send(number + 1).await.is_err() {
                break;
            }
        }
    });
    for number in 0..count {
        to.send(number).await.expect("it receives");
        assert_eq!(back_from.recv().await, Ok(number + 1));
    }
    drop(to);
    other.await.expect("it does not panic");
}

/// Computes for about as many microseconds.
fn busy(micros: u64) {
    let begun = clock::ticks();
    while clock::ticks().saturating_sub(begun) < clock::ticks_in(1_000 * micros) {
        std::hint::spin_loop();
    }
}

/// The lines of a workload, those that move most often first, as text.
fn describe(lines: &mut [Line], count: u64) -> String {
    lines.sort_by_key(|line| std::cmp::Reverse(line.moves));
    let mut text = String::new();
    for line in lines.iter().take(12) {
        let sites: Vec<_> = line
            .sites
            .iter()
            .map(|(file, line)| {
                let file = file.rsplit('/').next().unwrap_or(file);
                format!("{file}:{line}")
            })
            .collect();
        let moves = line.moves as f64 / count as f64;
        let writers = line.writers.len();
        let _ = writeln!(
            text,
            "  {moves:.2} moves, {writers} threads: {}",
            sites.join(" ")
        );
    }
    text
}

#[test]
#[ignore = "a table for a person to read"]
#[expect(clippy::print_stdout, reason = "it is printed")]
fn table() {
    for workers in [64, 192] {
        let pool = Noted::new(workers);
        for workload in WORKLOADS {
            let mut lines = pool.written_by(|| (workload.run)(&pool));
            println!(
                "{workers} workers, {} ({} threads noted)\n{}",
                workload.name,
                pool.notes.threads(),
                describe(&mut lines, workload.count)
            );
        }
        let mut came = 0;
        let mut lines = pool.written_by(|| came = join_all(&pool));
        println!(
            "{workers} workers, one loop in which {came} bodies wait for each other\n{}",
            describe(&mut lines, 1)
        );
        for cause in CAUSES {
            let (most, mut lines) = one_after_the_other(&pool, cause.run);
            println!(
                "{workers} workers, {}: at most {most} threads\n{}",
                cause.name,
                describe(&mut lines, 1)
            );
        }
    }
}

/// A loop with an item for each worker, which ends when all have come, and an item before from which its length is known.
/// Returns how many came.
fn join_all(pool: &Noted) -> usize {
    let (here, begun) = (AtomicUsize::new(0), clock::now());
    pool.runtime.install(|| {
        parallel::for_each(0..=pool.workers, |index| {
            if index == 0 {
                return busy(3_000);
            }
            // Relaxed: nothing is published.
            here.fetch_add(1, Ordering::Relaxed);
            while here.load(Ordering::Relaxed) < pool.workers && clock::now() - begun < COMING_MAX {
                thread::yield_now();
            }
        });
    });
    here.into_inner()
}

/// What happens once, in a pool that sleeps.
struct Cause {
    name: &'static str,
    run: fn(&Runtime),
}

const CAUSES: &[Cause] = &[
    Cause {
        name: "one task from outside",
        run: |runtime| bring(runtime, Priority::Normal, 1),
    },
    Cause {
        name: "one task that spawns another",
        run: |runtime| bring_one_that_spawns(runtime, Priority::Normal),
    },
    Cause {
        name: "one interactive task from outside",
        run: |runtime| bring(runtime, Priority::Interactive, 1),
    },
    Cause {
        name: "one interactive task that spawns another",
        run: |runtime| bring_one_that_spawns(runtime, Priority::Interactive),
    },
    Cause {
        name: "one task in the background from outside",
        run: |runtime| bring(runtime, Priority::Background, 1),
    },
    Cause {
        name: "one task in the background that spawns another",
        run: |runtime| bring_one_that_spawns(runtime, Priority::Background),
    },
    Cause {
        name: "two tasks and a message each way",
        run: |runtime| {
            let _entered = runtime.enter();
            let pair = task::spawn(pass_messages(1));
            pair.join().expect("it does not panic");
        },
    },
];

/// Runs this 20 times, each time when all workers sleep. Returns the most threads that have written one line in one of
/// the runs, and the lines of that run.
fn one_after_the_other(pool: &Noted, run: fn(&Runtime)) -> (usize, Vec<Line>) {
    let once = |_| {
        let lines = pool.written_by(|| run(&pool.runtime));
        let most = lines.iter().map(|line| line.writers.len()).max();
        (most.unwrap_or(0), lines)
    };
    (0..20)
        .map(once)
        .max_by_key(|&(most, _)| most)
        .expect("there are some")
}

#[test]
fn no_line_is_written_by_more_than_16_threads_for_one_task() {
    for workers in [64, 192] {
        let pool = Noted::new(workers);
        for cause in CAUSES {
            let (most, mut lines) = one_after_the_other(&pool, cause.run);
            let what = describe(&mut lines, 1);
            assert!(most > 1, "{workers} workers, {}: {what}", cause.name);
            assert!(
                most <= WRITERS_MAX,
                "{workers} workers, {}: {what}",
                cause.name
            );
        }
    }
}

const WRITERS_MAX: usize = 16;
/// How long workers may take to come to a loop.
const COMING_MAX: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);
