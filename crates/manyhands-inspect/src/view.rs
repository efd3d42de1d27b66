//! What a program does at one moment, put together from the lines of its answers.
//!
//! Not here: the lines (`manyhands-wire`).

use manyhands_wire::{Channel, Deadlock, Group, Loop, LoopReport, Runtime, Starvation, Task};
use serde::Serialize;

/// What the program does at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct View {
    /// Its runtimes.
    pub runtimes: Vec<Runtime>,
    /// Its tasks, in the order of their numbers.
    pub tasks: Vec<Task>,
    /// Tasks beyond the number asked for.
    pub tasks_left_out: usize,
    /// If there are such tasks: all tasks, equal ones as one group, the largest first.
    pub groups: Vec<Group>,
    /// Groups beyond the most that are sent.
    pub groups_left_out: usize,
    /// The parallel loops that run, the oldest first.
    pub loops: Vec<Loop>,
    /// Its channels, the oldest first.
    pub channels: Vec<Channel>,
    /// Channels beyond the number asked for.
    pub channels_left_out: usize,
    /// Its deadlocks.
    pub deadlocks: Vec<Deadlock>,
    /// Its runtimes whose tasks no thread takes.
    pub starvations: Vec<Starvation>,
    /// The last report of each place that calls loops, that of the loop that ended last first.
    pub reports: Vec<LoopReport>,
}

/// What is wrong with a program: what cannot go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Troubles {
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) starvations: Vec<Starvation>,
}

impl View {
    /// What cannot go on, in sentences.
    pub fn alarms(&self) -> impl Iterator<Item = &str> {
        let rings = self.deadlocks.iter().map(|ring| ring.text.as_str());
        rings.chain(self.starvations.iter().map(|starved| starved.text.as_str()))
    }
}

/// Counts are what a program says, so they may be any.
pub(crate) fn add(count: &mut usize, more: usize) {
    *count = count.saturating_add(more);
}

#[cfg(test)]
pub(crate) mod tests {
    use manyhands_wire::Task;

    /// A task that runs.
    pub(crate) fn clerk() -> Task {
        Task {
            number: "1".to_owned(),
            kind: "future".to_owned(),
            id: "7f00".to_owned(),
            type_name: "office::clerk".to_owned(),
            spawned_at: Some("src/main.rs:7:1".to_owned()),
            state: "running".to_owned(),
            in_state_us: 1,
            age_us: 1,
            busy_us: 1,
            polls: 1,
            changes: 1,
            ..Task::default()
        }
    }
}
