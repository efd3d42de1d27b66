//! Tasks that are in the same place, counted, and as a graph.

use crate::stacks::{Graph, graph};
use crate::words::kind_words;
use manyhands_wire::Group;
use serde::Serialize;

/// All tasks of a program, by where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// The groups, that with the most tasks first.
    pub groups: Vec<Group>,
    /// Groups that are not listed because there are too many.
    pub groups_left_out: usize,
}

impl Groups {
    /// Merges the groups as stacks are merged: by type, frames, and then by what they wait for. A member of a segment is the number
    /// of a group in `groups`; `stacks` counts tasks.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let calls: Vec<_> = self.groups.iter().map(calls).collect();
        let weighted = self.groups.iter().zip(&calls);
        graph::merge_weighted(weighted.map(|(group, calls)| (group.tasks, calls.as_slice())))
    }
}

fn calls(group: &Group) -> Vec<graph::Call> {
    let what = match group.kind.as_str() {
        "thread" => "a thread outside of any task",
        _ => &group.type_name,
    };
    let does = match (group.state.as_str(), &group.waits_for, &group.name) {
        ("waiting" | "blocked", Some(kind), Some(name)) => {
            format!("waits for {} '{name}'", kind_words(kind))
        }
        ("waiting" | "blocked", Some(kind), None) => format!("waits for {}", kind_words(kind)),
        ("waiting", None, _) => "waits for something that is not recorded".to_owned(),
        (state, ..) => format!("is {state}"),
    };
    let call = |function: String, at: &Option<String>| graph::Call {
        function,
        at: at.clone(),
    };
    let frames = group.frames.iter().map(|frame| graph::Call {
        function: frame.name.clone(),
        at: Some(frame.at.clone()),
    });
    let mut calls = vec![call(what.to_owned(), &group.spawned_at)];
    calls.extend(frames);
    calls.push(call(does, &group.at));
    calls
}

#[cfg(test)]
mod tests {
    use super::Groups;
    use crate::stacks::merged_text;
    use manyhands_wire::{Group, GroupFrame};

    fn group(type_name: &str, state: &str, waits_for: Option<&str>, tasks: usize) -> Group {
        Group {
            kind: "future".to_owned(),
            type_name: type_name.to_owned(),
            spawned_at: Some("src/main.rs:7:1".to_owned()),
            state: state.to_owned(),
            waits_for: waits_for.map(str::to_owned),
            name: None,
            at: waits_for.map(|_| "src/clerk.rs:9:3".to_owned()),
            frames: Vec::new(),
            tasks,
            examples: vec!["4".to_owned()],
            longest_us: 5,
        }
    }

    #[test]
    fn groups_of_the_same_type_share_it_and_branch_by_what_they_wait_for() {
        let groups = Groups {
            groups: vec![
                group("office::clerk", "waiting", Some("receive"), 1_000_000),
                group("office::clerk", "waiting", None, 2),
                group("office::boss", "queued", None, 1),
            ],
            groups_left_out: 0,
        };
        let graph = groups.graph();
        let text = merged_text(&graph, "tasks", |member| groups.groups[member].label());
        let expected = "1000003 tasks\n\
                        1000002 × 4, …, 4, …\n  office::clerk  src/main.rs:7:1\n    \
                        1000000 × 4, …\n      waits for receive  src/clerk.rs:9:3\n    \
                        2 × 4, …\n      waits for something that is not recorded\n\
                        1 × 4\n  office::boss  src/main.rs:7:1\n  is queued\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn tasks_that_wait_for_task_groups_of_different_names_are_different_groups() {
        let named = |name: &str| {
            let mut group = group("office::boss", "waiting", Some("group"), 2);
            group.name = Some(name.to_owned());
            group
        };
        let groups = Groups {
            groups: vec![named("requests"), named("backups")],
            groups_left_out: 0,
        };
        let text = merged_text(&groups.graph(), "tasks", |member| {
            groups.groups[member].label()
        });
        for name in ["requests", "backups"] {
            let line = format!("      waits for group '{name}'  src/clerk.rs:9:3\n");
            assert!(text.contains(&line), "{text}");
        }
    }

    #[test]
    fn groups_in_the_same_frame_share_it_and_branch_inside_it() {
        let serve = |kind| {
            let mut group = group("office::clerk", "waiting", Some(kind), 3);
            group.frames = vec![GroupFrame {
                name: "serve".to_owned(),
                at: "src/clerk.rs:4:5".to_owned(),
            }];
            group
        };
        let groups = Groups {
            groups: vec![serve("receive"), serve("timer")],
            groups_left_out: 0,
        };
        let text = merged_text(&groups.graph(), "tasks", |member| {
            groups.groups[member].label()
        });
        let expected = "6 tasks\n\
                        6 × 4, …, 4, …\n  office::clerk  src/main.rs:7:1\n  \
                        serve  src/clerk.rs:4:5\n    \
                        3 × 4, …\n      waits for receive  src/clerk.rs:9:3\n    \
                        3 × 4, …\n      waits for timer  src/clerk.rs:9:3\n";
        assert_eq!(text, expected);
    }
}
