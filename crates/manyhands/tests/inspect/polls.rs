//! One poll of a waiting task on request, over the socket, with the names that the client finds in this program's file.

use crate::support::{in_state, spawn, until, waiting};
use manyhands::channel::{self, Receiver};
use manyhands::inspect::{self, Task};
use manyhands::{Runtime, diagnostics, task, time};
use manyhands_inspect::stacks::{Frames, LeafStack, Resolver, polled_task_text};
use manyhands_inspect::{Client, Error};
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::Duration;

/// A client of this process, which lets it act.
fn client() -> Client {
    diagnostics::allow_control();
    Client::connect(&diagnostics::serve().unwrap()).unwrap()
}

#[inline(never)]
async fn innermost(orders: Receiver<u32>) -> u32 {
    orders.recv().await.unwrap()
}

#[inline(never)]
async fn outermost(orders: Receiver<u32>) -> u32 {
    diagnostics::framed("order", innermost(orders)).await + 1
}

/// Where in the stack the function is whose path has this part.
fn position(leaf: &LeafStack, function: &str) -> Option<usize> {
    let mut frames = leaf.frames.iter();
    frames.position(|frame| frame.function.contains(function))
}

fn reason(refused: &Error) -> &str {
    match refused {
        Error::Refused(reason) => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_task_that_is_polled_on_request_shows_its_functions_from_its_wait_outwards() {
    let mut client = client();
    let (sender, orders) = channel::bounded::<u32>(1);
    let clerk = spawn("polled: clerk", outermost(orders));
    let before = waiting("polled: clerk");
    let raw = client.poll_task(&before.number).unwrap();
    let polled = Resolver::new().resolve_task(&raw);

    let task = polled.task.as_ref().unwrap();
    assert_eq!(task.state, "waiting");
    assert_eq!(
        (task.polls, task.wakes),
        (before.polls + 1, before.wakes + 1)
    );
    let [wait] = &task.waits[..] else {
        panic!("{task:?}");
    };
    assert_eq!(
        (&*wait.kind, wait.at.clone()),
        ("receive", before.waits[0].at.clone())
    );
    let [leaf] = &polled.leaves[..] else {
        panic!("{polled:?}");
    };
    assert!(
        leaf.wait == 0 && leaf.missing.is_none() && !leaf.cut,
        "{leaf:?}"
    );
    let [inner, outer] =
        ["polls::innermost", "polls::outermost"].map(|function| position(leaf, function));
    assert!(inner.is_some() && inner < outer, "{leaf:?}");

    let text = polled_task_text(&polled, Frames::OfProgram);
    assert!(
        text.contains("receive") && text.contains("polls::outermost"),
        "{text}"
    );
    assert!(
        text.contains("in 'order' of") && !text.contains("run_loop"),
        "{text}"
    );
    assert_eq!(waiting("polled: clerk").polls, before.polls + 1);
    sender.send_blocking(6).unwrap();
    assert_eq!(clerk.join().unwrap(), 7);
}

#[test]
fn each_wait_of_a_task_has_a_stack_of_its_own_and_a_future_that_was_dropped_has_none() {
    let mut client = client();
    let (_sender, orders) = channel::bounded::<u32>(1);
    let slow = spawn("polled: slow", pending::<()>());
    let several = spawn("polled: several", async move {
        let limited = time::timeout(Duration::from_secs(3600), slow);
        let mut limited = Box::pin(limited);
        poll_fn(|context| {
            // Given up in the same poll.
            let mut given_up = Box::pin(orders.recv());
            assert!(given_up.as_mut().poll(context).is_pending());
            drop(given_up);
            limited.as_mut().poll(context).map(drop)
        })
        .await;
    });
    let number = waiting("polled: several").number;
    let raw = client.poll_task(&number).unwrap();
    let kinds: Vec<&str> = raw
        .task
        .iter()
        .flat_map(|task| &task.waits)
        .map(|wait| &*wait.kind)
        .collect();
    assert_eq!(kinds, ["task", "timer"]);
    let places: Vec<usize> = raw.leaves.iter().map(|leaf| leaf.wait).collect();
    assert_eq!(places, [0, 1], "{raw:?}");
    assert!(raw.leaves.iter().all(|leaf| leaf.copy.registers.is_some()));
    several.abort();
}

#[test]
fn a_future_is_polled_once_for_each_request_and_may_end_with_it() {
    let mut client = client();
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let counts = spawn("polled: counts", async move {
        poll_fn(|_| match counted.fetch_add(1, Ordering::Relaxed) {
            0..3 => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    });
    let number = waiting("polled: counts").number;
    for so_far in [2, 3] {
        let raw = client.poll_task(&number).unwrap();
        let task = raw.task.unwrap();
        assert!(task.waits.is_empty() && raw.leaves.is_empty(), "{task:?}");
        assert_eq!(polls.load(Ordering::Relaxed), so_far);
        // The last of its run's bookkeeping may follow.
        until(|| (waiting("polled: counts").polls == so_far as u64).then_some(()));
    }
    let raw = client.poll_task(&number).unwrap();
    assert_eq!((raw.task, raw.leaves), (None, Vec::new()), "it has ended");
    counts.join().unwrap();
    assert_eq!(polls.load(Ordering::Relaxed), 4);
    let gone = client.poll_task(&number).unwrap_err();
    assert!(reason(&gone).contains("no such task"), "{gone}");
}

#[test]
fn what_does_not_wait_as_a_future_is_not_polled_and_the_connection_goes_on() {
    let mut client = client();
    let (go, gate) = mpsc::channel::<()>();
    let runs = task::Builder::new()
        .name("polled: runs")
        .run(move || gate.recv().is_err());
    let runs_number = in_state("polled: runs", "running").number;
    for (number, part) in [
        (&*runs_number, "only a future that waits"),
        ("4294967295.7", "no such task"),
        ("clerk", "no such task"),
        ("\\\"", "no such task"),
    ] {
        let refused = client.poll_task(number).unwrap_err();
        assert!(reason(&refused).contains(part), "{number}: {refused}");
    }
    drop(go);
    assert!(runs.join().unwrap());
    assert!(client.view(0).is_ok());
}

#[test]
fn a_task_of_a_stuck_pool_is_reported_as_late_and_polled_when_the_pool_goes_on() {
    let mut client = client();
    let runtime = Runtime::builder().workers(1).max_threads(1);
    let runtime = runtime.build().unwrap();
    let (sender, orders) = channel::bounded::<u32>(1);
    // Before the runtime's end, however the test ends.
    let (go, gate) = mpsc::channel::<()>();
    let late = runtime.install(|| spawn("polled: late", innermost(orders)));
    let before = waiting("polled: late");
    let stuck = runtime.install(|| {
        let named = task::Builder::new().name("polled: stuck");
        named.run(move || gate.recv().is_err())
    });
    in_state("polled: stuck", "running");
    let number = before.number;
    let refused = client.poll_task(&number).unwrap_err();
    assert!(
        reason(&refused).contains("no worker has polled"),
        "{refused}"
    );
    let again = client.poll_task(&number).unwrap_err();
    assert!(
        reason(&again).contains("only a future that waits"),
        "it is queued: {again}"
    );
    drop(go);
    assert!(stuck.join().unwrap());
    let polls = |task: &Task| task.polls;
    until(|| (polls(&waiting("polled: late")) == before.polls + 1).then_some(()));
    let raw = client.poll_task(&number).unwrap();
    assert_eq!(raw.task.unwrap().polls, before.polls + 2);
    assert_eq!(raw.leaves.len(), 1);
    sender.send_blocking(5).unwrap();
    assert_eq!(late.join().unwrap(), 5);
}

/// 25 rounds, or as many as the variable `MANYHANDS_ROUNDS` says.
#[test]
fn tasks_that_end_while_they_are_asked_for_are_polled_or_gone() {
    const TASKS: u32 = 8;
    let rounds = std::env::var("MANYHANDS_ROUNDS").map_or(25, |n| n.parse().unwrap());
    let mut client = client();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let mut polled = 0;
    for _ in 0..rounds {
        let (sender, orders) = channel::unbounded::<u32>();
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| runtime.install(|| spawn("polled: ends", innermost(orders.clone()))))
            .collect();
        let ids: Vec<String> = tasks.iter().map(|task| task.id().to_string()).collect();
        let numbers: Vec<String> = until(|| {
            let tasks = inspect::snapshot().tasks.into_iter();
            let waits = tasks.filter(|task| task.state == "waiting" && ids.contains(&task.id));
            let numbers: Vec<_> = waits.map(|task| task.number).collect();
            (numbers.len() == ids.len()).then_some(numbers)
        });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for item in 0..TASKS {
                    sender.send_blocking(item).unwrap();
                    std::thread::yield_now();
                }
            });
            for number in &numbers {
                match client.poll_task(number) {
                    Ok(_) => polled += 1,
                    Err(refused) => {
                        let reason = reason(&refused);
                        let is_over =
                            reason.contains("no such task") || reason.contains("only a future");
                        assert!(is_over, "{reason}");
                    }
                }
            }
        });
        let mut items: Vec<u32> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        items.sort_unstable();
        assert_eq!(items, (0..TASKS).collect::<Vec<_>>());
    }
    assert!(polled <= rounds * TASKS as usize);
}
