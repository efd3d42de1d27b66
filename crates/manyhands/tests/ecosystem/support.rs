//! Deadlines.

use manyhands::{Runtime, task};
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Runs `work` on a thread of its own; fails if it has not ended in time.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (ended, end) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        work()
    });
    let timed_out = end.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
    assert!(!timed_out, "not ended in time");
    thread
        .join()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

/// Runs `future` as a task of a new runtime of two workers with tokio, in time.
pub(crate) fn as_task<F>(future: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    in_time(|| {
        let runtime = Runtime::builder().workers(2).tokio().build().unwrap();
        let _entered = runtime.enter();
        task::spawn(future).join().unwrap()
    })
}
