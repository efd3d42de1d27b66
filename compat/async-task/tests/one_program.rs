//! smol's tasks and ours in one program: they wait for, wake and send to one another.

use manyhands::{channel, task, time};
use std::sync::mpsc;
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

#[test]
fn tasks_of_both_wait_for_one_another() {
    let sum = in_time(|| {
        let tasks: Vec<_> = (0..100_u64)
            .map(|i| {
                let ours = task::spawn(async move {
                    task::yield_now().await;
                    i
                });
                let theirs = smol::spawn(async move { ours.await.unwrap() + 1 });
                task::spawn(async move { theirs.await + 1 })
            })
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap())
            .sum::<u64>()
    });
    assert_eq!(sum, (0..100).sum::<u64>() + 200);
}

#[test]
fn a_channel_of_ours_connects_tasks_of_smol() {
    const ITEMS: u64 = 10_000;
    let sum = in_time(|| {
        let (sender, receiver) = channel::bounded(4);
        let senders: Vec<_> = (0..4)
            .map(|_| {
                let sender = sender.clone();
                smol::spawn(async move {
                    for item in 0..ITEMS {
                        sender.send(item).await.unwrap();
                    }
                })
            })
            .collect();
        drop(sender);
        smol::block_on(async {
            let sum = smol::spawn(async move {
                let mut sum = 0;
                while let Ok(item) = receiver.recv().await {
                    sum += item;
                }
                sum
            });
            for sender in senders {
                sender.await;
            }
            sum.await
        })
    });
    assert_eq!(sum, 4 * (0..ITEMS).sum::<u64>());
}

#[test]
fn a_task_of_smol_sleeps_by_our_timer_and_one_of_ours_by_theirs() {
    in_time(|| {
        let theirs = smol::spawn(time::sleep(Duration::from_millis(1)));
        let ours = task::spawn(smol::Timer::after(Duration::from_millis(1)));
        smol::block_on(theirs);
        ours.join().unwrap();
    });
}

#[test]
fn a_cancelled_task_of_smol_drops_what_it_waits_for_of_ours() {
    let is_closed = in_time(|| {
        let (sender, receiver) = channel::bounded::<()>(1);
        let waiting = smol::spawn(async move { receiver.recv().await });
        smol::block_on(async {
            smol::future::yield_now().await;
            assert_eq!(waiting.cancel().await, None);
        });
        sender.send_blocking(()).is_err()
    });
    assert!(is_closed, "the receiver is gone with the future");
}

#[test]
fn smol_runs_on_a_worker_of_ours_and_ours_inside_of_smol_s_executor() {
    let total = in_time(|| {
        let tasks: Vec<_> = (0..8_u64)
            .map(|i| {
                task::run(move || {
                    let executor = smol::LocalExecutor::new();
                    let inner = executor.spawn(async move {
                        let ours = task::run(move || i);
                        ours.await.unwrap()
                    });
                    smol::block_on(executor.run(inner))
                })
            })
            .collect();
        tasks
            .into_iter()
            .map(|task| task.join().unwrap())
            .sum::<u64>()
    });
    assert_eq!(total, 28);
}
