//! Many futures in one task: the ready set of `when_all`.
//!
//! Threads: the task, driven by a parker, and two that each end one of its two futures. Operations: a look, a
//! wake of a future, whose number goes to the board.
//! Property: no wake is lost, which would be a deadlock here, and every result is there.

use super::{Waiter, check, join_all};
use crate::channel;
use crate::task;
use loom::thread;
use std::pin::pin;

#[test]
fn a_task_hears_of_each_of_its_futures() {
    check(|| {
        let ends = [1, 2].map(|n| {
            let (sender, receiver) = channel::unbounded();
            let sending = thread::spawn(move || sender.send_blocking(n).unwrap());
            (sending, receiver)
        });
        let (sending, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
        let mut all = pin!(task::when_all(
            receivers.iter().map(|receiver| receiver.recv())
        ));
        let received = Waiter::new().wait(|context| all.as_mut().poll(context));
        assert_eq!(received, [Ok(1), Ok(2)]);
        join_all(sending);
    });
}
