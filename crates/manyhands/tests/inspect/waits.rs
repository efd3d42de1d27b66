//! What a waiting task is said to wait for, and on which line.

use crate::support::{Source, assert_waits_at, in_state, line_at, named, spawn, until, waiting};
use futures::Stream;
use manyhands::inspect::{self, Task, Wait};
use manyhands::query::prelude::*;
use manyhands::task::TaskGroup;
use manyhands::{cancel, channel, diagnostics, parallel, task, time};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

const HERE: Source = (file!(), include_str!("waits.rs"));

#[test]
fn a_task_that_awaits_another_names_it_and_its_own_line() {
    diagnostics::open();
    let slow = spawn("join: slow", pending::<()>());
    let handle_id = slow.id();
    let waits = spawn("join: waits", async move { drop(slow.await) });
    let listed = waiting("join: waits");
    assert_waits_at(&listed, HERE, &["join: waits"]);
    let wait = &listed.waits[0];
    let slow = waiting("join: slow");
    let awaited = (wait.kind.as_str(), wait.owner.as_ref());
    assert_eq!(awaited, ("task", Some(&slow.number)));
    assert_eq!(wait.resource, handle_id.to_string());
    assert!(wait.direct && !listed.may_wait_for_more);
    assert!(slow.waits.is_empty(), "the library does not know");
    waits.abort();
}

#[test]
fn each_kind_of_wait_is_named_with_its_line() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let (full, _rest) = channel::bounded::<u32>(1);
    full.send_blocking(1).unwrap();
    let (_completer, completion) = task::completion::<u32>();
    let source = cancel::TokenSource::new();
    let token = source.token();
    let tasks = [
        spawn("kind: receive", async move { drop(receiver.recv().await) }),
        spawn("kind: send", async move {
            full.send(2).await.unwrap_or_default();
        }),
        spawn("kind: completion", async move { drop(completion.await) }),
        spawn("kind: cancellation", async move { token.cancelled().await }),
        spawn("kind: timer", async {
            time::sleep(Duration::from_secs(3600)).await;
        }),
        spawn("kind: end", async move {
            drop(sender.wait_closed().await);
        }),
    ];
    let kinds = [
        ("kind: receive", "receive", "recv().await"),
        ("kind: send", "send", "send(2).await"),
        ("kind: completion", "completion", "completion.await"),
        ("kind: cancellation", "cancellation", "cancelled().await"),
        (
            "kind: timer",
            "timer",
            "sleep(Duration::from_secs(3600)).await",
        ),
        ("kind: end", "channel_end", "wait_closed().await"),
    ];
    for (name, kind, part) in kinds {
        let task = waiting(name);
        assert_waits_at(&task, HERE, &[part]);
        let wait = &task.waits[0];
        assert_eq!(wait.kind, kind, "{name}");
        assert!(wait.owner.is_none() && wait.direct, "{name}");
        assert!(!task.may_wait_for_more, "{name}");
    }
    tasks.iter().for_each(task::JoinHandle::abort);
}

#[test]
fn receivers_of_broadcast_and_watch_wait_for_an_item_of_their_channel() {
    diagnostics::open();
    let (news, mut paper) = channel::broadcast::<u32>(4);
    let (value, mut seen) = channel::watch(0);
    let (papers, values) = (paper.clone().into_stream(), seen.clone().into_stream());
    let tasks = [
        spawn("kind: broadcast", async move {
            drop(paper.recv().await);
        }),
        spawn("kind: watch", async move {
            drop(seen.changed().await);
        }),
        spawn("kind: broadcast stream", async move {
            let mut papers = pin!(papers);
            poll_fn(|context| papers.as_mut().poll_next(context)).await; // the next paper
        }),
        spawn("kind: watch stream", async move {
            let mut values = pin!(values);
            poll_fn(|context| values.as_mut().poll_next(context)).await; // the next value
        }),
    ];
    let waits = [
        ("kind: broadcast", "recv().await"),
        ("kind: watch", "changed().await"),
        ("kind: broadcast stream", "the next paper"),
        ("kind: watch stream", "the next value"),
    ]
    .map(|(name, part)| {
        let task = waiting(name);
        assert_waits_at(&task, HERE, &[part]);
        assert!(!task.may_wait_for_more, "{name}");
        task.waits[0].clone()
    });
    for wait in &waits {
        assert_eq!(wait.kind, "receive");
        assert!(wait.direct && wait.owner.is_none() && wait.resource != "0");
    }
    assert_eq!(waits[0].resource, waits[2].resource);
    assert_eq!(waits[1].resource, waits[3].resource);
    assert_ne!(waits[0].resource, waits[1].resource);
    news.send(1).unwrap();
    value.send(1).unwrap();
    for task in tasks {
        task.join().unwrap();
    }
}

#[cfg(feature = "futures")]
#[test]
fn a_sink_that_has_an_item_waits_for_room_in_its_channel() {
    use futures::Sink;
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    sender.send_blocking(1).unwrap();
    let ends = sender.clone();
    let mut sink = sender.into_sink();
    let sends = spawn("kind: sink", async move {
        let mut sink = Pin::new(&mut sink);
        sink.as_mut().start_send(2).unwrap();
        poll_fn(|context| sink.as_mut().poll_flush(context)).await // until there is room
    });
    let closed = spawn("kind: end of the sink's channel", async move {
        drop(ends.wait_closed().await);
    });
    let task = waiting("kind: sink");
    assert_waits_at(&task, HERE, &["until there is room"]);
    let wait = &task.waits[0];
    assert!(wait.kind == "send" && wait.direct && !task.may_wait_for_more);
    let end = waiting("kind: end of the sink's channel");
    assert_eq!(wait.resource, end.waits[0].resource);
    assert_eq!(receiver.recv_blocking(), Ok(1));
    assert_eq!(sends.join().unwrap(), Ok(()));
    closed.abort();
}

#[test]
fn an_async_loop_that_can_get_other_limits_waits_for_its_items_only() {
    diagnostics::open();
    let gates = [cancel::TokenSource::new(), cancel::TokenSource::new()];
    let tokens = gates.each_ref().map(cancel::TokenSource::token);
    let waits = spawn("limits: loop", async move {
        let looping = parallel::for_each_async(0..2_usize, move |i| {
            let token = tokens[i].clone();
            async move { token.cancelled().await }
        });
        let handle = looping.handle();
        handle.set_degree_of_parallelism(2).unwrap();
        looping.await;
        pending::<()>().await;
        drop(handle);
    });
    waiting("limits: loop");
    gates[0].cancel();
    let waits_for = |kind: Option<&str>| {
        until(|| {
            let task = waiting("limits: loop");
            // With this poll it has seen that the first item is over.
            let is_late = task.waits.iter().all(|wait| wait.direct);
            (is_late && task.waits.first().map(|wait| &*wait.kind) == kind).then_some(task)
        })
    };
    let task = waits_for(Some("group"));
    assert!(task.waits.len() == 1 && !task.may_wait_for_more, "{task:?}");
    gates[1].cancel();
    let task = waits_for(None);
    assert!(!task.may_wait_for_more, "{task:?}");
    waits.abort();
}

#[test]
fn both_ends_of_a_channel_wait_for_the_same_resource() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let ends = sender.clone();
    let reader = task::Builder::new().name("ends: reader");
    let reader = reader.spawn(async move { receiver.recv().await });
    let closed = task::Builder::new().name("ends: closed");
    let closed = closed.spawn(async move { ends.wait_closed().await });
    let resource = |name| waiting(name).waits[0].resource.clone();
    assert_eq!(resource("ends: reader"), resource("ends: closed"));
    sender.send_blocking(1).unwrap();
    assert_eq!(reader.join().unwrap(), Ok(1));
    closed.abort();
}

#[test]
fn a_closure_that_blocks_shows_its_wait_and_the_line_of_the_call() {
    diagnostics::open();
    let slow = spawn("block: slow", pending::<()>());
    let (to_join, joins) = channel::bounded(1);
    let joining = task::Builder::new().name("block: joins").run(move || {
        let slow: task::JoinHandle<()> = joins.recv_blocking().unwrap();
        slow.join().is_err()
    });
    to_join.send_blocking(slow).unwrap();
    let listed = in_state("block: joins", "blocked");
    let listed = if listed.waits[0].kind == "task" {
        listed
    } else {
        until(|| {
            let task = named(&inspect::snapshot(), "block: joins")?.clone();
            let joins = task.waits.first()?.kind == "task";
            (joins && task.state == "blocked").then_some(task)
        })
    };
    assert_waits_at(&listed, HERE, &["slow.join()"]);
    assert_eq!(listed.waits[0].owner, Some(waiting("block: slow").number));

    let (sender, receiver) = channel::bounded::<u32>(1);
    let receiving = task::Builder::new().name("block: receives");
    let receiving = receiving.run(move || receiver.recv_blocking());
    let listed = in_state("block: receives", "blocked");
    assert_waits_at(&listed, HERE, &["receiver.recv_blocking()"]);
    assert_eq!(listed.waits[0].kind, "receive");
    assert!(!listed.may_wait_for_more);
    sender.send_blocking(1).unwrap();
    assert_eq!(receiving.join().unwrap(), Ok(1));
    // The runtime that both belong to is the default one, which is never shut down.
    drop(joining);
}

#[test]
fn a_thread_outside_that_joins_a_task_is_shown_as_its_waiter() {
    diagnostics::open();
    let slow = spawn("thread: slow", pending::<()>());
    let number = waiting("thread: slow").number;
    let joiner = std::thread::Builder::new().name("thread: joins".to_owned());
    let joiner = joiner.spawn(move || slow.join()).unwrap();
    let listed = in_state("thread: joins", "blocked");
    assert_eq!(listed.kind, "thread");
    assert_eq!(listed.waits[0].owner, Some(number));
    drop(joiner);
}

#[test]
fn a_thread_outside_that_waits_at_a_channel_is_blocked_and_does_not_run() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let receives = std::thread::Builder::new().name("thread: receives".to_owned());
    let receives = receives.spawn(move || receiver.recv_blocking()).unwrap();
    let listed = in_state("thread: receives", "blocked");
    assert_eq!(listed.waits[0].kind, "receive");
    sender.send_blocking(7).unwrap();
    assert_eq!(receives.join().unwrap(), Ok(7));
}

#[test]
fn a_wait_with_a_time_limit_is_two_waits() {
    diagnostics::open();
    let slow = spawn("limit: slow", pending::<()>());
    let limited = task::Builder::new().name("limit: waits");
    let limited =
        limited.spawn(async move { time::timeout(Duration::from_secs(3600), slow).await });
    let listed = waiting("limit: waits");
    let kinds: Vec<_> = listed.waits.iter().map(|wait| &*wait.kind).collect();
    assert_eq!(kinds, ["task", "timer"]);
    limited.abort();
}

#[test]
fn a_wait_that_was_given_up_in_the_same_poll_is_not_shown() {
    diagnostics::open();
    let slow = spawn("given up: slow", pending::<()>());
    let (_sender, receiver) = channel::bounded::<u32>(1);
    let waits = spawn("given up: waits", async move {
        let mut receive = Box::pin(receiver.recv());
        let once = poll_fn(|context| Poll::Ready(receive.as_mut().poll(context).is_pending()));
        assert!(once.await);
        drop(receive);
        slow.await
    });
    assert_waits_at(&waiting("given up: waits"), HERE, &["slow.await"]);
    waits.abort();
}

/// Polls it once.
async fn begin<F: Future>(future: &mut Pin<Box<F>>) {
    let once = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending()));
    assert!(once.await);
}

#[test]
fn timers_and_groups_that_were_given_up_in_the_same_poll_are_not_shown() {
    diagnostics::open();
    let slow = spawn("given up too: slow", pending::<()>());
    let in_group = spawn("given up too: of the group", pending::<()>());
    let waits = spawn("given up too: waits", async move {
        let mut sleep = Box::pin(time::sleep(Duration::from_secs(3600)));
        begin(&mut sleep).await;
        let mut all = Box::pin(task::when_all([pending::<()>()]));
        begin(&mut all).await;
        let mut each = task::when_each([in_group]);
        begin(&mut Box::pin(each.next())).await;
        drop((sleep, all, each));
        slow.await
    });
    assert_waits_at(&waiting("given up too: waits"), HERE, &["slow.await"]);
    waits.abort();
}

#[test]
fn a_wait_for_something_unknown_beside_a_known_one_is_noticed() {
    diagnostics::open();
    let slow = spawn("unknown: slow", pending::<()>());
    let waits = task::Builder::new()
        .name("unknown: waits")
        .spawn(async move {
            let mut kept = None;
            let mut slow = pin!(slow);
            poll_fn(|context| {
                kept = Some(context.waker().clone());
                slow.as_mut().poll(context)
            })
            .await
        });
    let listed = waiting("unknown: waits");
    let kinds: Vec<_> = listed.waits.iter().map(|wait| &*wait.kind).collect();
    assert_eq!(kinds, ["task", "outside"]);
    assert!(listed.may_wait_for_more);
    waits.abort();
}

#[test]
fn a_task_that_waits_for_a_group_waits_for_its_name() {
    diagnostics::open();
    let waiter = |name: &str, mut group: TaskGroup<()>| {
        group.spawn(pending());
        let named = task::Builder::new().name(name);
        named.spawn(async move { group.next().await.is_some() })
    };
    let tasks = [
        waiter("group: first", TaskGroup::named("requests\x1b[2J")),
        waiter(
            "group: second",
            TaskGroup::named(String::from("requests 2")),
        ),
        waiter("group: none", TaskGroup::new()),
    ];
    let waits = ["group: first", "group: second", "group: none"].map(|name| {
        let waits = waiting(name).waits;
        let group = waits.iter().find(|wait| wait.kind == "group");
        group
            .map(|wait| (wait.name.clone(), wait.resource.clone()))
            .unwrap()
    });
    assert_eq!(waits[0].0.as_deref(), Some("requests\\u{1b}[2J"));
    assert_eq!(waits[1].0.as_deref(), Some("requests 2"));
    assert!(waits[0].1 != waits[1].1 && waits[2] == (None, "0".to_owned()));
    let path = diagnostics::serve().unwrap();
    let view = manyhands_inspect::Client::connect(&path)
        .unwrap()
        .view(usize::MAX);
    let text = manyhands_inspect::text(&view.unwrap());
    assert!(text.contains("group 'requests\\u{1b}[2J'"), "{text}");
    for task in tasks {
        task.abort();
        assert!(task.join().is_err());
    }
}

#[test]
fn functions_of_the_library_that_wait_are_shown_on_the_line_that_calls_them() {
    diagnostics::open();
    let group = || {
        let mut group = TaskGroup::new();
        group.spawn(pending::<Result<(), String>>());
        group
    };
    let (mut one, all, first_failure) = (group(), group(), group());
    let mut each = task::when_each([task::spawn(pending::<()>())]);
    let source = cancel::TokenSource::new();
    let token = source.token();
    let (_sender, other) = channel::bounded::<u32>(1);
    let (_go, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let tasks = [
        spawn("line: one", async move { drop(one.next().await) }),
        spawn("line: all", async move { drop(all.wait().await) }),
        spawn("line: first failure", async move {
            drop(first_failure.try_wait().await);
        }),
        spawn("line: each", async move { drop(each.next().await) }),
        spawn("line: tick", async {
            let mut interval = time::interval(Duration::from_secs(3600));
            interval.tick().await; // at once
            interval.tick().await; // an hour later
        }),
        spawn("line: cancelled", async move {
            let inner = async { drop(other.recv().await) };
            drop(token.run_until_cancelled(inner).await);
        }),
        spawn("line: items", async move {
            let query = (0..2_u32).into_par_query();
            let mut items = query
                .map(move |_| gate.lock().unwrap().recv().is_ok())
                .stream();
            let _ = items.next().await;
        }),
        spawn("line: loop", async {
            let items = parallel::for_each_async(0..1_u32, |_| pending::<()>());
            items.await;
        }),
    ];
    // Some of them may be polled again, and then wait for less.
    for (name, parts) in [
        ("line: one", &["one.next().await"][..]),
        ("line: all", &["all.wait().await"]),
        ("line: first failure", &["first_failure.try_wait().await"]),
        ("line: each", &["each.next().await"]),
        ("line: tick", &["an hour later"]),
        ("line: cancelled", &["run_until_cancelled", "other.recv"]),
        ("line: items", &["items.next().await"]),
        ("line: loop", &["parallel::for_each_async"]),
    ] {
        let task = until(|| Some(waiting(name)).filter(|task| !task.waits.is_empty()));
        let lines = task.waits.iter().map(|wait| line_at(HERE, &wait.at));
        let lines: Vec<&str> = lines.collect();
        let is_part_of = |part: &&str| lines.iter().any(|line| line.contains(*part));
        assert!(parts.iter().all(is_part_of), "{name}: {lines:?}");
        let has_part = |line: &&str| parts.iter().any(|part| line.contains(*part));
        assert!(lines.iter().all(has_part), "{name}: {lines:?}");
    }
    tasks.iter().for_each(task::JoinHandle::abort);
}

#[test]
fn the_end_of_a_scope_and_a_completion_that_block_are_shown_on_the_line_of_the_call() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let (completer, completion) = task::completion::<u32>();
    let end_of = |kind: &str, name: &str| {
        until(|| {
            let task = named(&inspect::snapshot(), name)?.clone();
            let is_there = task.waits.first()?.kind == kind && task.state == "blocked";
            is_there.then_some(task)
        })
    };
    let scoped = receiver.clone();
    let scope = task::Builder::new().name("end: scope").run(move || {
        let mut received = None;
        task::scope_blocking(|scope| scope.spawn(async { received = scoped.recv().await.ok() }));
        received
    });
    let completed = task::Builder::new().name("end: completion");
    let completed = completed.run(move || completion.wait_blocking().unwrap());
    let listed = end_of("scope", "end: scope");
    assert_waits_at(&listed, HERE, &["task::scope_blocking(|scope| scope.spawn"]);
    let listed = end_of("completion", "end: completion");
    assert_waits_at(&listed, HERE, &["completion.wait_blocking()"]);
    sender.send_blocking(1).unwrap();
    completer.complete(2);
    assert_eq!(
        (scope.join().unwrap(), completed.join().unwrap()),
        (Some(1), 2)
    );
}

#[test]
fn what_waits_inside_a_combinator_is_not_taken_for_all_there_is() {
    diagnostics::open();
    let slow = [1, 2].map(|_| task::spawn(pending::<()>()));
    let all = task::Builder::new().name("inside: all");
    let all = all.spawn(async move { task::when_all(slow).await.len() });
    let listed = waiting("inside: all");
    let direct: Vec<_> = listed.waits.iter().filter(|wait| wait.direct).collect();
    assert_eq!(direct.len(), 1);
    assert_eq!(direct[0].kind, "group");
    assert_eq!(listed.waits.len(), 3);
    all.abort();
}

/// Is polled again for each kick, and waits for an item all the time.
async fn select(items: channel::Receiver<u32>, kicks: channel::Receiver<()>) {
    let mut receive = pin!(items.recv());
    let mut kicks = pin!(kicks.into_stream());
    let result = poll_fn(|context| {
        while kicks.as_mut().poll_next(context) == Poll::Ready(Some(())) {}
        receive.as_mut().poll(context)
    });
    assert_eq!(result.await, Ok(1));
}

#[test]
fn a_task_that_is_polled_again_waits_for_the_same_since_before_and_for_the_next_item_since_the_last()
 {
    diagnostics::open();
    for state in ["waiting", "blocked"] {
        let (items, all_items) = channel::bounded::<u32>(1);
        let (kicks, all_kicks) = channel::bounded::<()>(1);
        let selecting = select(all_items, all_kicks);
        let name = format!("since: {state}");
        let task = match state {
            "waiting" => spawn(&name, selecting),
            _ => task::Builder::new()
                .name(&*name)
                .run(|| task::block_on(selecting)),
        };
        let seen_after = |changes: u64| {
            until(|| {
                let task = in_state(&name, state);
                (task.changes > changes && task.waits.len() == 2).then_some(task)
            })
        };
        let first = seen_after(0);
        let between = time::now();
        until(|| (time::now() - between > 2 * GAP).then_some(()));
        kicks.send_blocking(()).unwrap();
        let second = seen_after(first.changes);
        let of = |task: &Task, part: &str| {
            let is_it = |wait: &&Wait| line_at(HERE, &wait.at).contains(part);
            let wait = task.waits.iter().find(is_it).unwrap();
            Duration::from_micros(wait.waiting_us)
        };
        let (item, kick) = (
            of(&second, "receive.as_mut()"),
            of(&second, "kicks.as_mut()"),
        );
        assert!(item > kick + GAP, "{second:?}");
        items.send_blocking(1).unwrap();
        task.join().unwrap();
    }
}

/// Much more than the error of a clock.
const GAP: Duration = Duration::from_millis(10);

#[test]
fn each_tick_of_an_interval_is_a_wait_of_its_own() {
    diagnostics::open();
    let ticks = spawn("since: ticks", async move {
        let mut interval = time::interval(2 * GAP);
        loop {
            interval.tick().await;
        }
    });
    until(|| {
        let task = waiting("since: ticks");
        let since_begun = Duration::from_micros(task.waits[0].waiting_us);
        let since_polled = Duration::from_micros(task.in_state_us);
        (task.polls > 3 && since_begun < since_polled + GAP).then_some(())
    });
    ticks.abort();
}
