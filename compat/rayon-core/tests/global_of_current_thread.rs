//! The global pool made of the calling thread, in a task of manyhands. In a process of its own, whose runtime has one worker.

use manyhands::{Runtime, task};
use rayon::ThreadPoolBuilder;
use std::sync::mpsc;
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn a_worker_that_the_global_pool_is_made_of_serves_it_in_its_slot() {
    Runtime::builder().workers(1).build_default().unwrap();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let build = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        task::run(move || build().build_global().unwrap())
            .join()
            .unwrap();
        let seen = rayon::scope(|_| {
            // A part of this is for that worker only.
            let indices = rayon::broadcast(|context| context.index());
            (rayon::current_thread_index(), indices)
        });
        sender.send(seen).unwrap();
    });
    let seen = ended.recv_timeout(DEADLINE).expect("ended in time");
    assert_eq!(seen, (Some(0), vec![0, 1]));
}
