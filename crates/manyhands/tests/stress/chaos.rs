//! Bodies that block in many ways, declared and undeclared, on pools of 1 to 192 workers: everything ends, no more
//! threads are added than are needed, and the added ones end again.
#![expect(
    clippy::disallowed_methods,
    reason = "sleeping is one of the ways to block; nothing is synchronised by it"
)]

use crate::rounds::{Random, Rounds, command};
use crate::watchdog::Watchdog;
use manyhands::{Runtime, join, scope, task};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[test]
#[cfg_attr(miri, ignore = "the pipes are the system's")]
pub(crate) fn bodies_that_block_all_end_and_leave_a_pool_of_its_size() {
    let name = "chaos::bodies_that_block_all_end_and_leave_a_pool_of_its_size";
    let watchdog = Watchdog::new();
    for seed in Rounds::of(1) {
        let mut random = Random::new(seed);
        let workers = random.pick(&[1, 2, 3, 8, 64, 192]);
        let keep_alive = Duration::from_micros(random.pick(&[0, 300, 3_000]));
        let builder = Runtime::builder().workers(workers);
        let builder = builder.thread_keep_alive(keep_alive);
        let runtime = Arc::new(builder.build().expect("the numbers are right"));
        watchdog.begin(command(name, seed), &runtime);
        let entered = runtime.enter();
        let shared = Arc::new(Shared::default());
        let pairs = random.length(PAIRS_MAX);
        let mut tasks = Vec::new();
        for _ in 0..pairs {
            let (reader, writer) = std::io::pipe().expect("there are descriptors enough");
            let mut ends = [Body::Read(reader), Body::Write(writer)].map(Some);
            // Either may come first.
            let first = usize::from(random.is_one_in(2));
            for index in [first, 1 - first] {
                let body = ends[index].take().expect("each is taken once");
                let (shared, random) = (Arc::clone(&shared), Random::new(random.next()));
                tasks.push(task::run(move || body.run(&shared, random)));
            }
        }
        for task in tasks {
            assert!(task.join().is_ok(), "{}", command(name, seed));
        }
        drop(entered);
        assert_eq!(shared.ended.load(Ordering::SeqCst), 2 * pairs);
        // All may have been blocked at once, each with all threads that it has started, beside as many others as may
        // run, and two that were added ahead.
        let most = runtime
            .thread_changes()
            .iter()
            .map(|change| change.threads)
            .max();
        let bound = 2 * pairs * THREADS_OF_A_BODY + workers + 2;
        assert!(
            most.is_none_or(|most| most <= bound),
            "{}",
            command(name, seed)
        );
        while runtime.threads() > workers {
            thread::yield_now();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "the threads are counted by the system")]
fn pools_made_and_dropped_leave_no_threads() {
    let name = "chaos::pools_made_and_dropped_leave_no_threads";
    let watchdog = Watchdog::new();
    let mut random = Random::new(7);
    for _ in 0..POOLS {
        let builder = Runtime::builder().workers(1 + usize::from(random.is_one_in(2)));
        let builder = builder.thread_name(|index| format!("{LEAK_NAME}{index}"));
        let runtime = Arc::new(builder.build().expect("the numbers are right"));
        watchdog.begin(command(name, 7), &runtime);
        let tasks: Vec<_> = runtime.install(|| {
            let sleep = || thread::sleep(Duration::from_micros(20));
            (0..3)
                .map(|_| task::run(move || task::blocking(sleep)))
                .collect()
        });
        if random.is_one_in(2) {
            tasks
                .into_iter()
                .for_each(|task| task.join().expect("it only sleeps"));
        }
    }
    while count_threads(LEAK_NAME) > 0 {
        // The system takes a moment to forget a thread that has ended; the watchdog aborts if it takes longer.
        thread::yield_now();
    }
}

/// What bodies block on, and what they have done.
#[derive(Debug, Default)]
struct Shared {
    lock: Mutex<usize>,
    ended: AtomicUsize,
}

#[derive(Debug)]
enum Body {
    Read(PipeReader),
    Write(PipeWriter),
}

impl Body {
    fn run(self, shared: &Shared, mut random: Random) {
        block_somehow(shared, &mut random);
        match self {
            Self::Write(mut pipe) => pipe.write_all(&[9]).expect("a thread reads"),
            Self::Read(mut pipe) => {
                let mut byte = [0];
                let mut read = || pipe.read_exact(&mut byte).expect("a thread writes");
                if random.is_one_in(2) {
                    task::blocking(read);
                } else {
                    read();
                }
                assert_eq!(byte, [9]);
            }
        }
        shared.ended.fetch_add(1, Ordering::SeqCst);
    }
}

fn block_somehow(shared: &Shared, random: &mut Random) {
    let micros = random.below(3_000);
    let sleep = || thread::sleep(Duration::from_micros(micros));
    match random.below(8) {
        0 => {}
        1 => sleep(),
        2 => task::blocking(sleep),
        3 => {
            let mut inside = shared.lock.lock().expect("no panic under the lock");
            *inside += 1;
            sleep();
        }
        4 => drop(join(sleep, sleep)),
        5 => scope(|s| (0..3).for_each(|_| s.spawn(|_| sleep()))),
        6 => task::run(move || thread::sleep(Duration::from_micros(micros / 2)))
            .join()
            .expect("it only sleeps"),
        _ => manyhands::time::sleep_blocking(Duration::from_micros(micros)),
    }
}

/// Threads of this process whose names begin with this.
fn count_threads(prefix: &str) -> usize {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return 0;
    };
    let names = threads.filter_map(|thread| {
        let path = thread.ok()?.path().join("comm");
        std::fs::read_to_string(path).ok()
    });
    names.filter(|name| name.starts_with(prefix)).count()
}

const LEAK_NAME: &str = "leak-test-";
/// Itself, and the closures of its scope.
const THREADS_OF_A_BODY: usize = 4;
const PAIRS_MAX: usize = 40;
const POOLS: usize = if cfg!(any(sanitized, debug_assertions)) {
    // The leak sanitizer takes a thread for another that had its number before; so the numbers, 32,768 of them,
    // must not come round.
    1_000
} else {
    10_000
};
