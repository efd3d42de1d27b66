//! Tasks that are in the same place, counted, and as a graph.

use crate::stacks::{Graph, graph};
use crate::words::kind_words;
use serde::{Deserialize, Serialize};

/// All tasks of a program, by where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// The groups, that with the most tasks first.
    pub groups: Vec<Group>,
    /// Groups that are not listed because there are too many.
    pub groups_left_out: usize,
}

/// Tasks of the same type, spawned on the same line, in the same state, that wait for something of the same kind on the
/// same line, in the same frames; if that is a group of tasks, for one of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// `future`, `closure`, or `thread` for threads that wait outside of any task.
    pub kind: String,
    /// The type of their closure or future, as in [`Task`](crate::Task).
    #[serde(rename = "type", deserialize_with = "crate::wire::without_closure")]
    pub type_name: String,
    /// File, line and column of their spawning.
    pub spawned_at: Option<String>,
    /// `queued`, `running`, `waiting` or `blocked`.
    pub state: String,
    /// The kind of the first thing that they wait for; `outside` if nothing is recorded but they have wakers.
    pub waits_for: Option<String>,
    /// The name of the group of tasks that they wait for.
    #[serde(default)]
    pub name: Option<String>,
    /// File, line and column of this wait.
    pub at: Option<String>,
    /// The annotated frames around this wait, the outermost first.
    #[serde(default)]
    pub frames: Vec<GroupFrame>,
    /// How many there are.
    pub tasks: usize,
    /// The numbers of some of them.
    pub examples: Vec<String>,
    /// Microseconds that one of them has been in this state, the longest.
    pub longest_us: u64,
}

/// A part of the tasks of a group that the program has annotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFrame {
    /// Its name.
    pub name: String,
    /// File, line and column.
    pub at: String,
}

impl Groups {
    /// Merges the groups as stacks are merged: by type, frames, and then by what they wait for. A member of a segment is the number
    /// of a group in `groups`; `stacks` counts tasks.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let calls: Vec<_> = self.groups.iter().map(Group::calls).collect();
        let weighted = self.groups.iter().zip(&calls);
        graph::merge_weighted(weighted.map(|(group, calls)| (group.tasks, calls.as_slice())))
    }
}

impl Group {
    /// Names some of its tasks, such as `3, 9, …`.
    #[must_use]
    pub fn label(&self) -> String {
        let more = if self.tasks > self.examples.len() {
            ", …"
        } else {
            ""
        };
        format!("{}{more}", self.examples.join(", "))
    }

    fn calls(&self) -> Vec<graph::Call> {
        let what = match self.kind.as_str() {
            "thread" => "a thread outside of any task",
            _ => &self.type_name,
        };
        let does = match (self.state.as_str(), &self.waits_for, &self.name) {
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
        let frames = self.frames.iter().map(|frame| graph::Call {
            function: frame.name.clone(),
            at: Some(frame.at.clone()),
        });
        let mut calls = vec![call(what.to_owned(), &self.spawned_at)];
        calls.extend(frames);
        calls.push(call(does, &self.at));
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, GroupFrame, Groups};
    use crate::stacks::merged_text;

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
