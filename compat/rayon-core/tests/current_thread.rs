//! Pools made of the calling thread, in tasks of manyhands. In a process of its own, whose runtime has one worker.

use manyhands::{Runtime, task};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);
/// Slots of the global pool. The other pool has one.
const SLOTS: usize = 3;

/// What a job of the global pool sees on the worker that `own` is made of. `None` on a thread in place of that.
fn seen_on_worker(own: &ThreadPool) -> Option<Vec<usize>> {
    assert_eq!(rayon::current_num_threads(), SLOTS);
    let index = own.current_thread_index()?;
    let (first, second) = own.install(|| rayon::join(rayon::current_num_threads, || 7));
    let mut seen = vec![index, first, second];
    seen.extend(own.broadcast(|context| context.index()));
    let spawned = Mutex::new(0);
    own.in_place_scope(|scope| scope.spawn(|_| *spawned.lock().unwrap() = 8));
    seen.extend([spawned.into_inner().unwrap(), rayon::current_num_threads()]);
    Some(seen)
}

/// Whether a closure that a task spawns is run, after the pool that its worker was made part of was dropped: there, or elsewhere.
fn runs_after_a_drop(is_dropped_there: bool) -> bool {
    let build = || ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    let made = task::run(move || {
        let pool = build().build().unwrap();
        (!is_dropped_there).then_some(pool)
    });
    drop(made.join().unwrap());
    let (sender, ran) = mpsc::channel();
    task::run(move || rayon::spawn(move || sender.send(rayon::current_num_threads()).unwrap()))
        .join()
        .unwrap();
    ran.recv_timeout(DEADLINE) == Ok(SLOTS)
}

#[test]
fn a_worker_that_a_pool_is_made_of_runs_work_of_the_global_one_too() {
    Runtime::builder().workers(1).build_default().unwrap();
    let global = ThreadPoolBuilder::new().num_threads(SLOTS).build_global();
    global.unwrap();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        assert!([true, false].into_iter().all(runs_after_a_drop));
        let build = || ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let own = task::run(move || build().build().unwrap()).join().unwrap();
        let seen = std::iter::repeat_with(|| rayon::scope(|_| seen_on_worker(&own)));
        let seen = seen.flatten().next();
        let indices = rayon::broadcast(|context| context.index());
        // Its place is its own pool's again.
        let after = task::run(move || {
            own.current_thread_index()
                .map(|_| rayon::current_num_threads())
        });
        sender.send((seen, indices, after.join().unwrap())).unwrap();
    });
    let (seen, indices, after) = ended.recv_timeout(DEADLINE).expect("ended in time");
    assert_eq!(seen, Some(vec![0, 1, 7, 0, 8, SLOTS]));
    assert_eq!(indices, [0, 1, 2]);
    assert!(after.is_none_or(|threads| threads == 1));
}
