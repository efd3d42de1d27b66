//! One pool for both worlds: rayon's calls inside tasks, and tasks inside rayon's calls.

use manyhands::{Runtime, parallel, task};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);

/// Runs `f` on a thread of its own, and fails when it has not ended in time.
fn in_time<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(f()));
    receiver
        .recv_timeout(DEADLINE)
        .expect("ended in time, without a panic")
}

fn square_sum(n: u64) -> u64 {
    (0..n).into_par_iter().map(|x| x * x).sum()
}

fn square_sum_alone(n: u64) -> u64 {
    (0..n).map(|x| x * x).sum()
}

#[test]
fn parallel_iterators_run_inside_tasks() {
    let sums = in_time(|| {
        let tasks: Vec<_> = (0..50)
            .map(|i| task::run(move || square_sum(10_000 + i)))
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap())
            .collect::<Vec<_>>()
    });
    let expected: Vec<_> = (0..50).map(|i| square_sum_alone(10_000 + i)).collect();
    assert_eq!(sums, expected);
}

#[test]
fn parallel_iterators_run_inside_futures_and_loops() {
    let total = in_time(|| {
        let handles: Vec<_> = (0..20)
            .map(|_| {
                task::spawn(async {
                    task::yield_now().await;
                    square_sum(5_000)
                })
            })
            .collect();
        let in_tasks: u64 = handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .sum();
        let in_loop = parallel::map(0..20_u64, |_| square_sum(5_000));
        in_tasks + in_loop.into_iter().sum::<u64>()
    });
    assert_eq!(total, 40 * square_sum_alone(5_000));
}

#[test]
fn tasks_run_inside_scopes() {
    let count = in_time(|| {
        let count = AtomicUsize::new(0);
        rayon::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| {
                    let task = task::run(|| 7);
                    count.fetch_add(task.join().unwrap(), Ordering::Relaxed);
                    parallel::for_each(0..100, |_| {
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                });
            }
        });
        count.into_inner()
    });
    assert_eq!(count, 20 * (7 + 100));
}

#[test]
fn an_external_thread_holds_a_lock_across_a_parallel_iterator_while_every_worker_wants_it() {
    let done = in_time(|| {
        let lock = Arc::new(Mutex::new(0_u64));
        let held = lock.lock().unwrap();
        let tasks: Vec<_> = (0..4 * Runtime::default_runtime().workers())
            .map(|_| {
                let lock = Arc::clone(&lock);
                task::run(move || *lock.lock().unwrap() += 1)
            })
            .collect();
        for _ in 0..20 {
            assert_eq!(square_sum(10_000), square_sum_alone(10_000));
        }
        drop(held);
        tasks.into_iter().for_each(|task| task.join().unwrap());
        *lock.lock().unwrap()
    });
    assert_eq!(done, 4 * Runtime::default_runtime().workers() as u64);
}

#[test]
fn a_task_holds_a_lock_across_a_parallel_iterator_while_others_want_it() {
    let done = in_time(|| {
        let lock = Arc::new(Mutex::new(0_u64));
        let tasks: Vec<_> = (0..8 * Runtime::default_runtime().workers())
            .map(|_| {
                let lock = Arc::clone(&lock);
                task::run(move || {
                    let mut sum = lock.lock().unwrap();
                    *sum += square_sum(20_000);
                })
            })
            .collect();
        let count = tasks.len() as u64;
        tasks.into_iter().for_each(|task| task.join().unwrap());
        (*lock.lock().unwrap(), count)
    });
    assert_eq!(done.0, done.1 * square_sum_alone(20_000));
}

#[test]
fn a_lock_is_held_across_a_join_while_spawned_closures_want_it() {
    in_time(|| {
        rayon::scope(|_| {
            for _ in 0..20 {
                let lock = Arc::new(Mutex::new(0_u64));
                let (sender, ran) = mpsc::channel();
                let mut sum = lock.lock().unwrap();
                for _ in 0..4 {
                    let (lock, sender) = (Arc::clone(&lock), sender.clone());
                    rayon::spawn(move || {
                        *lock.lock().unwrap() += 1;
                        sender.send(()).unwrap();
                    });
                }
                // The original runs one of the closures here, while it waits for a half that was stolen.
                *sum += square_sum(100_000);
                drop((sum, sender));
                // Somebody must be free for them: this thread is not while it waits here.
                while ran.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
                    rayon::yield_now();
                }
                assert_eq!(*lock.lock().unwrap(), square_sum_alone(100_000) + 4);
            }
        });
    });
}

#[test]
fn no_two_threads_have_the_same_index_at_the_same_time() {
    in_time(|| {
        let taken: Arc<Vec<AtomicUsize>> = Arc::new(
            (0..rayon::current_num_threads())
                .map(|_| AtomicUsize::new(0))
                .collect(),
        );
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let taken = Arc::clone(&taken);
                task::run(move || {
                    (0..2_000).into_par_iter().for_each(|_| {
                        let index = rayon::current_thread_index().unwrap();
                        assert_eq!(taken[index].fetch_add(1, Ordering::SeqCst), 0);
                        std::hint::black_box(square_sum_alone(50));
                        assert_eq!(taken[index].fetch_sub(1, Ordering::SeqCst), 1);
                    });
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn a_thread_outside_of_the_pool_is_woken_however_long_its_call_takes() {
    // Too short for a sleep, and long enough for one; by turns, so that one call does not get the other's wake.
    let rounds = in_time(|| {
        (0..300_u64)
            .filter(|round| {
                let sum = rayon::scope(|_| match round % 3 {
                    0 => square_sum_alone(200_000),
                    _ => square_sum_alone(10),
                });
                let (left, right) = rayon::join(|| sum, || *round);
                left > 0 && right == *round
            })
            .count()
    });
    assert_eq!(rounds, 300);
}
