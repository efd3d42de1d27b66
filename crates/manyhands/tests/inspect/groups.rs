//! Tasks counted by where they are, over the socket.

use crate::support::until;
use manyhands::task::TaskGroup;
use manyhands::{cancel, channel, diagnostics, task};
use manyhands_inspect::Client;

/// 10,000, or as many as the variable `MANYHANDS_TASKS` says.
#[test]
fn however_many_tasks_wait_on_one_line_they_are_one_group_and_a_few_lines() {
    let tasks = std::env::var("MANYHANDS_TASKS").map_or(10_000, |n| n.parse().unwrap());
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let source = cancel::TokenSource::new();
    let line = line!() + 3;
    for _ in 0..tasks {
        let token = source.token();
        drop(task::spawn(async move { token.cancelled().await }));
    }
    let of_line =
        |at: Option<&str>| at.is_some_and(|at| at.contains(&format!("groups.rs:{line}:")));
    let (groups, group) = until(|| {
        let groups = client.groups().unwrap();
        let mut of_test = groups
            .groups
            .iter()
            .filter(|group| of_line(group.at.as_deref()));
        let group = of_test
            .find(|group| group.state == "waiting" && group.tasks == tasks)?
            .clone();
        Some((groups, group))
    });
    assert_eq!(group.waits_for.as_deref(), Some("cancellation"));
    assert!(of_line(group.spawned_at.as_deref()) && group.examples.len() == 5);
    let bytes: usize = groups
        .groups
        .iter()
        .map(|group| format!("{group:?}").len())
        .sum();
    assert!(bytes < 1_000_000, "{bytes}");
    let graph = groups.graph();
    let all: usize = groups.groups.iter().map(|group| group.tasks).sum();
    assert_eq!(graph.stacks, all);
    assert!(graph.segments.iter().any(|segment| segment.stacks >= tasks));
    source.cancel();
}

#[test]
fn tasks_that_wait_for_task_groups_are_counted_by_the_names_of_these_wherever_the_groups_were_sent()
{
    diagnostics::open();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let line = line!() + 4;
    let waiters: Vec<_> = ["uploads", "mails", "uploads"]
        .map(|name| {
            let (sender, receiver) = channel::bounded::<TaskGroup<()>>(1);
            let waiter = task::spawn(async move {
                let mut group = receiver.recv().await.unwrap();
                group.next().await.is_some()
            });
            // Made by this thread, and sent to the task that waits for it.
            let mut group = TaskGroup::named(name);
            group.spawn(std::future::pending());
            assert!(sender.send_blocking(group).is_ok());
            waiter
        })
        .into();
    let counted = until(|| {
        let groups = client.groups().unwrap().groups;
        let of_test = groups.into_iter().filter(|group| {
            let at = group.spawned_at.as_deref().unwrap_or_default();
            at.contains(&format!("groups.rs:{line}:"))
                && group.waits_for.as_deref() == Some("group")
        });
        let mut counted: Vec<_> = of_test.map(|group| (group.tasks, group.name)).collect();
        counted.sort_unstable();
        let tasks: usize = counted.iter().map(|(tasks, _)| tasks).sum();
        (tasks == waiters.len()).then_some(counted)
    });
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(counted, [(1, named("mails")), (2, named("uploads"))]);
    waiters.iter().for_each(task::JoinHandle::abort);
}
