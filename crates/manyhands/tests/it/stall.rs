//! Stalls: work waits, every thread is blocked, and none may be added. They are reported.

use crate::support::{on, receive, wait_until};
use manyhands::diagnostics::{Stall, ThreadChangeReason, Wait};
use manyhands::parallel::Options;
use manyhands::{Runtime, channel, task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

/// A runtime of one thread that reports its stalls.
fn stalling() -> (Runtime, mpsc::Receiver<Stall>) {
    let (sender, stalls) = mpsc::channel();
    let builder = Runtime::builder().workers(1).max_threads(1);
    let tell = move |stall: &Stall| drop(sender.send(stall.clone()));
    (builder.on_stall(tell).build().unwrap(), stalls)
}

#[test]
fn a_pool_at_its_limit_that_cannot_continue_reports_the_waiting_threads() {
    let (runtime, stalls) = stalling();
    on(runtime, move |runtime| {
        let _entered = runtime.enter();
        let (go, gate) = mpsc::channel::<()>();
        let blocked = task::run(move || gate.recv().unwrap());
        let theirs = go.clone();
        // It would release the other, but there is no thread for it.
        let releasing = task::run(move || theirs.send(()).is_ok());
        let stall = receive(&stalls);
        assert_eq!(stall.reason, ThreadChangeReason::LimitReached);
        assert_eq!((stall.threads, stall.blocked.len()), (1, 1));
        let thread = stall.blocked[0];
        assert_eq!((thread.worker, thread.waits), (Some(0), Wait::Unknown));
        assert_eq!(thread.task.unwrap().line(), blocked.location().line());
        let text = stall.to_string();
        assert!(
            text.contains("worker 0 in the task of") && text.contains("limit"),
            "{text}"
        );
        let last = *runtime.thread_changes().last().unwrap();
        assert_eq!(last.reason, ThreadChangeReason::LimitReached);
        go.send(()).unwrap();
        blocked.join().unwrap();
        releasing.join().unwrap();
    });
}

/// Tasks that wait for a lock, which nobody declares.
fn crowd_at(lock: &Arc<Mutex<()>>, count: usize) -> Vec<task::JoinHandle<()>> {
    let wait = |_| {
        let lock = Arc::clone(lock);
        task::run(move || drop(lock.lock().unwrap()))
    };
    (0..count).map(wait).collect()
}

#[test]
fn threads_that_block_one_long_after_the_other_are_reported_too() {
    for threads_max in [2, 3, 8] {
        let (sender, stalls) = mpsc::channel();
        let tell = move |stall: &Stall| drop(sender.send(stall.clone()));
        let builder = Runtime::builder().workers(2).max_threads(threads_max);
        on(builder.on_stall(tell).build().unwrap(), move |runtime| {
            let _entered = runtime.enter();
            let ends = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&ends);
            let (open, gate) = mpsc::channel::<()>();
            let computing = task::run(move || {
                while !theirs.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
                gate.recv().is_err()
            });
            let lock = Arc::new(Mutex::new(()));
            let closed = lock.lock().unwrap();
            let crowd = crowd_at(&lock, 20);
            wait_until("all but one are blocked", || {
                runtime.metrics().detected_blocked == threads_max - 1
            });
            ends.store(true, Ordering::SeqCst);
            let stall = receive(&stalls);
            assert_eq!(stall.reason, ThreadChangeReason::LimitReached);
            let all = (threads_max, threads_max);
            assert_eq!((stall.threads, stall.blocked.len()), all);
            drop((open, closed));
            assert!(computing.join().unwrap());
            crowd.into_iter().for_each(|task| task.join().unwrap());
        });
    }
}

#[test]
fn a_crowd_at_one_lock_that_takes_every_thread_is_reported() {
    let (sender, stalls) = mpsc::channel();
    let tell = move |stall: &Stall| drop(sender.send(stall.clone()));
    let builder = Runtime::builder().workers(2).max_threads(8);
    on(builder.on_stall(tell).build().unwrap(), move |runtime| {
        let _entered = runtime.enter();
        let lock = Arc::new(Mutex::new(()));
        let closed = lock.lock().unwrap();
        let crowd = crowd_at(&lock, 100);
        let stall = receive(&stalls);
        assert_eq!(stall.reason, ThreadChangeReason::LimitReached);
        assert_eq!((stall.threads, stall.blocked.len()), (8, 8));
        drop(closed);
        crowd.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn a_stall_of_declared_waits_names_them() {
    let (runtime, stalls) = stalling();
    on(runtime, move |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = channel::unbounded();
        let waiting = task::run(move || receiver.recv_blocking().unwrap());
        let theirs = sender.clone();
        let releasing = task::run(move || theirs.try_send(()).is_ok());
        let stall = receive(&stalls);
        assert_eq!(stall.blocked[0].waits, Wait::Declared);
        assert!(stall.to_string().contains("worker 0 in the task of"));
        sender.try_send(()).unwrap();
        waiting.join().unwrap();
        releasing.join().unwrap();
    });
}

#[test]
fn who_waits_at_a_state_s_end_for_the_task_for_which_it_left_the_loop_is_no_stall() {
    for threads_max in [2, 8] {
        let (sender, stalls) = mpsc::channel();
        let tell = move |stall: &Stall| drop(sender.send(stall.to_string()));
        let builder = Runtime::builder().workers(2).max_threads(threads_max);
        on(builder.on_stall(tell).build().unwrap(), move |runtime| {
            let (ran, has_run) = mpsc::channel();
            let has_run = Mutex::new(has_run);
            let (is_helped, is_ending) = (AtomicBool::new(false), AtomicBool::new(false));
            let is_helper = || runtime.worker_index().is_some();
            let end = |()| {
                // If both workers have helped, the other one runs the task.
                if is_helper() && !is_ending.swap(true, Ordering::SeqCst) {
                    task::blocking(|| receive(&has_run.lock().unwrap()));
                }
            };
            runtime.install(|| {
                let local = Options::new().local(|| (), end);
                local.for_each(0..u64::MAX, |_, control, ()| {
                    if is_helper() && !is_helped.swap(true, Ordering::SeqCst) {
                        let ran = ran.clone();
                        drop(task::run(move || ran.send(()).unwrap()));
                    }
                    // The owner then waits for its helpers.
                    if is_ending.load(Ordering::SeqCst) && !control.should_exit() {
                        control.stop();
                    }
                });
            });
            let told: Vec<String> = stalls.try_iter().collect();
            assert!(told.is_empty(), "{told:?}");
        });
    }
}
