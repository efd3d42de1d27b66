//! How the values of a view are written, in tables and on screens.

use crate::view::View;
use comfy_table::{LineStyle, Table, TableStyle};
use manyhands_wire::{Channel, Load, Loop, Task, Wait};
use std::collections::{HashMap, HashSet};

/// Its name, or the end of its type's.
pub(crate) fn label(task: &Task) -> &str {
    task.name
        .as_deref()
        .unwrap_or_else(|| match task.kind.as_str() {
            "thread" => "(a thread)",
            _ => tail(&task.type_name, TYPE_CHARS_MAX),
        })
}

/// What the task waits for, wait by wait. Of what is outside it says who has woken the task last, if that is known.
fn waits_of(task: &Task, resources: &Resources<'_>) -> Vec<String> {
    let waits = task.waits.iter();
    waits
        .map(
            |wait| match (wait.kind.as_str(), task.last_waker.as_deref()) {
                (OUTSIDE, Some("tokio")) => {
                    format!("{OUTSIDE_WORDS}, last woken by tokio's driver")
                }
                _ => waits_for(task, wait, resources),
            },
        )
        .collect()
}

/// What one of the task's waits is for. The address of an unnamed channel is shown because the table of channels shows it,
/// too. Of other things without a name it says which other task waits for the same one.
pub(crate) fn waits_for(task: &Task, wait: &Wait, resources: &Resources<'_>) -> String {
    let kind = kind_words(&wait.kind);
    let resource = wait.resource.as_str();
    let known = || resources.channels.get(resource).copied();
    match (&wait.owner, wait.name.as_deref().or_else(known)) {
        (Some(owner), _) => format!("{kind} {owner}"),
        (None, Some(name)) => format!("{kind} '{name}'"),
        (None, None) if resource == "0" => kind.to_owned(),
        (None, None) if OF_CHANNELS.contains(&wait.kind.as_str()) => format!("{kind} {resource}"),
        (None, None) => match resources.other(resource, &task.number) {
            Some(other) => format!("{kind}, as does task {other}"),
            None => kind.to_owned(),
        },
    }
}

/// What a view says about the things that its tasks wait for, by resource; and which tasks wait for each other.
#[derive(Debug, Default)]
pub(crate) struct Resources<'view> {
    /// The names of the channels that have one.
    channels: HashMap<&'view str, &'view str>,
    /// The first task that waits for it, and the next one.
    waiting: HashMap<&'view str, (&'view str, Option<&'view str>)>,
    /// The numbers of the tasks that wait for each other in a ring.
    pub(crate) deadlocked: HashSet<&'view str>,
}

impl<'view> Resources<'view> {
    pub(crate) fn of(view: &'view View) -> Self {
        let channels = view.channels.iter();
        let named = channels
            .filter_map(|channel| Some((channel.resource.as_str(), channel.name.as_deref()?)));
        let mut waiting: HashMap<&str, (&str, Option<&str>)> = HashMap::new();
        for task in &view.tasks {
            let number = task.number.as_str();
            for wait in &task.waits {
                let entry = waiting.entry(wait.resource.as_str());
                let (first, next) = entry.or_insert((number, None));
                if *first != number {
                    *next = next.or(Some(number));
                }
            }
        }
        let rings = view.deadlocks.iter().flat_map(|ring| &ring.tasks);
        Self {
            channels: named.collect(),
            waiting,
            deadlocked: rings.map(|task| task.number.as_str()).collect(),
        }
    }

    /// A task that waits for it beside this one.
    fn other(&self, resource: &str, task: &str) -> Option<&'view str> {
        let (first, next) = self.waiting.get(resource).copied()?;
        if first == task { next } else { Some(first) }
    }
}

/// What is waited for, in a word or some.
pub(crate) fn kind_words(kind: &str) -> &str {
    match kind {
        OUTSIDE => OUTSIDE_WORDS,
        other => other,
    }
}

/// The names of the frames in which a task is, from the outermost inwards: for each of its waits, or if none is recorded
/// for each frame with no other inside it.
fn frames_of(task: &Task) -> Vec<String> {
    if task.frames.is_empty() {
        return Vec::new();
    }
    let places: Vec<Option<usize>> = if task.waits.is_empty() {
        innermost_frames(task).map(Some).collect()
    } else {
        task.waits.iter().map(|wait| wait.frame).collect()
    };
    let places = places.into_iter();
    places
        .map(|at| frames_around(task, at).join(" › "))
        .collect()
}

/// The places of the task's frames with no other inside.
pub(crate) fn innermost_frames(task: &Task) -> impl Iterator<Item = usize> {
    let is_innermost = |place: &usize| task.frames.iter().all(|f| f.outer != Some(*place));
    (0..task.frames.len()).filter(is_innermost)
}

/// The names of this frame and of those around it, the outermost first.
pub(crate) fn frames_around(task: &Task, innermost: Option<usize>) -> Vec<&str> {
    let frame = |place: usize| task.frames.get(place);
    // Each stands behind the one around it, so this ends whatever the program sends.
    let outer = |place: &usize| frame(*place)?.outer.filter(|outer| outer < place);
    let chain = std::iter::successors(innermost, outer);
    let names = chain.filter_map(frame).map(|frame| frame.name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.reverse();
    names
}

/// Its priority, if that is not the usual one.
fn priority_of(task: &Task) -> &str {
    let priority = task.priority.as_deref();
    priority
        .filter(|priority| *priority != "normal")
        .unwrap_or_default()
}

/// The runtime and the worker that run it, or nothing.
fn worker_of(task: &Task) -> String {
    match (task.runtime, task.worker) {
        (Some(runtime), Some(worker)) => format!("{runtime}:{worker}"),
        _ => String::new(),
    }
}

/// Its name, or where it is in memory.
pub(crate) fn name_of_channel(channel: &Channel) -> &str {
    channel.name.as_deref().unwrap_or(&channel.resource)
}

/// Whether it takes more items, with its `load`.
pub(crate) fn state_of_channel(channel: &Channel, load: &Load) -> &'static str {
    match (load.closed, channel.capacity) {
        (true, _) => "closed",
        (false, Some(capacity)) if capacity > 0 && load.len >= capacity => "full",
        (false, _) => "open",
    }
}

/// How much of a loop has been done, in per cent; `None` if it is not known how many items it has.
pub(crate) fn percent_done(running: &Loop) -> Option<u64> {
    let items = running.items?;
    Some(running.done.saturating_mul(100) / items.max(1))
}

/// How many threads have run a loop, of how many could at once. If one of them blocked, another was added, and more have run it.
pub(crate) fn runners_of(runners: usize, at_once: usize) -> String {
    match runners <= at_once {
        true => format!("{runners} of {at_once}"),
        false => format!("{runners}, {at_once} at once"),
    }
}

/// A path with its line, but not its column, and of a long path the last folders.
pub(crate) fn short(at: &str) -> &str {
    let at = at.rsplit_once(':').map_or(at, |(line, _)| line);
    let end = tail(at, PATH_CHARS_MAX);
    match end.split_once('/') {
        Some((_, folders)) if end.len() < at.len() => folders,
        _ => end,
    }
}

/// At most the last `max` characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    let skipped = text.chars().count().saturating_sub(max);
    text.char_indices()
        .nth(skipped)
        .map_or(text, |(at, _)| &text[at..])
}

pub(crate) fn time(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", to_float(micros) / 1e3),
        1_000_000..600_000_000 => format!("{:.1} s", to_float(micros) / 1e6),
        _ => format!("{:.0} min", to_float(micros) / 60e6),
    }
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
fn to_float(micros: u64) -> f64 {
    micros as f64
}

/// A table of text, with these titles of its columns.
pub(crate) fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.iter().copied());
    table
}

/// What stands in a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Count(u64),
    Micros(u64),
    /// The number of a task; empty: none.
    Number(String),
    Text(String),
    Texts(Vec<String>),
    /// Places in the source.
    Places(Vec<String>),
}

/// A column of a table of tasks: its title, and what stands there of a task.
type TaskColumn = (&'static str, fn(&Task, &Resources<'_>) -> Value);

/// The columns of a table of tasks.
pub(crate) const TASK_COLUMNS: [TaskColumn; 13] = [
    ("task", |task, _| Value::Number(task.number.clone())),
    ("name", |task, _| Value::Text(label(task).to_owned())),
    ("state", |task, resources| {
        let is_deadlocked = resources.deadlocked.contains(task.number.as_str());
        let more = if is_deadlocked { ", deadlocked" } else { "" };
        Value::Text(format!("{}{more}", task.state))
    }),
    ("for", |task, _| Value::Micros(task.in_state_us)),
    ("waits for", |task, resources| {
        Value::Texts(waits_of(task, resources))
    }),
    ("in", |task, _| Value::Texts(frames_of(task))),
    ("at", |task, _| {
        let lines = task.waits.iter().map(|wait| short(&wait.at).to_owned());
        Value::Places(lines.collect())
    }),
    ("spawned at", |task, _| {
        let line = task.spawned_at.as_deref().map(short);
        Value::Places(line.map(str::to_owned).into_iter().collect())
    }),
    ("parent", |task, _| {
        Value::Number(task.parent.clone().unwrap_or_default())
    }),
    ("worker", |task, _| Value::Text(worker_of(task))),
    ("polls", |task, _| Value::Count(task.polls)),
    ("busy", |task, _| Value::Micros(task.busy_us)),
    ("priority", |task, _| {
        Value::Text(priority_of(task).to_owned())
    }),
];

/// The places of these columns, by importance.
#[cfg(all(feature = "top", unix))]
pub(crate) const TASK_COLUMNS_BY_IMPORTANCE: [usize; 13] =
    [0, 2, 6, 3, 1, 4, 10, 11, 7, 9, 5, 8, 12];

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
/// The kind of a wait for what is not this library's.
pub(crate) const OUTSIDE: &str = "outside";
/// The kinds of waits for channels.
const OF_CHANNELS: [&str; 3] = ["receive", "send", "channel_end"];
const OUTSIDE_WORDS: &str = "something outside this library";
/// Of a path, what is shown in a table.
pub(crate) const PATH_CHARS_MAX: usize = 48;
/// Of the name of a type.
pub(crate) const TYPE_CHARS_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::{Resources, frames_of, runners_of, short, tail, time, waits_of};
    use crate::view::View;
    use crate::view::tests::clerk;
    use manyhands_wire::{Task, Wait};

    #[test]
    fn tasks_that_wait_for_the_same_completion_name_each_other() {
        let waiting = |(number, kind, resource): (&str, &str, &str)| Task {
            number: number.to_owned(),
            waits: vec![Wait {
                kind: kind.to_owned(),
                name: None,
                resource: resource.to_owned(),
                owner: None,
                at: "a.rs:1:1".to_owned(),
                waiting_us: 1,
                direct: true,
                frame: None,
            }],
            ..clerk()
        };
        let waits = [
            ("4", "completion", "7f01"),
            ("5", "completion", "7f01"),
            ("6", "completion", "7f01"),
            ("7", "completion", "7f02"),
            ("8", "receive", "7f03"),
        ];
        let view = View {
            tasks: waits.map(waiting).to_vec(),
            ..View::default()
        };
        let resources = Resources::of(&view);
        let tasks = view.tasks.iter();
        let shown: Vec<String> = tasks.flat_map(|task| waits_of(task, &resources)).collect();
        let completions = ["as does task 5", "as does task 4", "as does task 4"]
            .map(|who| format!("completion, {who}"));
        assert_eq!(shown[..3], completions);
        assert_eq!(shown[3..], ["completion", "receive 7f03"]);
    }

    #[test]
    fn the_frames_of_a_task_are_those_of_its_waits_or_else_its_innermost_ones() {
        let wait = |frame: &str| {
            format!(
                r#"{{"kind":"timer","name":null,"resource":"0","owner":null,"at":"a.rs:1:1","waiting_us":1,"direct":true,"frame":{frame}}}"#
            )
        };
        let task = |waits: &[String]| -> Task {
            let waits = waits.join(",");
            let line = format!(
                r#"{{"number":"1","kind":"future","id":"1","name":null,"type":"t","spawned_at":null,"parent":null,"runtime":null,"worker":null,"state":"waiting","in_state_us":1,"age_us":1,"busy_us":1,"polls":1,"wakes":1,"waits":[{waits}],"waits_left_out":0,"may_wait_for_more":false,"changes":1,"frames":[{{"name":"serve","at":"a.rs:1:1","outer":null}},{{"name":"fetch","at":"a.rs:2:1","outer":0}},{{"name":"log","at":"a.rs:3:1","outer":0}},{{"name":"odd","at":"a.rs:4:1","outer":3}}]}}"#
            );
            serde_json::from_str(&line).expect("a task")
        };
        assert_eq!(frames_of(&task(&[])), ["serve › fetch", "serve › log"]);
        let waits = [wait("1"), wait("0"), wait("null"), wait("3"), wait("9")];
        assert_eq!(
            frames_of(&task(&waits)),
            ["serve › fetch", "serve", "", "odd", ""]
        );
    }

    #[test]
    fn no_more_runners_are_said_to_be_of_fewer() {
        assert_eq!(runners_of(2, 4), "2 of 4");
        assert_eq!(runners_of(2, 2), "2 of 2");
        assert_eq!(runners_of(3, 2), "3, 2 at once");
    }

    #[test]
    fn times_and_places_are_short() {
        for (micros, shown) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_500, "1.5 ms"),
            (2_500_000, "2.5 s"),
            (3_600_000_000, "60 min"),
        ] {
            assert_eq!(time(micros), shown);
        }
        assert_eq!(short("src/a.rs:12:5"), "src/a.rs:12");
        let long = format!("{}/office/src/a.rs:12:5", "crates".repeat(9));
        assert_eq!(short(&long), "office/src/a.rs:12");
        assert_eq!(tail("äöü", 2), "öü");
        assert_eq!(tail("a", 2), "a");
    }
}
