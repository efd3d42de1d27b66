//! A task that always finds something to do makes room for others all the same.

use crate::support::{busy_micros, on_runtime};
use manyhands::simulation::Simulation;
use manyhands::{cancel, channel, task, time};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

/// Receives `count` items that are there, working for so long before each; returns how many it had when the
/// next task in the queue ran.
fn received_before_the_next_task_runs(count: usize, micros: u64) -> usize {
    on_runtime(1, move |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = channel::unbounded();
        (0..count).for_each(|n| sender.send_blocking(n).unwrap());
        let received = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&received);
        let both = task::spawn(async move {
            let eager = task::spawn(async move {
                for _ in 0..count {
                    busy_micros(micros);
                    receiver.recv().await.unwrap();
                    received.fetch_add(1, Ordering::SeqCst);
                }
            });
            let next = task::spawn(async move { seen.load(Ordering::SeqCst) });
            let seen = next.await.unwrap();
            eager.await.unwrap();
            seen
        });
        both.join().unwrap()
    })
}

#[test]
fn a_task_that_always_finds_an_item_makes_room_after_some() {
    let received = received_before_the_next_task_runs(10_000, 0);
    assert!((1..10_000).contains(&received), "{received}");
}

#[test]
fn a_task_that_works_hard_between_few_operations_makes_room_sooner() {
    // Fewer than the budget of operations: only the time can end the poll.
    let received = received_before_the_next_task_runs(60, 300);
    assert!((1..60).contains(&received), "{received}");
}

/// Waits again and again for what is over already, until another task has run; returns how often.
fn waits_before_another_task_runs<F>(wait: impl Fn() -> F + Send + 'static) -> usize
where
    F: Future<Output = ()> + Send,
{
    let others_ran = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&others_ran);
    let both = task::spawn(async move {
        let eager = task::spawn(async move {
            let mut waits = 0;
            while seen.load(Ordering::SeqCst) == 0 && waits < 100_000 {
                wait().await;
                waits += 1;
            }
            waits
        });
        let other = task::spawn(async move { others_ran.fetch_add(1, Ordering::SeqCst) });
        other.await.unwrap();
        eager.await.unwrap()
    });
    both.join().unwrap()
}

#[test]
fn a_task_that_finds_a_channel_s_end_again_and_again_makes_room() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (sender, _receiver) = channel::unbounded::<u32>();
        sender.close();
        let waits = waits_before_another_task_runs(move || {
            let sender = sender.clone();
            async move { assert!(sender.wait_closed().await.is_ok()) }
        });
        assert!(waits < 100_000, "{waits}");
    });
}

#[test]
fn a_task_that_waits_for_a_past_cancellation_again_and_again_makes_room() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let source = cancel::TokenSource::new();
        source.cancel();
        let token = source.token();
        let waits = waits_before_another_task_runs(move || {
            let token = token.clone();
            async move { token.cancelled().await }
        });
        assert!(waits < 100_000, "{waits}");
    });
}

#[test]
fn a_cancellation_ends_a_future_that_is_always_busy() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let source = cancel::TokenSource::new();
        let token = source.token();
        let busy = task::spawn(async move {
            let (sender, receiver) = channel::unbounded();
            let forever = async move {
                loop {
                    sender.send_blocking(()).unwrap();
                    receiver.recv().await.unwrap();
                }
            };
            token.run_until_cancelled(forever).await
        });
        source.cancel();
        assert!(busy.join().unwrap().is_err());
    });
}

/// Ready as soon as `second` is, but asks `first` before, whose every wait is over at once.
async fn beside_busy<T>(first: impl Future<Output = ()>, second: impl Future<Output = T>) -> T {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending(), "it has no end");
        second.as_mut().poll(context)
    })
    .await
}

/// Waits without end for what is over already.
async fn wait_for_the_past() {
    loop {
        wait_for_the_past_often(1_000).await;
    }
}

/// Waits so often for what is over already.
async fn wait_for_the_past_often(times: usize) {
    let (completer, completion) = task::completion();
    completer.complete(());
    for _ in 0..times {
        completion.clone().await.unwrap();
    }
}

#[test]
fn what_is_ready_gets_its_turn_beside_a_future_that_always_is() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let soon = Duration::from_millis(1);
        let source = cancel::TokenSource::new();
        let token = source.token();
        let (sender, receiver) = channel::bounded(1);
        let (hung_up, closed) = channel::bounded::<u8>(1);
        let beside = task::spawn(async move {
            beside_busy(wait_for_the_past(), time::sleep(soon)).await;
            let mut interval = time::interval(soon);
            for _ in 0..3 {
                beside_busy(wait_for_the_past(), interval.tick()).await;
            }
            let handle = task::spawn(time::sleep(soon));
            beside_busy(wait_for_the_past(), handle).await.unwrap();
            beside_busy(wait_for_the_past(), sender.send(7))
                .await
                .unwrap();
            let received = beside_busy(wait_for_the_past(), receiver.recv()).await;
            assert_eq!(received, Ok(7));
            drop(hung_up);
            let received = beside_busy(wait_for_the_past(), closed.recv()).await;
            received.unwrap_err();
            let tasks = (0..300).map(|n| task::spawn(async move { n }));
            let all = beside_busy(wait_for_the_past(), task::when_all(tasks)).await;
            assert_eq!(all.len(), 300);
            let mut group = task::TaskGroup::new();
            group.spawn(time::sleep(soon));
            let next = beside_busy(wait_for_the_past(), group.next()).await;
            assert_eq!(next.unwrap().0, 0);
            // Several that always are ready come before it.
            let three_busy = async {
                let busy = || beside_busy(wait_for_the_past(), wait_for_the_past());
                beside_busy(busy(), busy()).await;
            };
            source.cancel();
            beside_busy(three_busy, token.cancelled()).await;
            // One between them does what the refusal of the first allows, and is not refused itself.
            for operations in 1..8 {
                let paced = async {
                    loop {
                        wait_for_the_past_often(operations).await;
                        task::yield_now().await;
                    }
                };
                let both = beside_busy(wait_for_the_past(), paced);
                beside_busy(both, token.cancelled()).await;
            }
        });
        beside.join().unwrap();
    });
}

#[test]
fn what_is_ready_gets_its_turn_beside_a_future_that_always_is_where_a_thread_waits() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (sender, mut receiver) = channel::watch(0);
        task::block_on(beside_busy(
            wait_for_the_past(),
            time::sleep(Duration::from_millis(1)),
        ));
        let change = task::spawn(async move { sender.send(1) });
        let changed = task::block_on(beside_busy(wait_for_the_past(), receiver.changed()));
        assert_eq!(changed.as_deref(), Ok(&1));
        assert_eq!(change.join().unwrap(), Ok(()));
        // The budget of what waits inside is another one.
        let waits_inside = poll_fn(|_| {
            task::block_on(wait_for_the_past_often(8));
            Poll::Pending
        });
        let both = beside_busy(wait_for_the_past(), waits_inside);
        let soon = time::sleep(Duration::from_millis(1));
        task::block_on(beside_busy(both, soon));
    });
}

#[test]
fn executors_inside_of_each_other_get_on_when_all_is_spent() {
    on_runtime(1, |_runtime| {
        task::block_on(async {
            wait_for_the_past_often(100).await;
            task::block_on(async { pollster::block_on(wait_for_the_past_often(1_000)) });
            pollster::block_on(wait_for_the_past_often(1_000));
        });
    });
}

#[test]
fn a_task_that_always_finds_one_of_two_things_to_do_makes_room() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let waits = waits_before_another_task_runs(|| {
            beside_busy(wait_for_the_past(), async {
                let (completer, completion) = task::completion();
                completer.complete(());
                completion.await.unwrap();
            })
        });
        assert!(waits < 100_000, "{waits}");
    });
}

/// In one poll of a task: spends all that the poll may do, then calls `wait`, which blocks until the sender's
/// item has come.
fn waits_when_all_is_spent<T: Send + 'static>(
    wait: impl FnOnce(channel::Receiver<u32>) -> T + Send + 'static,
) -> T {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = channel::unbounded();
        let task = task::spawn(async move {
            spend_all().await;
            // Runs on a worker that stands in for this one.
            drop(task::run(move || sender.send_blocking(7).unwrap()));
            wait(receiver)
        });
        task.join().unwrap()
    })
}

/// Ready in the poll in which a receive was put off although its item was there.
async fn spend_all() {
    let (sender, receiver) = channel::unbounded();
    poll_fn(|context| {
        loop {
            sender.send_blocking(()).unwrap();
            let received = pin!(receiver.recv()).poll(context);
            if received.is_pending() {
                return Poll::Ready(());
            }
        }
    })
    .await;
}

#[test]
fn the_first_of_the_tasks_that_have_ended_is_chosen_whatever_their_poll_has_spent() {
    for spent in 0..300 {
        // There only operations count.
        let chosen = Simulation::new(1).run(async move {
            let ended = [0, 1, 2].map(|n| task::spawn(async move { n }));
            time::sleep(Duration::from_millis(1)).await;
            let (sender, receiver) = channel::unbounded();
            for n in 0..spent {
                sender.send_blocking(n).unwrap();
                receiver.recv().await.unwrap();
            }
            task::when_any(ended).await.index
        });
        assert_eq!(chosen, Ok(0), "after {spent} receives");
    }
}

#[test]
fn a_thread_that_waits_inside_of_a_poll_that_has_spent_its_budget_sleeps_until_its_item_comes() {
    assert_eq!(
        waits_when_all_is_spent(|receiver| receiver.recv_blocking()),
        Ok(7)
    );
    let received = waits_when_all_is_spent(|receiver| {
        let mut items = Vec::new();
        receiver.recv_many_blocking(&mut items, 5).unwrap();
        items
    });
    assert_eq!(received, [7]);
}

#[test]
fn a_time_limit_inside_of_a_poll_that_has_spent_its_budget_ends() {
    let received = waits_when_all_is_spent(|receiver| {
        assert_eq!(receiver.recv_blocking(), Ok(7));
        let (_sender, receiver) = channel::unbounded::<u32>();
        receiver.recv_timeout_blocking(Duration::from_micros(50))
    });
    assert!(received.is_err());
}

#[test]
fn another_executor_inside_of_a_poll_that_has_spent_its_budget_gets_on() {
    let received = waits_when_all_is_spent(|receiver| pollster::block_on(receiver.recv()));
    assert_eq!(received, Ok(7));
}
