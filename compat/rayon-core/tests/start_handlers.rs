//! The start handler of the global pool. In a process of its own, whose global pool has one.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// Ends a test that hangs, with a sentence.
const DEADLINE: Duration = Duration::from_secs(60);

#[test]
fn start_handlers_of_the_global_pool_may_wait_for_its_jobs() {
    let (ran, has_run) = mpsc::channel();
    let (sender, outcomes) = mpsc::channel();
    let first = Mutex::new(Some((has_run, sender)));
    rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .start_handler(move |_| {
            let taken = first.lock().unwrap().take();
            if let Some((has_run, sender)) = taken {
                // For the job that this thread was called for, and then for one that comes now.
                sender.send(has_run.recv_timeout(DEADLINE)).unwrap();
                sender.send(has_run.recv_timeout(DEADLINE)).unwrap();
            }
        })
        .build_global()
        .unwrap();
    for name in ["first", "second"] {
        let ran = ran.clone();
        rayon::spawn(move || ran.send(name).unwrap());
        assert_eq!(outcomes.recv_timeout(2 * DEADLINE), Ok(Ok(name)));
    }
    assert_eq!(rayon::join(|| 1, || 2), (1, 2));
}
