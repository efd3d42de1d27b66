//! The annotated frames in which a task waits.

use crate::support::{file_and_line, spawn, until, waiting};
use manyhands::inspect::{self, Task};
use manyhands::{cancel, channel, diagnostics, task, time};
use manyhands_inspect::Client;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// The names of the frames from the outermost to this one.
fn chain(task: &Task, innermost: Option<usize>) -> Vec<&str> {
    let outer = |frame: &usize| task.frames[*frame].outer;
    let chain = std::iter::successors(innermost, outer);
    let mut names: Vec<_> = chain
        .map(|frame| task.frames[frame].name.as_str())
        .collect();
    names.reverse();
    names
}

/// The frames around each wait.
fn chains(task: &Task) -> Vec<Vec<&str>> {
    let waits = task.waits.iter();
    waits.map(|wait| chain(task, wait.frame)).collect()
}

async fn never() {
    time::sleep(Duration::from_secs(3600)).await;
}

#[test]
fn a_waiting_task_shows_its_frames_with_their_lines_around_its_wait() {
    diagnostics::open();
    let inner = async { diagnostics::framed("inner", never()).await };
    let line = line!() + 1;
    let outer = spawn("frames: nested", diagnostics::framed("outer", inner));
    let task = waiting("frames: nested");
    assert_eq!(chains(&task), [["outer", "inner"]]);
    let places = task.frames.iter().map(|frame| file_and_line(&frame.at));
    let expected = vec![(file!(), line), (file!(), line - 2)];
    assert_eq!((places.collect(), task.frames_left_out), (expected, 0));
    // The line of the wait is still that which awaits it, not one of this library.
    assert_eq!(file_and_line(&task.waits[0].at).0, file!());
    outer.abort();
}

#[test]
fn a_wait_that_is_not_recorded_shows_its_frames_and_one_that_has_ended_is_gone() {
    diagnostics::open();
    let work = task::spawn(diagnostics::framed("work", async {
        diagnostics::framed("first", task::yield_now()).await;
        diagnostics::framed("second", pending::<()>()).await;
    }));
    let task = until(|| {
        let tasks = inspect::snapshot().tasks;
        let spawned_at = Some(work.location().to_string());
        let of_work = |task: &&Task| task.spawned_at == spawned_at;
        let task = tasks.iter().find(of_work)?.clone();
        let is_second = task.frames.iter().any(|frame| frame.name == "second");
        (task.state == "waiting" && is_second).then_some(task)
    });
    let names: Vec<_> = task.frames.iter().map(|frame| &*frame.name).collect();
    assert_eq!(names, ["work", "second"]);
    assert!(task.waits.is_empty());
    work.abort();
}

#[test]
fn futures_that_are_polled_side_by_side_have_frames_of_their_own_until_they_are_dropped() {
    diagnostics::open();
    let (sender, receiver) = channel::bounded::<u32>(1);
    let source = cancel::TokenSource::new();
    let token = source.token();
    let select = spawn("frames: select", async move {
        {
            let mut one = pin!(diagnostics::framed("one", token.cancelled()));
            let mut other = pin!(diagnostics::framed("other", async {
                drop(receiver.recv().await);
            }));
            poll_fn(|context| {
                let is_over = one.as_mut().poll(context).is_ready();
                match other.as_mut().poll(context) {
                    Poll::Pending if !is_over => Poll::Pending,
                    _ => Poll::Ready(()),
                }
            })
            .await;
        }
        diagnostics::framed("after", never()).await;
    });
    let task = waiting("frames: select");
    assert_eq!(chains(&task), [["one"], ["other"]]);
    sender.send_blocking(1).unwrap();
    let task = until(|| {
        let task = waiting("frames: select");
        (chains(&task) == [["after"]]).then_some(task)
    });
    assert_eq!(task.frames.len(), 1);
    select.abort();
}

#[test]
fn a_call_that_blocks_the_thread_shows_the_frames_around_it() {
    diagnostics::open();
    let source = cancel::TokenSource::new();
    let token = source.token();
    let blocks = spawn(
        "frames: blocks",
        diagnostics::framed("around", async move {
            task::block_on(diagnostics::framed("inside", token.cancelled()));
            never().await;
        }),
    );
    let task = until(|| {
        let task = crate::support::in_state("frames: blocks", "blocked");
        (!task.waits.is_empty()).then_some(task)
    });
    assert_eq!(chains(&task), [["around", "inside"]]);
    source.cancel();
    let task = until(|| {
        let task = waiting("frames: blocks");
        (!task.waits.is_empty()).then_some(task)
    });
    assert_eq!(
        (chains(&task), task.frames.len()),
        (vec![vec!["around"]], 1)
    );
    blocks.abort();
}

#[test]
fn the_client_shows_frames_and_tasks_in_the_same_ones_are_one_group() {
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let source = cancel::TokenSource::new();
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let token = source.token();
            let wait = diagnostics::framed("wait\x1b[2J", async move { token.cancelled().await });
            spawn("frames: shown", diagnostics::framed("serve", wait))
        })
        .collect();
    let group = until(|| {
        let groups = client.groups().unwrap().groups;
        let mut groups = groups.into_iter();
        groups.find(|group| {
            let is_serving = group.frames.first().is_some_and(|f| f.name == "serve");
            is_serving && group.state == "waiting" && group.tasks == 3
        })
    });
    let names: Vec<_> = group.frames.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["serve", "wait\\u{1b}[2J"]);
    assert!(group.frames.iter().all(|f| f.at.contains("frames.rs:")));
    let view = client.view(usize::MAX).unwrap();
    let is_shown = |task: &&Task| task.name.as_deref() == Some("frames: shown");
    let task = view.tasks.iter().find(is_shown).unwrap();
    assert_eq!(
        (task.frames[1].outer, task.waits[0].frame),
        (Some(0), Some(1))
    );
    let text = manyhands_inspect::text(&view);
    assert!(text.contains("serve › wait\\u{1b}[2J"), "{text}");
    source.cancel();
    for task in tasks {
        task.join().unwrap();
    }
}
