//! What a program did over a while, as a trace that Perfetto and Chrome's tracing page open: made of looks at it, so
//! nothing shorter than the time between two looks is in it.
//!
//! Not here: when to look (`record.rs`).

use crate::view::View;
use manyhands_wire::Task;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A timeline that is being made of one view after the other.
///
/// A row for each worker shows what it ran, one for each task its states and the lines on which it waited; counters
/// show the tasks in each state, the items in channels and how much of each loop was done.
///
/// # Examples
/// ```
/// use manyhands_inspect::{Timeline, View};
/// use std::time::Duration;
/// let mut timeline = Timeline::new(1234);
/// timeline.add(Duration::ZERO, &View::default());
/// timeline.add(Duration::from_millis(50), &View::default());
/// assert!(timeline.finish().starts_with("{\"displayTimeUnit\""));
/// ```
#[derive(Debug)]
pub struct Timeline {
    process: u32,
    /// Rows in the order in which they were first seen.
    rows: BTreeMap<Row, usize>,
    open: BTreeMap<Row, Slice>,
    events: Vec<Event>,
    last_us: u64,
}

/// What a row of the picture is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Worker(u32, Option<usize>, usize),
    Task(String),
}

/// What is the case in a row since a look.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slice {
    name: String,
    since_us: u64,
}

/// An event of the trace format.
#[derive(Debug, Serialize)]
struct Event {
    name: String,
    ph: &'static str,
    ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    args: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize)]
struct Trace {
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
}

impl Timeline {
    /// Of the process with this number.
    #[must_use]
    pub fn new(process: u32) -> Self {
        Self {
            process,
            rows: BTreeMap::new(),
            open: BTreeMap::new(),
            events: Vec::new(),
            last_us: 0,
        }
    }

    /// Adds what the program did at a moment, later than those before.
    pub fn add(&mut self, at: Duration, view: &View) {
        let now_us = u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
        self.last_us = now_us;
        let mut seen = BTreeSet::new();
        for runtime in &view.runtimes {
            for (at, worker) in runtime.workers.iter().enumerate() {
                // External threads have no number of their own.
                let place = if worker.index.is_some() { 0 } else { at };
                let row = Row::Worker(runtime.number, worker.index, place);
                let name = match &worker.task_spawned_at {
                    Some(place) => format!("{}: {place}", worker.state),
                    None => worker.state.clone(),
                };
                seen.insert(row.clone());
                self.set(row, name, now_us, || match worker.index {
                    Some(index) => format!(
                        "runtime {} '{}', worker {index}",
                        runtime.number, runtime.name
                    ),
                    None => format!(
                        "runtime {} '{}', external thread",
                        runtime.number, runtime.name
                    ),
                });
            }
        }
        for task in &view.tasks {
            let row = Row::Task(task.number.clone());
            seen.insert(row.clone());
            self.set(row, state_of(task), now_us, || match &task.name {
                Some(name) => format!("task {} '{name}'", task.number),
                None => format!("task {} {}", task.number, task.type_name),
            });
        }
        let ended: Vec<Row> = self
            .open
            .keys()
            .filter(|row| !seen.contains(row))
            .cloned()
            .collect();
        for row in ended {
            self.close(&row, now_us);
        }
        self.count(view, now_us);
    }

    /// The trace, as JSON.
    #[must_use]
    pub fn finish(mut self) -> String {
        let open: Vec<Row> = self.open.keys().cloned().collect();
        for row in open {
            self.close(&row, self.last_us);
        }
        let trace = Trace {
            unit: "ms",
            events: self.events,
        };
        // Texts and numbers can always be written.
        serde_json::to_string(&trace).unwrap_or_default()
    }

    /// Says what is the case in a row now; `label` names the row when it is new.
    fn set(&mut self, row: Row, name: String, now_us: u64, label: impl FnOnce() -> String) {
        if self.open.get(&row).is_some_and(|slice| slice.name == name) {
            return;
        }
        self.close(&row, now_us);
        let next = self.rows.len() + 1;
        if !self.rows.contains_key(&row) {
            self.rows.insert(row.clone(), next);
            let args = BTreeMap::from([("name".to_owned(), label().into())]);
            self.events.push(Event {
                name: "thread_name".to_owned(),
                ph: "M",
                ts: 0,
                dur: None,
                pid: self.process,
                tid: next,
                args,
            });
        }
        let since_us = now_us;
        self.open.insert(row, Slice { name, since_us });
    }

    fn close(&mut self, row: &Row, now_us: u64) {
        if let Some(slice) = self.open.remove(row) {
            self.events.push(Event {
                name: slice.name,
                ph: "X",
                ts: slice.since_us,
                dur: Some(now_us.saturating_sub(slice.since_us)),
                pid: self.process,
                tid: self.rows.get(row).copied().unwrap_or(0),
                args: BTreeMap::new(),
            });
        }
    }

    fn count(&mut self, view: &View, now_us: u64) {
        let mut states = BTreeMap::from(
            ["queued", "running", "waiting", "blocked"].map(|state| (state, 0_usize)),
        );
        for task in &view.tasks {
            if let Some(count) = states.get_mut(task.state.as_str()) {
                *count += 1;
            }
        }
        let states = states
            .into_iter()
            .map(|(state, count)| (state.to_owned(), count.into()));
        self.counter("tasks".to_owned(), now_us, states.collect());
        for channel in &view.channels {
            if let Some(load) = channel.load {
                let name = channel.name.as_ref().unwrap_or(&channel.made_at);
                let items = BTreeMap::from([("items".to_owned(), load.len.into())]);
                self.counter(format!("channel {name}"), now_us, items);
            }
        }
        for running in &view.loops {
            let done = BTreeMap::from([("done".to_owned(), running.done.into())]);
            self.counter(format!("loop {}", running.body), now_us, done);
        }
    }

    fn counter(&mut self, name: String, now_us: u64, args: BTreeMap<String, serde_json::Value>) {
        self.events.push(Event {
            name,
            ph: "C",
            ts: now_us,
            dur: None,
            pid: self.process,
            tid: 0,
            args,
        });
    }
}

/// Its state, and the line on which it waits.
fn state_of(task: &Task) -> String {
    match task.waits.first() {
        Some(wait) => format!("{}: {} at {}", task.state, wait.kind, wait.at),
        None => task.state.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::Timeline;
    use crate::view::View;
    use manyhands_wire::{Runtime, Worker};
    use serde_json::Value;
    use std::time::Duration;

    fn view(spawned_at: Option<&str>) -> View {
        let worker = Worker {
            index: Some(3),
            state: if spawned_at.is_some() {
                "running"
            } else {
                "idle"
            }
            .to_owned(),
            task_spawned_at: spawned_at.map(str::to_owned),
            ..Worker::default()
        };
        View {
            runtimes: vec![Runtime {
                number: 1,
                name: "office".to_owned(),
                limit: 1,
                workers: vec![worker],
                ..Runtime::default()
            }],
            ..View::default()
        }
    }

    /// Name, beginning and length of each slice.
    fn slices(views: &[View]) -> Vec<(String, u64, u64)> {
        let mut timeline = Timeline::new(7);
        for (at, view) in (0..).zip(views) {
            timeline.add(Duration::from_millis(10 * at), view);
        }
        let trace: Value = serde_json::from_str(&timeline.finish()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter();
        let number = |value: &Value| value.as_u64().unwrap();
        events
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                (
                    event["name"].as_str().unwrap().to_owned(),
                    number(&event["ts"]),
                    number(&event["dur"]),
                )
            })
            .collect()
    }

    #[test]
    fn what_does_not_change_is_one_slice() {
        let views = [
            view(Some("a.rs:1:1")),
            view(Some("a.rs:1:1")),
            view(None),
            view(Some("b.rs:1:1")),
            view(None),
        ];
        let expected = [
            ("running: a.rs:1:1", 0, 20_000),
            ("idle", 20_000, 10_000),
            ("running: b.rs:1:1", 30_000, 10_000),
            ("idle", 40_000, 0),
        ];
        let expected = expected.map(|(name, since, length)| (name.to_owned(), since, length));
        assert_eq!(slices(&views), expected);
    }

    #[test]
    fn a_row_that_is_gone_ends_and_has_its_number_again_when_it_is_back() {
        let views = [view(None), View::default(), view(None), view(None)];
        let expected = [("idle", 0, 10_000), ("idle", 20_000, 10_000)];
        let expected = expected.map(|(name, since, length)| (name.to_owned(), since, length));
        assert_eq!(slices(&views), expected);
        let mut timeline = Timeline::new(7);
        for view in &views {
            timeline.add(Duration::ZERO, view);
        }
        let trace = timeline.finish();
        assert_eq!(trace.matches("thread_name").count(), 1, "{trace}");
        assert!(trace.contains("runtime 1 'office', worker 3"), "{trace}");
    }
}
