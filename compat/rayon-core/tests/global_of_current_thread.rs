//! The global pool made of the calling thread, in a task of manyhands. In a process of its own, whose runtime has one worker.

use manyhands::{Runtime, task};
use rayon::ThreadPoolBuilder;
use std::sync::mpsc;
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn a_worker_that_makes_the_global_pool_serves_all_of_its_slots_as_before() {
    Runtime::builder().workers(1).build_default().unwrap();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let build = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        task::run(move || build().build_global().unwrap())
            .join()
            .unwrap();
        let indices = || rayon::broadcast(|context| context.index());
        let outside = indices();
        let inside = rayon::scope(|_| (rayon::current_thread_index() < Some(2), indices()));
        let in_task = task::run(indices).join().unwrap();
        sender.send((outside, inside, in_task)).unwrap();
    });
    let all = vec![0, 1];
    let seen = ended.recv_timeout(DEADLINE).expect("ended in time");
    assert_eq!(seen, (all.clone(), (true, all.clone()), all));
}
