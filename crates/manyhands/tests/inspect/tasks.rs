//! Which tasks are listed, and what is said about them.

use crate::support::{in_state, named, spawn, until, waiting, while_true};
use manyhands::inspect;
use manyhands::task::Priority;
use manyhands::{Runtime, channel, diagnostics, task};
use std::future::pending;
use std::sync::mpsc;

#[test]
fn a_task_is_listed_from_its_spawning_to_its_end() {
    diagnostics::open();
    let runtime = Runtime::builder()
        .workers(1)
        .name("listed")
        .build()
        .unwrap();
    let (started, start) = mpsc::channel();
    let (go, gate) = mpsc::channel::<()>();
    let _entered = runtime.enter();
    let running = task::Builder::new().name("listed: runs").run(move || {
        started.send(()).unwrap();
        gate.recv().unwrap();
    });
    start.recv().unwrap();
    let snapshot = inspect::snapshot();
    let runs = named(&snapshot, "listed: runs").unwrap();
    assert_eq!(
        (runs.state.as_str(), runs.kind.as_str()),
        ("running", "closure")
    );
    assert_eq!((runs.polls, runs.waits.len()), (1, 0));
    let spawned_at = Some(running.location().to_string());
    assert_eq!(runs.spawned_at, spawned_at);
    assert!(
        runs.type_name.contains("a_task_is_listed"),
        "{}",
        runs.type_name
    );
    assert_eq!(runs.id, running.id().to_string());
    let runtimes = &snapshot.runtimes;
    let listed = runtimes
        .iter()
        .find(|runtime| runtime.name == "listed")
        .unwrap();
    assert_eq!((runs.runtime, runs.worker), (Some(listed.number), Some(0)));
    assert_eq!(listed.workers[0].task_spawned_at, spawned_at);
    go.send(()).unwrap();
    running.join().unwrap();
    until(|| {
        named(&inspect::snapshot(), "listed: runs")
            .is_none()
            .then_some(())
    });
}

#[test]
fn a_task_that_is_cancelled_or_panics_leaves_the_list() {
    diagnostics::open();
    let cancelled = spawn("left: cancelled", pending::<()>());
    waiting("left: cancelled");
    cancelled.abort();
    assert!(cancelled.join().is_err());
    let failed = task::Builder::new().name("left: panicked");
    let failed = failed.run(|| std::panic::resume_unwind(Box::new("no")));
    let failed: Result<(), _> = failed.join();
    assert!(failed.is_err());
    for name in ["left: cancelled", "left: panicked"] {
        until(|| named(&inspect::snapshot(), name).is_none().then_some(()));
    }
}

#[test]
fn a_task_knows_which_one_has_spawned_it() {
    diagnostics::open();
    let (sender, receiver) = channel::unbounded();
    let parent = task::Builder::new()
        .name("family: parent")
        .spawn(async move {
            let child = spawn("family: child", pending::<()>());
            sender.send_blocking(()).unwrap();
            child.await
        });
    receiver.recv_blocking().unwrap();
    let child = waiting("family: child");
    let listed = waiting("family: parent");
    assert_eq!(listed.waits[0].owner, Some(child.number));
    assert_eq!(listed.parent, None);
    assert_eq!(child.parent, Some(listed.number));
    parent.abort();
}

#[test]
fn a_wake_counts_and_so_does_each_poll() {
    diagnostics::open();
    let (sender, receiver) = channel::unbounded::<u32>();
    let reader = task::Builder::new()
        .name("counted")
        .spawn(async move { while receiver.recv().await.is_ok() {} });
    assert_eq!(waiting("counted").polls, 1);
    for n in 1..4 {
        sender.send_blocking(7).unwrap();
        until(|| {
            let snapshot = inspect::snapshot();
            let counted = named(&snapshot, "counted")?;
            (counted.polls > n && counted.state == "waiting").then_some(())
        });
    }
    let counted = waiting("counted");
    assert_eq!((counted.polls, counted.wakes), (4, 3));
    assert!(counted.busy_us <= counted.age_us && counted.in_state_us <= counted.age_us);
    drop(sender);
    reader.join().unwrap();
}

#[test]
fn a_thread_that_waits_outside_of_any_task_is_listed_while_it_does() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let outside = std::thread::Builder::new().name("outside thread".to_owned());
    let outside = outside.spawn(move || receiver.recv_blocking()).unwrap();
    let listed = until(|| named(&inspect::snapshot(), "outside thread").cloned());
    assert_eq!((listed.kind.as_str(), listed.spawned_at), ("thread", None));
    sender.send_blocking(7).unwrap();
    assert_eq!(outside.join().unwrap(), Ok(7));
    assert!(named(&inspect::snapshot(), "outside thread").is_none());
}

#[test]
fn nothing_is_left_of_many_tasks_that_come_and_go_while_snapshots_are_taken() {
    diagnostics::open();
    const EACH: usize = 2_000;
    let workers: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(|| {
                for n in 0..EACH {
                    let name = task::Builder::new().name("storm");
                    let inner = name.spawn(async move {
                        task::yield_now().await;
                        n
                    });
                    assert_eq!(inner.join().unwrap(), n);
                }
            })
        })
        .collect();
    let go_on = || workers.iter().any(|worker| !worker.is_finished());
    while_true(go_on, || {
        let snapshot = inspect::snapshot();
        let storm = snapshot
            .tasks
            .iter()
            .filter(|task| task.name.as_deref() == Some("storm"));
        for task in storm {
            assert!(task.polls <= 2 && task.waits.len() <= 1, "{task:?}");
        }
        assert!(
            snapshot
                .tasks
                .windows(2)
                .all(|two| order(&two[0].number) < order(&two[1].number))
        );
    });
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    until(|| named(&inspect::snapshot(), "storm").is_none().then_some(()));
}

/// How often the place of a task of this number was used, and the place.
fn order(number: &str) -> (u32, u32) {
    let (place, uses) = number.split_once('.').unwrap_or((number, "1"));
    (uses.parse().unwrap(), place.parse().unwrap())
}

#[test]
fn a_blocked_task_is_shown_as_blocked_until_it_goes_on() {
    diagnostics::open();
    let (go, gate) = mpsc::channel::<()>();
    let (started, start) = mpsc::channel();
    let blocked = task::Builder::new().name("declared").run(move || {
        task::blocking(|| gate.recv()).unwrap();
        started.send(()).unwrap();
        let (hold, held) = mpsc::channel::<()>();
        drop(hold);
        held.recv().is_err()
    });
    let listed = in_state("declared", "blocked");
    assert!(listed.waits.is_empty(), "nobody knows what for");
    go.send(()).unwrap();
    start.recv().unwrap();
    assert!(blocked.join().unwrap());
}

#[test]
fn a_task_shows_its_priority_also_over_the_socket_and_in_the_table() {
    diagnostics::open();
    let mut client = manyhands_inspect::Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let priorities = [
        ("priority: first", Priority::Interactive, "interactive"),
        ("priority: usual", Priority::Normal, "normal"),
        ("priority: last", Priority::Background, "background"),
    ];
    let tasks = priorities.map(|(name, priority, _)| {
        let builder = task::Builder::new().name(name).priority(priority);
        builder.spawn(pending::<()>())
    });
    for (name, _, word) in priorities {
        assert_eq!(waiting(name).priority.as_deref(), Some(word));
    }
    let view = client.view(usize::MAX).unwrap();
    let text = manyhands_inspect::text(&view);
    for (name, _, word) in priorities {
        let mut shown = view.tasks.iter();
        let shown = shown.find(|task| task.name.as_deref() == Some(name));
        assert_eq!(shown.unwrap().priority.as_deref(), Some(word));
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        assert_eq!(line.trim_end().ends_with(word), word != "normal", "{line}");
    }
    tasks.iter().for_each(task::JoinHandle::abort);
}
