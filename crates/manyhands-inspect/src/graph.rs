//! Who waits for whom, with equal tasks merged: nodes are groups of tasks and channels, edges are waits.
//!
//! Tasks are equal if they were spawned at the same place, are in the same state and wait on the same lines, in the same
//! frames. So a
//! thousand requests that wait for one channel are one node, as in a debugger's window of merged stacks.
//!
//! Not here: where the nodes are drawn (`svg.rs`).

use crate::view::{View, add};
use manyhands_wire::{Channel, Frame, Group, Task};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The merged graph of a view.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) subject: Subject,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// Nodes beyond the most that are shown.
    pub(crate) left_out: usize,
}

/// What a graph is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Who waits for whom.
    #[default]
    Waits,
    /// Which functions threads run. An edge leads from a function to its caller.
    #[cfg(feature = "page")]
    Calls,
    /// Who calls a function, and what it calls. An edge leads from the caller.
    #[cfg(feature = "page")]
    Method(Members),
}

/// Who goes through functions.
#[cfg(feature = "page")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    Threads,
    Tasks,
}

/// A group of equal tasks, a channel, or what threads run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// How many tasks or threads it stands for; 0 for a channel.
    pub(crate) count: usize,
    /// What is written in it, the header first.
    pub(crate) lines: Vec<String>,
    pub(crate) is_deadlocked: bool,
    /// Of a group of equal tasks: what the page chooses by.
    pub(crate) tasks: Option<TasksOfNode>,
}

/// By what nodes of tasks are chosen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TasksOfNode {
    pub(crate) state: String,
    /// The numbers of those that are known one by one.
    pub(crate) numbers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Tasks,
    Channel,
    #[cfg(feature = "page")]
    Threads,
    /// The function in the middle.
    #[cfg(feature = "page")]
    Method,
}

/// Tasks of the node `from` wait for what `to` stands for, or its functions are called by those of `to`; both are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// How many tasks or threads.
    pub(crate) count: usize,
    /// They cannot go on.
    pub(crate) is_deadlocked: bool,
}

/// What equal tasks have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key<'a> {
    /// Its place among those that are deadlocked. No two of them are merged: a ring is to be seen.
    deadlocked: Option<usize>,
    work: &'a str,
    spawned_at: Option<&'a str>,
    state: &'a str,
    frames: Vec<FrameKey<'a>>,
    waits: Vec<KeyWait<'a>>,
}

/// What equal waits have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct KeyWait<'a> {
    kind: &'a str,
    at: &'a str,
    /// The place of the frame that it is in.
    frame: Option<usize>,
    /// Of the group of tasks that is waited for.
    name: Option<&'a str>,
}

/// The name of a frame, its line, and the place of the frame around it.
type FrameKey<'a> = (&'a str, &'a str, Option<usize>);

/// Equal tasks.
#[derive(Debug, Default)]
struct Equals<'a> {
    count: usize,
    /// Of one of them.
    name: Option<&'a str>,
    /// The numbers of those that are known one by one.
    numbers: Vec<&'a str>,
    /// The numbers of those that are listed, of groups that the program has counted.
    listed: Vec<&'a str>,
    waits_for: Vec<(Target<'a>, usize)>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy)]
enum Target<'a> {
    /// The task with this number.
    Task(&'a str),
    /// The channel, if it is one, with this resource.
    Resource(&'a str),
}

impl Graph {
    /// The graph of all tasks: from the tasks themselves, or from groups if the program has sent these because it
    /// has more tasks than were asked for.
    pub(crate) fn of(view: &View) -> Self {
        let rings = || view.deadlocks.iter().flat_map(|ring| &ring.tasks);
        let mut groups: BTreeMap<Key<'_>, Equals<'_>> = BTreeMap::new();
        if view.groups.is_empty() {
            let places = rings().enumerate();
            let place_of: HashMap<&str, usize> = places
                .map(|(place, task)| (task.number.as_str(), place))
                .collect();
            for task in &view.tasks {
                let key = Key::of(task, place_of.get(task.number.as_str()).copied());
                groups.entry(key).or_default().add(task);
            }
        } else {
            for group in &view.groups {
                let equals = groups.entry(Key::of_group(group)).or_default();
                add(&mut equals.count, group.tasks);
            }
            let in_ring: HashSet<&str> = rings().map(|task| task.number.as_str()).collect();
            for task in &view.tasks {
                if let Some(equals) = groups.get_mut(&Key::of(task, None))
                    && !in_ring.contains(task.number.as_str())
                {
                    equals.listed.push(&task.number);
                }
            }
            for (place, task) in rings().enumerate() {
                if let Some(equals) = groups.get_mut(&Key::of(task, None)) {
                    equals.count = equals.count.saturating_sub(1);
                }
                groups
                    .entry(Key::of(task, Some(place)))
                    .or_default()
                    .add(task);
            }
            groups.retain(|_, equals| equals.count > 0);
        }
        let mut groups: Vec<(Key<'_>, Equals<'_>)> = groups.into_iter().collect();
        groups.sort_by_key(|(key, equals)| {
            (key.deadlocked.is_none(), std::cmp::Reverse(equals.count))
        });
        let left_out = view
            .groups_left_out
            .saturating_add(groups.len().saturating_sub(NODES_MAX));
        groups.truncate(NODES_MAX);
        let mut graph = Self {
            subject: Subject::Waits,
            nodes: groups
                .iter()
                .map(|(key, equals)| key.node(equals))
                .collect(),
            edges: Vec::new(),
            left_out,
        };
        graph.connect(&groups, view);
        graph
    }

    fn connect<'a>(&mut self, groups: &[(Key<'a>, Equals<'a>)], view: &'a View) {
        let mut by_number: HashMap<&str, usize> = HashMap::new();
        for (at, (_, equals)) in groups.iter().enumerate() {
            by_number.extend(equals.numbers.iter().map(|number| (*number, at)));
        }
        let channels: HashMap<&str, &Channel> = view
            .channels
            .iter()
            .map(|channel| (channel.resource.as_str(), channel))
            .collect();
        let mut channel_nodes: HashMap<&str, usize> = HashMap::new();
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (from, (_, equals)) in groups.iter().enumerate() {
            for (target, count) in &equals.waits_for {
                let to = match target {
                    Target::Task(number) => by_number.get(number).copied(),
                    Target::Resource(resource) => channels.get(resource).map(|channel| {
                        *channel_nodes.entry(resource).or_insert_with(|| {
                            self.nodes.push(channel_node(channel));
                            self.nodes.len() - 1
                        })
                    }),
                };
                if let Some(to) = to {
                    add(counts.entry((from, to)).or_default(), *count);
                }
            }
        }
        let edges = counts.into_iter().map(|((from, to), count)| Edge {
            from,
            to,
            count,
            is_deadlocked: self.nodes[from].is_deadlocked && self.nodes[to].is_deadlocked,
        });
        self.edges = edges.collect();
    }
}

impl<'a> Equals<'a> {
    fn add(&mut self, task: &'a Task) {
        add(&mut self.count, 1);
        self.name = task.name.as_deref();
        self.numbers.push(&task.number);
        let targets = task.waits.iter().map(|wait| match &wait.owner {
            Some(owner) => (Target::Task(owner), 1),
            None => (Target::Resource(&wait.resource), 1),
        });
        self.waits_for.extend(targets);
    }
}

impl<'a> Key<'a> {
    fn of(task: &'a Task, deadlocked: Option<usize>) -> Self {
        let waits = task.waits.iter();
        Self {
            deadlocked,
            work: work(&task.kind, &task.type_name),
            spawned_at: task.spawned_at.as_deref(),
            state: &task.state,
            frames: task.frames.iter().map(frame_key).collect(),
            waits: waits
                .map(|wait| KeyWait {
                    kind: &wait.kind,
                    at: &wait.at,
                    frame: wait.frame,
                    name: wait.name.as_deref(),
                })
                .collect(),
        }
    }

    /// Of a group of the program, which knows only one wait of its tasks.
    fn of_group(group: &'a Group) -> Self {
        let wait = group.waits_for.as_deref().zip(group.at.as_deref());
        let frames = group.frames.iter().enumerate();
        let frames = frames.map(|(place, frame)| {
            let outer = place.checked_sub(1);
            (frame.name.as_str(), frame.at.as_str(), outer)
        });
        let innermost = group.frames.len().checked_sub(1);
        Self {
            deadlocked: None,
            work: work(&group.kind, &group.type_name),
            spawned_at: group.spawned_at.as_deref(),
            state: &group.state,
            frames: frames.collect(),
            waits: wait
                .into_iter()
                .map(|(kind, at)| KeyWait {
                    kind,
                    at,
                    frame: innermost,
                    name: group.name.as_deref(),
                })
                .collect(),
        }
    }

    fn node(&self, equals: &Equals<'_>) -> Node {
        let state = self.state;
        let state = match self.deadlocked {
            Some(_) => format!("{state}, deadlocked"),
            None => state.to_owned(),
        };
        let header = match (equals.count, equals.name) {
            (1, Some(name)) => format!("'{name}' · {state}"),
            (1, None) => format!("1 task · {state}"),
            (many, _) => format!("{many} tasks · {state}"),
        };
        let mut lines = vec![header, self.work.to_owned()];
        lines.extend(self.spawned_at.map(|at| format!("spawned at {at}")));
        lines.extend(self.stack());
        let numbers = equals.numbers.iter().chain(&equals.listed);
        Node {
            kind: NodeKind::Tasks,
            count: equals.count,
            lines,
            is_deadlocked: self.deadlocked.is_some(),
            tasks: Some(TasksOfNode {
                state: self.state.to_owned(),
                numbers: numbers.map(|number| (*number).to_owned()).collect(),
            }),
        }
    }
}

impl KeyWait<'_> {
    fn line(&self) -> String {
        let sentence = sentence(self.kind);
        match self.name {
            Some(name) => format!("{sentence} '{name}' at {}", self.at),
            None => format!("{sentence} at {}", self.at),
        }
    }
}

impl Key<'_> {
    /// A line for each frame, and behind it those for the waits in it; at the end waits that are in none.
    fn stack(&self) -> Vec<String> {
        let waits_in = |place: Option<usize>| {
            let waits = self.waits.iter().filter(move |wait| wait.frame == place);
            waits.map(KeyWait::line)
        };
        let mut lines = Vec::new();
        for (place, (name, at, _)) in self.frames.iter().enumerate() {
            lines.push(format!("in {name} at {at}"));
            lines.extend(waits_in(Some(place)));
        }
        lines.extend(waits_in(None));
        folded(&lines)
    }
}

/// Equal lines that follow each other as one, with their number.
fn folded(lines: &[String]) -> Vec<String> {
    let runs = lines.chunk_by(|one, next| one == next);
    let line = |run: &[String]| match run.len() {
        1 => run[0].clone(),
        count => format!("{count} × {}", run[0]),
    };
    runs.map(line).collect()
}

fn frame_key(frame: &Frame) -> FrameKey<'_> {
    (&frame.name, &frame.at, frame.outer)
}

pub(crate) fn work<'a>(kind: &str, type_name: &'a str) -> &'a str {
    match kind {
        "thread" => "a thread",
        _ => type_name,
    }
}

/// What a wait of this kind waits for.
pub(crate) fn sentence(kind: &str) -> &str {
    match kind {
        "task" => "awaits a task",
        "group" => "awaits one of several",
        "receive" => "receives",
        "send" => "sends",
        "channel_end" => "awaits the end of a channel",
        "completion" => "awaits a completion",
        "scope" => "awaits the end of a scope",
        "timer" => "sleeps",
        "cancellation" => "awaits a cancellation",
        "outside" => "awaits something outside this library",
        other => other,
    }
}

fn channel_node(channel: &Channel) -> Node {
    let name = match &channel.name {
        Some(name) => format!("channel '{name}'"),
        None => format!("channel of {}", channel.item_type),
    };
    let load = channel.load.map(|load| match channel.capacity {
        Some(capacity) => format!("{} of {capacity} items", load.len),
        None => format!("{} items", load.len),
    });
    let mut lines = vec![name];
    lines.extend(load);
    lines.push(format!("made at {}", channel.made_at));
    Node {
        kind: NodeKind::Channel,
        count: 0,
        lines,
        is_deadlocked: false,
        tasks: None,
    }
}

/// More groups than these would not be read; the deadlocked and the largest ones are kept.
const NODES_MAX: usize = 60;

#[cfg(test)]
pub(crate) mod tests;
