//! The line of a wait inside one of the library's own futures that another of them polls: the program's, not the library's.

use crate::support::{Source, assert_waits_at, in_state, line_at, spawn, until, waiting};
use manyhands::inspect;
use manyhands::{cancel, channel, diagnostics, task};
use std::future::pending;

const HERE: Source = (file!(), include_str!("lines.rs"));

#[test]
fn the_first_of_several_tasks_is_waited_for_on_the_line_of_its_await() {
    diagnostics::open();
    let waits = spawn("lines: any", async {
        let first = task::when_any([(); 2].map(|()| task::spawn(pending::<()>())));
        drop(first.await);
    });
    let listed = waiting("lines: any");
    assert_waits_at(&listed, HERE, &["first.await"; 2]);
    assert!(listed.waits.iter().all(|wait| wait.kind == "task"));
    waits.abort();
}

#[test]
fn what_all_or_the_first_of_several_futures_wait_for_has_the_line_of_their_await() {
    diagnostics::open();
    let (_sender, receiver) = channel::bounded::<u32>(1);
    let other = receiver.clone();
    let source = cancel::TokenSource::new();
    let (token, inner) = (source.token(), receiver.clone());
    let tasks = [
        spawn("lines: all", async move {
            let both = task::when_all([receiver.recv(), other.recv()]);
            drop(both.await);
        }),
        spawn("lines: cancelled", async move {
            let item = token.run_until_cancelled(inner.recv());
            drop(item.await); // or cancelled
        }),
    ];
    let all = waiting("lines: all");
    let lines = ["both.await"; 3];
    assert_waits_at(&all, HERE, &lines[..all.waits.len()]);
    let receives = all.waits.iter().filter(|wait| wait.kind == "receive");
    assert_eq!(receives.count(), 2);
    let cancelled = waiting("lines: cancelled");
    assert_waits_at(
        &cancelled,
        HERE,
        &["run_until_cancelled(inner", "run_until_cancelled(inner"],
    );
    tasks.iter().for_each(task::JoinHandle::abort);
}

#[test]
fn what_a_future_waits_for_inside_of_all_keeps_its_own_line() {
    diagnostics::open();
    let (_sender, receiver) = channel::bounded::<u32>(1);
    let waits = spawn("lines: own", async move {
        let one = async move { drop(receiver.recv().await) }; // the wait
        task::when_all([one]).await;
    });
    let listed = waiting("lines: own");
    let receives = |wait: &inspect::Wait| wait.kind == "receive";
    let wait = listed.waits.iter().find(|wait| receives(wait)).unwrap();
    let line = line_at(HERE, &wait.at);
    assert!(line.contains("// the wait"), "{line}");
    waits.abort();
}

#[test]
fn what_blocks_on_a_future_of_the_library_waits_on_the_line_of_its_call() {
    diagnostics::open();
    let source = cancel::TokenSource::new();
    let token = source.token();
    let ending = move || {
        let token = token.clone();
        [(); 2].map(|()| {
            let token = token.clone();
            task::spawn(async move { token.cancelled().await })
        })
    };
    let run = |name: &str, work: fn([task::JoinHandle<()>; 2])| {
        let handles = ending();
        task::Builder::new().name(name).run(move || work(handles))
    };
    let tasks = [
        run("lines: on all", |handles| {
            drop(task::block_on(task::when_all(handles)));
        }),
        run("lines: on any", |handles| {
            drop(task::block_on(task::when_any(handles)));
        }),
        run("lines: on one", |[one, _other]| {
            task::block_on(one).unwrap();
        }),
        run("lines: on own", |[one, _other]| {
            let wait = async move { one.await.unwrap() }; // its own
            task::block_on(wait);
        }),
    ];
    for (name, part) in [
        ("lines: on all", "block_on(task::when_all(handles))"),
        ("lines: on any", "block_on(task::when_any(handles))"),
        ("lines: on one", "task::block_on(one)"),
        ("lines: on own", "// its own"),
    ] {
        let task = until(|| {
            let task = in_state(name, "blocked");
            (!task.waits.is_empty()).then_some(task)
        });
        let parts = vec![part; task.waits.len()];
        assert_waits_at(&task, HERE, &parts);
    }
    source.cancel();
    for task in tasks {
        task.join().unwrap();
    }
}

#[test]
fn a_task_that_is_nothing_but_a_future_of_the_library_waits_on_the_line_of_its_spawning() {
    diagnostics::open();
    let source = cancel::TokenSource::new();
    let token = source.token();
    let task = task::Builder::new()
        .name("lines: spawned")
        .spawn(token.cancelled());
    let listed = waiting("lines: spawned");
    assert_waits_at(&listed, HERE, &[".spawn(token.cancelled())"]);
    source.cancel();
    task.join().unwrap();
}
