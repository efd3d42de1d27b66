//! Graphs of small programs, and programs for other tests.

use super::{Edge, Graph, NODES_MAX, NodeKind};
use crate::view::View;
use crate::view::tests::clerk;
use manyhands_wire::{Channel, Deadlock, Frame, Group, Load, Task, Wait};

/// A task that waits for each of these: an owner's number or a resource, prefixed by `@`.
pub(crate) fn task(number: usize, spawned_at: &str, waits: &[&str]) -> Task {
    let wait = |what: &&str| {
        let channel = what.strip_prefix('@');
        Wait {
            kind: if channel.is_some() { "send" } else { "task" }.to_owned(),
            name: None,
            resource: channel.unwrap_or("0").to_owned(),
            owner: channel.is_none().then(|| (*what).to_owned()),
            at: "src/office.rs:20:5".to_owned(),
            waiting_us: 5,
            direct: true,
            frame: None,
        }
    };
    Task {
        number: number.to_string(),
        spawned_at: Some(spawned_at.to_owned()),
        state: if waits.is_empty() {
            "running"
        } else {
            "waiting"
        }
        .to_owned(),
        waits: waits.iter().map(wait).collect(),
        ..clerk()
    }
}

pub(crate) fn orders() -> Channel {
    Channel {
        number: 1,
        name: Some("orders".to_owned()),
        item_type: "Order".to_owned(),
        made_at: "src/shop.rs:1:1".to_owned(),
        capacity: Some(8),
        resource: "7f01".to_owned(),
        age_us: 1,
        load: Some(Load {
            len: 8,
            senders: 1,
            receivers: 1,
            senders_waiting: 1,
            receivers_waiting: 0,
            closed: false,
        }),
    }
}

/// The first line of each node.
fn heads(graph: &Graph) -> Vec<&str> {
    let lines = graph.nodes.iter().map(|node| node.lines[0].as_str());
    lines.collect()
}

#[test]
fn equal_tasks_are_one_node_and_their_waits_one_edge() {
    let mut tasks: Vec<Task> = (2..1_002)
        .map(|n| task(n, "src/a.rs:1:1", &["1"]))
        .collect();
    tasks.push(task(1, "src/b.rs:1:1", &["@7f01"]));
    let graph = Graph::of(&View {
        tasks,
        channels: vec![orders()],
        ..View::default()
    });
    assert_eq!(
        heads(&graph),
        [
            "1000 tasks · waiting",
            "1 task · waiting",
            "channel 'orders'"
        ]
    );
    assert_eq!(
        graph.nodes[0].lines[3],
        "awaits a task at src/office.rs:20:5"
    );
    assert_eq!(graph.nodes[2].lines[1], "8 of 8 items");
    assert_eq!(graph.nodes[2].kind, NodeKind::Channel);
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to, edge.count))
        .collect();
    assert_eq!(edges, [(0, 1, 1_000), (1, 2, 1)]);
}

#[test]
fn tasks_in_the_same_frames_are_one_node_that_names_them_around_their_waits() {
    let frame = |name: &str, outer| Frame {
        name: name.to_owned(),
        at: format!("src/{name}.rs:1:1"),
        outer,
    };
    let in_frames = |number, names: &[&str]| {
        let mut task = task(number, "src/a.rs:1:1", &["@0"]);
        let frames = names.iter().enumerate();
        task.frames = frames
            .map(|(place, name)| frame(name, place.checked_sub(1)))
            .collect();
        task.waits[0].frame = names.len().checked_sub(1);
        task
    };
    let tasks = vec![
        in_frames(1, &["serve", "fetch"]),
        in_frames(2, &["serve", "fetch"]),
        in_frames(3, &["serve"]),
    ];
    let graph = Graph::of(&View {
        tasks,
        ..View::default()
    });
    assert_eq!(heads(&graph), ["2 tasks · waiting", "1 task · waiting"]);
    assert_eq!(
        graph.nodes[0].lines[3..],
        [
            "in serve at src/serve.rs:1:1",
            "in fetch at src/fetch.rs:1:1",
            "sends at src/office.rs:20:5"
        ]
    );
}

#[test]
fn tasks_that_wait_for_groups_of_different_names_are_nodes_with_these_names() {
    let waits_for = |number: usize, name: Option<&str>| {
        let mut task = task(number, "src/a.rs:1:1", &["9"]);
        task.waits[0].kind = "group".to_owned();
        task.waits[0].name = name.map(str::to_owned);
        task
    };
    let names = [Some("uploads"), Some("mails"), Some("uploads"), None];
    let tasks = (1..).zip(names).map(|(n, name)| waits_for(n, name));
    let graph = Graph::of(&View {
        tasks: tasks.collect(),
        ..View::default()
    });
    let nodes = graph.nodes.iter();
    let shown: Vec<_> = nodes
        .map(|node| (node.count, node.lines[3].as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (2, "awaits one of several 'uploads' at src/office.rs:20:5"),
            (1, "awaits one of several at src/office.rs:20:5"),
            (1, "awaits one of several 'mails' at src/office.rs:20:5"),
        ]
    );
}

#[test]
fn equal_waits_of_a_task_are_one_line_with_their_number() {
    let mut busy = task(1, "src/a.rs:1:1", &["2", "3", "4", "@7f01"]);
    busy.waits[3].at = "src/office.rs:9:9".to_owned();
    let graph = Graph::of(&View {
        tasks: vec![busy],
        ..View::default()
    });
    assert_eq!(
        graph.nodes[0].lines[3..],
        [
            "3 × awaits a task at src/office.rs:20:5",
            "sends at src/office.rs:9:9"
        ]
    );
}

#[test]
fn a_deadlock_is_marked_and_never_left_out() {
    let ring = [
        task(1, "src/x.rs:1:1", &["2"]),
        task(2, "src/y.rs:1:1", &["1"]),
    ];
    let mut tasks: Vec<Task> = (10..200)
        .flat_map(|line| [0, 1].map(|n| task(2 * line + n, &format!("src/z.rs:{line}:1"), &[])))
        .collect();
    tasks.extend(ring.clone());
    let graph = Graph::of(&View {
        tasks,
        deadlocks: vec![Deadlock {
            certain: true,
            behind: 0,
            tasks: ring.to_vec(),
            text: String::new(),
        }],
        ..View::default()
    });
    assert_eq!(
        (graph.nodes.len(), graph.left_out),
        (NODES_MAX, 192 - NODES_MAX)
    );
    assert!(graph.nodes[0].is_deadlocked && graph.nodes[1].is_deadlocked);
    assert!(graph.edges.iter().all(|edge: &Edge| edge.is_deadlocked));
    assert_eq!(graph.edges.len(), 2);
}

pub(crate) fn group(tasks: usize, spawned_at: &str) -> Group {
    let example = task(0, spawned_at, &[]);
    Group {
        kind: example.kind,
        type_name: example.type_name,
        spawned_at: example.spawned_at,
        state: "waiting".to_owned(),
        waits_for: Some("task".to_owned()),
        name: None,
        at: Some("src/office.rs:20:5".to_owned()),
        frames: Vec::new(),
        tasks,
        examples: vec!["7".to_owned()],
        longest_us: 1,
    }
}

#[test]
fn groups_that_the_program_sends_are_nodes_with_the_names_that_their_tasks_wait_for() {
    let named = |name: &str| {
        let mut group = group(500_000, "src/a.rs:1:1");
        group.waits_for = Some("group".to_owned());
        group.name = Some(name.to_owned());
        group
    };
    let graph = Graph::of(&View {
        tasks_left_out: 1_000_000,
        groups: vec![named("uploads"), named("mails")],
        ..View::default()
    });
    let mut shown: Vec<_> = graph.nodes.iter().map(|node| &*node.lines[3]).collect();
    shown.sort_unstable();
    assert_eq!(
        shown,
        [
            "awaits one of several 'mails' at src/office.rs:20:5",
            "awaits one of several 'uploads' at src/office.rs:20:5",
        ]
    );
}

#[test]
fn a_million_tasks_are_drawn_from_their_groups_and_the_deadlocked_ones_apart() {
    let ring = [
        task(1, "src/a.rs:1:1", &["2"]),
        task(2, "src/a.rs:1:1", &["1"]),
    ];
    let graph = Graph::of(&View {
        tasks: vec![task(1, "src/a.rs:1:1", &["2"])],
        tasks_left_out: 1_000_000,
        groups: vec![group(1_000_000, "src/a.rs:1:1"), group(1, "src/b.rs:1:1")],
        groups_left_out: 4,
        deadlocks: vec![Deadlock {
            certain: true,
            behind: 0,
            tasks: ring.to_vec(),
            text: String::new(),
        }],
        ..View::default()
    });
    assert_eq!(
        heads(&graph),
        [
            "1 task · waiting, deadlocked",
            "1 task · waiting, deadlocked",
            "999998 tasks · waiting",
            "1 task · waiting"
        ]
    );
    let edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| (edge.from, edge.to, edge.count))
        .collect();
    assert_eq!(edges, [(0, 1, 1), (1, 0, 1)]);
    assert_eq!(graph.left_out, 4);
}

/// The state and the numbers of each node.
fn chosen_by(graph: &Graph) -> Vec<(&str, Vec<&str>)> {
    let nodes = graph.nodes.iter();
    nodes
        .filter_map(|node| node.tasks.as_ref())
        .map(|tasks| {
            let numbers = tasks.numbers.iter().map(String::as_str);
            (tasks.state.as_str(), numbers.collect())
        })
        .collect()
}

#[test]
fn nodes_say_in_which_state_their_tasks_are_and_which_these_are_but_channels_do_not() {
    let graph = Graph::of(&View {
        tasks: vec![
            task(1, "src/a.rs:1:1", &["@7f01"]),
            task(2, "src/a.rs:1:1", &["@7f01"]),
            task(3, "src/a.rs:1:1", &[]),
        ],
        channels: vec![orders()],
        ..View::default()
    });
    let expected = [("waiting", vec!["1", "2"]), ("running", vec!["3"])];
    assert_eq!(chosen_by(&graph), expected);
    assert_eq!(graph.nodes.len(), 3, "and the channel");
}

#[test]
fn of_tasks_that_the_program_has_counted_those_that_are_listed_are_in_their_nodes() {
    let mut waits = task(5, "src/a.rs:1:1", &["@7f01"]);
    waits.waits[0].kind = "task".to_owned();
    let ring = task(6, "src/a.rs:1:1", &["6"]);
    let graph = Graph::of(&View {
        tasks: vec![waits, ring.clone(), task(7, "src/z.rs:1:1", &[])],
        tasks_left_out: 1_000_000,
        groups: vec![group(1_000_000, "src/a.rs:1:1")],
        deadlocks: vec![Deadlock {
            certain: true,
            behind: 0,
            tasks: vec![ring],
            text: String::new(),
        }],
        ..View::default()
    });
    let expected = [("waiting", vec!["6"]), ("waiting", vec!["5"])];
    assert_eq!(chosen_by(&graph), expected);
}
