//! Pools made of the calling thread, in tasks of manyhands: their workers stay what they are. In a process of its own, whose
//! runtime has one worker.

use manyhands::{Runtime, task};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);
/// Slots of the global pool.
const SLOTS: usize = 3;

fn in_task<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    task::run(work).join().unwrap()
}

/// What a job sees of a pool that a task has made of its thread.
fn seen_of(own: &ThreadPool) -> Vec<usize> {
    assert_eq!(own.current_thread_index(), None);
    let (first, second) = own.install(|| rayon::join(rayon::current_num_threads, || 7));
    let mut seen = vec![first, second];
    seen.extend(own.broadcast(|context| context.index()));
    let spawned = Mutex::new(0);
    own.in_place_scope(|scope| scope.spawn(|_| *spawned.lock().unwrap() = 8));
    seen.push(spawned.into_inner().unwrap());
    seen
}

#[test]
fn a_worker_is_taken_into_no_pool() {
    Runtime::builder().workers(1).build_default().unwrap();
    let global = ThreadPoolBuilder::new().num_threads(SLOTS).build_global();
    global.unwrap();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        for threads in [1, 2] {
            let builder = move || ThreadPoolBuilder::new().num_threads(threads);
            let own = in_task(move || builder().use_current_thread().build().unwrap());
            let mut expected = vec![threads, 7];
            expected.extend(0..threads);
            expected.push(8);
            assert_eq!(rayon::scope(|_| seen_of(&own)), expected);
            let (own, seen) = in_task(move || {
                let seen = seen_of(&own);
                (own, seen)
            });
            assert_eq!(seen, expected);
            let (ran_own, own_ran) = mpsc::channel();
            in_task(move || {
                own.spawn(move || ran_own.send(rayon::current_num_threads()).unwrap());
                drop(own);
            });
            assert_eq!(own_ran.recv(), Ok(threads));
            // Later tasks are in none of them.
            assert_eq!(in_task(rayon::current_num_threads), SLOTS);
            assert_eq!(rayon::broadcast(|context| context.index()), [0, 1, 2]);
            let (ran, was_run) = mpsc::channel();
            in_task(move || rayon::spawn(move || ran.send(rayon::current_num_threads()).unwrap()));
            assert_eq!(was_run.recv(), Ok(SLOTS));
        }
        sender.send(()).unwrap();
    });
    ended.recv_timeout(DEADLINE).expect("ended in time");
}
