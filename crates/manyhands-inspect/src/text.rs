//! A view as text: tables of workers, tasks, loops, their reports, and channels, chains of waits, deadlocks, starved runtimes.
//!
//! All text in a view is safe to print already: the program escapes what a terminal would obey.

use crate::reports::reports_text;
use crate::view::View;
use crate::words::{
    PATH_CHARS_MAX, Resources, TASK_COLUMNS, TYPE_CHARS_MAX, Value, name_of_channel, new_table,
    percent_done, runners_of, short, state_of_channel, tail, time,
};
use crate::workers::{TasksOfWorkers, threads_added};
use manyhands_wire::{Channel, Runtime, Task};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// The tables, for a terminal or a file. Ends with a line feed.
#[must_use]
pub fn text(view: &View) -> String {
    let mut text = String::new();
    let numbers = TasksOfWorkers::of(view);
    for runtime in &view.runtimes {
        add(&mut text, &workers(runtime, &numbers));
    }
    add(&mut text, &tasks(view));
    add(&mut text, &loops(view));
    add(&mut text, &reports_text(&view.reports));
    add(&mut text, &channels(view));
    add(&mut text, &chains(view));
    for alarm in view.alarms() {
        add(&mut text, alarm);
    }
    text
}

/// Adds a part, if it is not empty, with an empty line before it.
fn add(text: &mut String, part: &str) {
    if !part.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part);
        text.push('\n');
    }
}

fn workers(runtime: &Runtime, numbers: &TasksOfWorkers<'_>) -> String {
    let mut table = new_table(&[
        "worker",
        "state",
        "task",
        "spawned at",
        "queued",
        "forks",
        "completed",
        "steals",
        "parks",
    ]);
    for worker in &runtime.workers {
        let index = worker
            .index
            .map_or("external".to_owned(), |index| index.to_string());
        let spawned_at = worker.task_spawned_at.as_deref().map_or("", short);
        table.add_row([
            index,
            worker.state.clone(),
            numbers.number(runtime, worker).to_owned(),
            spawned_at.to_owned(),
            worker.queued.to_string(),
            worker.forks.to_string(),
            worker.completed.to_string(),
            worker.steals.to_string(),
            worker.parks.to_string(),
        ]);
    }
    let mut text = format!(
        "runtime {} '{}': {} may run at once",
        runtime.number, runtime.name, runtime.limit
    );
    let added = threads_added(runtime);
    if !added.is_empty() {
        let _ = write!(text, "; threads added: {}", added.join(", "));
    }
    if runtime.queued_outside > 0 {
        let _ = write!(
            text,
            "; {} tasks from outside are queued",
            runtime.queued_outside
        );
    }
    if !runtime.workers.is_empty() {
        let _ = write!(text, "\n{}", table.trim_fmt());
    }
    text
}

fn tasks(view: &View) -> String {
    if view.tasks.is_empty() {
        return "no tasks are recorded".to_owned();
    }
    let mut table = new_table(&TASK_COLUMNS.map(|(title, _)| title));
    let resources = Resources::of(view);
    for task in &view.tasks {
        table.add_row(TASK_COLUMNS.map(|(_, value)| in_lines(value(task, &resources))));
    }
    let mut text = table.trim_fmt();
    if view.tasks_left_out > 0 {
        let _ = write!(text, "\nand {} more tasks", view.tasks_left_out);
    }
    text
}

/// The values of one cell below each other.
fn in_lines(value: Value) -> String {
    match value {
        Value::Count(count) => count.to_string(),
        Value::Micros(micros) => time(micros),
        Value::Number(text) | Value::Text(text) => text,
        Value::Texts(texts) | Value::Places(texts) => texts.join("\n"),
    }
}

fn loops(view: &View) -> String {
    if view.loops.is_empty() {
        return String::new();
    }
    let mut table = new_table(&[
        "loop",
        "called at",
        "done",
        "of",
        "share",
        "runners",
        "task",
        "for",
    ]);
    for running in &view.loops {
        table.add_row([
            tail(&running.body, PATH_CHARS_MAX).to_owned(),
            running.called_at.as_deref().map_or("", short).to_owned(),
            running.done.to_string(),
            running
                .items
                .map_or_else(String::new, |items| items.to_string()),
            percent_done(running).map_or_else(String::new, |percent| format!("{percent} %")),
            runners_of(running.runners, running.threads),
            running.task.clone().unwrap_or_default(),
            time(running.age_us),
        ]);
    }
    table.trim_fmt()
}

fn channels(view: &View) -> String {
    if view.channels.is_empty() {
        return String::new();
    }
    let mut table = new_table(&[
        "channel",
        "items",
        "capacity",
        "senders",
        "receivers",
        "state",
        "of",
        "made at",
    ]);
    for channel in &view.channels {
        table.add_row(channel_row(channel));
    }
    let mut text = table.trim_fmt();
    if view.channels_left_out > 0 {
        let _ = write!(text, "\nand {} more channels", view.channels_left_out);
    }
    text
}

fn channel_row(channel: &Channel) -> [String; 8] {
    let ends = |count: usize, waiting: usize| match waiting {
        0 => count.to_string(),
        _ => format!("{count}, {waiting} waiting"),
    };
    let capacity = match channel.capacity {
        Some(capacity) => capacity.to_string(),
        None => "no limit".to_owned(),
    };
    let [len, senders, receivers, state] = match channel.load {
        Some(load) => [
            load.len.to_string(),
            ends(load.senders, load.senders_waiting),
            ends(load.receivers, load.receivers_waiting),
            state_of_channel(channel, &load).to_owned(),
        ],
        None => [(); 4].map(|()| "in use".to_owned()),
    };
    let item = tail(&channel.item_type, TYPE_CHARS_MAX).to_owned();
    [
        name_of_channel(channel).to_owned(),
        len,
        capacity,
        senders,
        receivers,
        state,
        item,
        short(&channel.made_at).to_owned(),
    ]
}

/// Each chain of waits, from a task that nobody waits for to one that waits for no task: `4 → 7 → 9 running`.
fn chains(view: &View) -> String {
    let by_number: HashMap<&str, &Task> = view
        .tasks
        .iter()
        .map(|task| (task.number.as_str(), task))
        .collect();
    let next = |task: &Task| task.waits.iter().find_map(|wait| wait.owner.clone());
    let awaited: HashSet<String> = view.tasks.iter().filter_map(next).collect();
    let is_awaited = |task: &Task| awaited.contains(&task.number);
    let begins = view
        .tasks
        .iter()
        .filter(|task| next(task).is_some() && !is_awaited(task));
    let mut lines = Vec::new();
    for task in begins.take(CHAINS_MAX) {
        let mut line = name_and_number(task);
        let mut at = task;
        // A chain that leads into a ring never ends.
        for _ in 0..CHAIN_LEN_MAX {
            let Some(owner) = next(at) else { break };
            let Some(owner) = by_number.get(owner.as_str()) else {
                let _ = write!(line, " → {owner}");
                break;
            };
            let _ = write!(line, " → {}", name_and_number(owner));
            at = owner;
        }
        if next(at).is_some() {
            line.push_str(" → …");
        } else {
            let _ = write!(line, ", which is {}", at.state);
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("chains of waits:\n  {}", lines.join("\n  "))
}

fn name_and_number(task: &Task) -> String {
    match &task.name {
        Some(name) => format!("{} '{name}'", task.number),
        None => task.number.clone(),
    }
}

const CHAINS_MAX: usize = 20;
const CHAIN_LEN_MAX: usize = 12;

#[cfg(test)]
mod tests {
    use super::text;
    use crate::view::View;
    use crate::view::tests::clerk;
    use manyhands_wire::{Channel, Deadlock, Load, Loop, Runtime, Task, Wait, Worker};

    fn task(number: &str, owner: Option<&str>) -> Task {
        let wait = |owner: &str| Wait {
            kind: "task".to_owned(),
            name: None,
            resource: "7f00".to_owned(),
            owner: Some(owner.to_owned()),
            at: format!("src/office.rs:{number}0:5"),
            waiting_us: 1,
            direct: true,
            frame: None,
        };
        Task {
            number: number.to_owned(),
            name: Some(format!("clerk {number}")),
            runtime: Some(1),
            worker: Some(0),
            state: if owner.is_some() {
                "waiting"
            } else {
                "running"
            }
            .to_owned(),
            in_state_us: 1_500,
            age_us: 2_000_000,
            busy_us: 12,
            polls: 3,
            wakes: 2,
            waits: owner.map(wait).into_iter().collect(),
            changes: 9,
            ..clerk()
        }
    }

    #[test]
    fn a_view_shows_workers_tasks_chains_and_deadlocks() {
        let worker = Worker {
            index: Some(0),
            state: "running".to_owned(),
            task_spawned_at: Some("src/main.rs:7:1".to_owned()),
            queued: 4,
            completed: 12,
            steals: 1,
            parks: 2,
            ..Worker::default()
        };
        let runtime = Runtime {
            number: 1,
            name: "office".to_owned(),
            limit: 2,
            queued_outside: 5,
            started_for_declared: 3,
            workers: vec![worker],
            ..Runtime::default()
        };
        let ring = Deadlock {
            certain: true,
            behind: 0,
            tasks: vec![task("4", Some("5"))],
            text: "deadlock: …".to_owned(),
        };
        let view = View {
            runtimes: vec![runtime],
            tasks: vec![
                task("1", Some("2")),
                task("2", Some("3")),
                task("3", None),
                task("4", Some("9")),
            ],
            tasks_left_out: 6,
            deadlocks: vec![ring],
            ..View::default()
        };
        let shown = text(&view);
        for part in [
            "runtime 1 'office': 2 may run at once; threads added: 3 for declared blocking; 5 tasks from outside are queued",
            // The worker runs the task 3.
            "running   3      src/main.rs:7 ",
            "clerk 2",
            "waiting, deadlocked",
            "task 3",
            "src/office.rs:20 ",
            "1.5 ms",
            "and 6 more tasks",
            "1 'clerk 1' → 2 'clerk 2' → 3 'clerk 3', which is running",
            "4 'clerk 4' → 9",
            "deadlock: …",
        ] {
            assert!(shown.contains(part), "'{part}' is missing in:\n{shown}");
        }
        assert!(shown.ends_with('\n'));
    }

    #[test]
    fn a_ring_has_no_end_and_its_chain_is_cut() {
        let view = View {
            tasks: vec![
                task("1", Some("2")),
                task("2", Some("3")),
                task("3", Some("2")),
            ],
            ..View::default()
        };
        let shown = text(&view);
        assert!(
            shown.contains("1 'clerk 1' → 2 'clerk 2' → 3 'clerk 3' → 2"),
            "{shown}"
        );
        assert!(shown.contains('…'), "{shown}");
    }

    #[test]
    fn an_empty_view_says_so() {
        assert_eq!(text(&View::default()), "no tasks are recorded\n");
    }

    fn channel(number: u64, name: Option<&str>, load: Option<Load>) -> Channel {
        Channel {
            number,
            name: name.map(str::to_owned),
            item_type: "shop::Order".to_owned(),
            made_at: "src/shop.rs:12:9".to_owned(),
            capacity: Some(8),
            resource: format!("7f0{number}"),
            age_us: 1,
            load,
        }
    }

    #[test]
    fn loops_and_channels_have_tables_and_waits_name_their_channel() {
        let running = Loop {
            body: "shop::price".to_owned(),
            called_at: Some("src/shop.rs:31:5".to_owned()),
            items: Some(200),
            done: 50,
            runners: 2,
            threads: 4,
            task: Some("3".to_owned()),
            age_us: 2_500,
        };
        let load = Load {
            len: 8,
            senders: 3,
            receivers: 1,
            senders_waiting: 2,
            receivers_waiting: 0,
            closed: false,
        };
        let mut sender = task("1", None);
        sender.waits = task("1", Some("2")).waits;
        sender.waits[0].owner = None;
        sender.waits[0].kind = "send".to_owned();
        sender.waits[0].resource = "7f01".to_owned();
        let mut waiter = task("2", Some("1"));
        waiter.waits[0].owner = None;
        waiter.waits[0].kind = "group".to_owned();
        waiter.waits[0].name = Some("requests".to_owned());
        let shown = text(&View {
            tasks: vec![sender, waiter],
            loops: vec![running],
            channels: vec![
                channel(1, Some("orders"), Some(load)),
                channel(2, None, None),
            ],
            channels_left_out: 3,
            ..View::default()
        });
        for part in [
            "shop::price",
            "src/shop.rs:31 ",
            "25 %",
            "2 of 4",
            "3, 2 waiting",
            "full",
            "shop::Order",
            "src/shop.rs:12",
            "7f02",
            "in use",
            "send 'orders'",
            "group 'requests'",
            "and 3 more channels",
        ] {
            assert!(shown.contains(part), "'{part}' is missing in:\n{shown}");
        }
    }
}
