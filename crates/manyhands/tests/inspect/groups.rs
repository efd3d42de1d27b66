//! Tasks counted by where they are, over the socket.

use crate::support::until;
use manyhands::{cancel, inspect, task};
use manyhands_inspect::Client;

/// 10,000, or as many as the variable `MANYHANDS_TASKS` says.
#[test]
fn however_many_tasks_wait_on_one_line_they_are_one_group_and_a_few_lines() {
    let tasks = std::env::var("MANYHANDS_TASKS").map_or(10_000, |n| n.parse().unwrap());
    inspect::open();
    let mut client = Client::connect(&inspect::serve().unwrap()).unwrap();
    let source = cancel::Source::new();
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
