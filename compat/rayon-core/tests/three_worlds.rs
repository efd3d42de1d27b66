//! rayon, tasks of ours and tokio's blocking threads in one program. In a process of its own, because it counts the
//! process's threads.
#![cfg(target_os = "linux")]

use manyhands::{Runtime, task};
use rayon::prelude::*;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 20;
/// Of each kind: tasks with the lock, closures in a scope that wait for tasks, closures on tokio's threads with the lock.
const EACH: usize = 4;
const TOKIO_THREADS: usize = 2;

fn square_sum(n: u64) -> u64 {
    (0..n).into_par_iter().map(|x| x * x).sum()
}

fn square_sum_alone(n: u64) -> u64 {
    (0..n).map(|x| x * x).sum()
}

/// The names of the threads of this process.
fn threads() -> Vec<String> {
    let of = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("comm")).ok();
    let folder = fs::read_dir("/proc/self/task").unwrap();
    let names = folder.filter_map(|entry| of(entry.unwrap()));
    names.map(|name| name.trim().to_owned()).collect()
}

/// One round; returns what was added up.
fn round(tokio: &tokio::runtime::Runtime) -> u64 {
    let sum = Arc::new(Mutex::new(0));
    let adds = || {
        let sum = Arc::clone(&sum);
        move || {
            // Held across the parallel iterator, while all others want it.
            let mut sum = sum.lock().unwrap();
            *sum += square_sum(5_000);
        }
    };
    let ours: Vec<_> = (0..EACH).map(|_| task::run(adds())).collect();
    let theirs: Vec<_> = (0..EACH).map(|_| tokio.spawn_blocking(adds())).collect();
    // They keep their slots while they wait, so what they wait for must need neither a slot nor the lock.
    let inside = AtomicU64::new(0);
    rayon::scope(|scope| {
        for _ in 0..EACH {
            scope.spawn(|_| {
                let sum = task::run(|| square_sum_alone(5_000)).join().unwrap();
                inside.fetch_add(sum, Ordering::Relaxed);
            });
        }
    });
    ours.into_iter().for_each(|task| task.join().unwrap());
    for task in theirs {
        tokio.block_on(task).unwrap();
    }
    let under_lock = *sum.lock().unwrap();
    under_lock + inside.into_inner()
}

#[test]
fn three_worlds_share_one_pool_and_no_lock_stops_them() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let tokio = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(TOKIO_THREADS)
            .thread_name("tokio")
            .build()
            .unwrap();
        let sums: Vec<_> = (0..ROUNDS).map(|_| round(&tokio)).collect();
        sender.send((sums, threads())).unwrap();
    });
    let (sums, threads) = receiver
        .recv_timeout(DEADLINE)
        .expect("ended in time, without a panic");
    let of_one_round = 3 * EACH as u64 * square_sum_alone(5_000);
    assert_eq!(sums, vec![of_one_round; ROUNDS]);

    let count = |begin: &str| {
        let of = threads.iter().filter(|name| name.starts_with(begin));
        of.count()
    };
    assert_eq!(count("rayon"), 0, "{threads:?}");
    assert!(count("tokio") <= TOKIO_THREADS, "{threads:?}");
    // The monitor, the workers, and one in place of each that blocks: a task that waits for the lock or for a part of
    // its iterator, or a closure that waits for a task.
    let workers = Runtime::default_runtime().workers();
    assert!(count("manyhands") <= 1 + workers + 3 * EACH, "{threads:?}");
}
