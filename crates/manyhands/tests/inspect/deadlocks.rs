//! Deadlocks of real tasks.

use crate::support::{assert_waits_at, in_state, spawn, until, waiting, while_true};
use manyhands::inspect::{self, Deadlock, TaskState};
use manyhands::task::{self, JoinHandle};
use manyhands::{Runtime, channel, time};
use std::thread;
use std::time::Duration;

/// Looks until there is a deadlock whose first task has this name.
fn deadlock_of(name: &str) -> Deadlock {
    let mut earlier = inspect::snapshot();
    until(|| {
        let now = inspect::snapshot();
        let found = now.deadlocks(&earlier);
        earlier = now;
        found.into_iter().find(|ring| names(ring).contains(&name))
    })
}

fn names(ring: &Deadlock) -> Vec<&str> {
    ring.tasks
        .iter()
        .filter_map(|task| task.name.as_deref())
        .collect()
}

/// A task that gets the handle that it awaits from a channel.
fn awaits_another(name: &str) -> (channel::Sender<JoinHandle<()>>, JoinHandle<()>) {
    let (sender, receiver) = channel::bounded::<JoinHandle<()>>(1);
    let task = spawn(name, async move {
        drop(receiver.recv_async().await.unwrap().await);
    });
    (sender, task)
}

#[test]
fn three_tasks_in_a_ring_are_named_with_their_lines_and_the_one_behind_is_counted() {
    inspect::open();
    let (to_a, a) = awaits_another("ring: a");
    let (to_b, b) = awaits_another("ring: b");
    let (to_c, c) = awaits_another("ring: c");
    to_a.send(b).unwrap();
    to_b.send(c).unwrap();
    to_c.send(a).unwrap();
    let ring = deadlock_of("ring: a");
    // Each waits for the next one, but any may be named first.
    let mut found = names(&ring);
    let first = found.iter().position(|name| *name == "ring: a");
    found.rotate_left(first.unwrap());
    assert_eq!(found, ["ring: a", "ring: b", "ring: c"]);
    assert!(ring.is_certain && ring.behind == 0);
    let text = ring.to_string();
    assert!(text.contains("'ring: a' waits for task"), "{text}");
    let here = (file!(), include_str!("deadlocks.rs"));
    for task in &ring.tasks {
        assert_waits_at(task, here, &["recv_async().await.unwrap().await"]);
        assert!(text.contains(&format!("at {}", task.waits[0].at)), "{text}");
    }
}

#[test]
fn a_ring_of_a_future_and_a_blocked_closure_is_found() {
    inspect::open();
    let (to_future, future) = awaits_another("mixed: future");
    let (to_closure, handles) = channel::bounded::<JoinHandle<()>>(1);
    let closure = task::Builder::new().name("mixed: closure");
    let closure = closure.run(move || drop(handles.recv().unwrap().join()));
    to_future.send(closure).unwrap();
    to_closure.send(future).unwrap();
    let ring = deadlock_of("mixed: future");
    assert!(names(&ring).contains(&"mixed: closure") && ring.is_certain);
}

#[test]
fn a_ring_of_two_closures_is_found_where_one_runs_in_the_frame_of_the_other() {
    inspect::open();
    // The one thread blocks in the outer closure, so only that can run the inner one: where it joins it.
    let runtime = Runtime::builder().workers(1).max_threads(1).build();
    // Its thread never ends.
    let runtime: &Runtime = Box::leak(Box::new(runtime.unwrap()));
    let (to_outer, handles) = channel::bounded::<JoinHandle<()>>(1);
    let (to_inner, others) = channel::bounded::<JoinHandle<()>>(1);
    let outer = runtime.install(|| {
        let outer = task::Builder::new().name("frames: outer");
        outer.run(move || {
            let inner: JoinHandle<()> = handles.recv().unwrap();
            drop(inner.join());
        })
    });
    in_state("frames: outer", TaskState::Blocked);
    let inner = runtime.install(|| {
        let inner = task::Builder::new().name("frames: inner");
        inner.run(move || drop(others.recv().unwrap().join()))
    });
    to_inner.send(outer).unwrap();
    to_outer.send(inner).unwrap();
    let ring = deadlock_of("frames: outer");
    assert!(names(&ring).contains(&"frames: inner") && ring.is_certain);
}

#[test]
fn a_ring_with_a_time_limit_in_it_is_none() {
    inspect::open();
    let (to_a, a) = awaits_another("limited: a");
    let (to_b, handles) = channel::bounded::<JoinHandle<()>>(1);
    let b = spawn("limited: b", async move {
        let other = handles.recv_async().await.unwrap();
        drop(time::timeout(Duration::from_secs(3600), other).await);
    });
    to_a.send(b).unwrap();
    to_b.send(a).unwrap();
    until(|| {
        let is_joining = |name| waiting(name).waits[0].owner.is_some();
        (is_joining("limited: a") && is_joining("limited: b")).then_some(())
    });
    let earlier = inspect::snapshot();
    thread::yield_now();
    let found = inspect::snapshot().deadlocks(&earlier);
    assert!(!found.iter().any(|ring| names(ring).contains(&"limited: a")));
}

#[test]
fn a_busy_ring_of_tasks_that_pass_a_token_is_no_deadlock() {
    inspect::open();
    let (to_first, first) = channel::bounded::<u32>(1);
    let (to_second, second) = channel::bounded::<u32>(1);
    let pass = |name: &str, from: channel::Receiver<u32>, to: channel::Sender<u32>| {
        spawn(name, async move {
            while let Ok(n) = from.recv_async().await {
                let relay = task::spawn(async move { n });
                let n = relay.await.unwrap();
                if n == 0 || to.send_async(n - 1).await.is_err() {
                    break;
                }
            }
        })
    };
    let tasks = [
        pass("busy: 1", first, to_second),
        pass("busy: 2", second, to_first.clone()),
    ];
    to_first.send(5_000).unwrap();
    drop(to_first);
    let mut earlier = inspect::snapshot();
    let go_on = || !tasks.iter().all(JoinHandle::is_finished);
    while_true(go_on, || {
        let now = inspect::snapshot();
        let found = now.deadlocks(&earlier);
        assert!(!found.iter().any(|ring| names(ring)[0].starts_with("busy")));
        earlier = now;
    });
}
