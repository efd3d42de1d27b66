//! The tables of a view.

use crate::graph::{Graph, NodeKind};
use crate::reports::{ended_ago, imbalance, verdict_words};
use crate::top::sheet::{Cell, Row, Sheet};
use crate::view::View;
use crate::words::{
    Resources, TASK_COLUMNS, TASK_COLUMNS_BY_IMPORTANCE, Value, label, name_of_channel,
    percent_done, runners_of, short, state_of_channel, time, waits_for,
};
use crate::workers::{TasksOfWorkers, threads_added};
use manyhands_wire::{Channel, LoopReport, Task};

/// What is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Tasks,
    Workers,
    Loops,
    Channels,
    Waits,
    Deadlocks,
    Why,
}

impl Tab {
    pub(super) const ALL: [Self; 7] = [
        Self::Tasks,
        Self::Workers,
        Self::Loops,
        Self::Channels,
        Self::Waits,
        Self::Deadlocks,
        Self::Why,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Tasks => "Tasks",
            Self::Workers => "Workers",
            Self::Loops => "Loops",
            Self::Channels => "Channels",
            Self::Waits => "Waits",
            Self::Deadlocks => "Deadlocks",
            Self::Why => "Why",
        }
    }

    pub(super) fn position(self) -> usize {
        Self::ALL.iter().position(|&tab| tab == self).unwrap_or(0)
    }

    /// The table, in the order of the view.
    pub(super) fn sheet(self, view: &View) -> Sheet {
        match self {
            Self::Tasks => tasks(view),
            Self::Workers => workers(view),
            Self::Loops => loops(view),
            Self::Channels => channels(view),
            Self::Waits => waits(view),
            Self::Deadlocks => deadlocks(view),
            Self::Why => why(view),
        }
    }
}

fn quiet(cells: Vec<Cell>) -> Row {
    Row {
        cells,
        is_alarm: false,
    }
}

fn duration(micros: u64) -> Cell {
    Cell::ordered_by(micros, time(micros))
}

fn tasks(view: &View) -> Sheet {
    let resources = Resources::of(view);
    let row = |task: &Task| Row {
        is_alarm: resources.deadlocked.contains(task.number.as_str()),
        cells: TASK_COLUMNS
            .map(|(_, value)| in_a_line(value(task, &resources)))
            .to_vec(),
    };
    Sheet {
        columns: TASK_COLUMNS.map(|(title, _)| title).to_vec(),
        order: &TASK_COLUMNS_BY_IMPORTANCE,
        rows: view.tasks.iter().map(row).collect(),
    }
}

/// The values of one cell beside each other.
fn in_a_line(value: Value) -> Cell {
    match value {
        Value::Count(count) => count.into(),
        Value::Micros(micros) => duration(micros),
        Value::Number(text) => number(&text),
        Value::Text(text) => text.into(),
        Value::Texts(texts) => texts.join(", ").into(),
        Value::Places(places) => Cell::path(places.join(", ")),
    }
}

/// The number of a task, which is a text for those who do not need to know more.
fn number(text: &str) -> Cell {
    match text.parse() {
        Ok(number) => Cell::ordered_by(number, text.to_owned()),
        Err(_) => text.into(),
    }
}

fn workers(view: &View) -> Sheet {
    let mut rows = Vec::new();
    let numbers = TasksOfWorkers::of(view);
    for runtime in &view.runtimes {
        let added = threads_added(runtime).join(", ");
        let name = format!("{} '{}'", runtime.number, runtime.name);
        for worker in &runtime.workers {
            rows.push(quiet(vec![
                name.as_str().into(),
                worker.index.map_or("external".into(), Cell::from),
                worker.state.as_str().into(),
                number(numbers.number(runtime, worker)),
                Cell::path(worker.task_spawned_at.as_deref().map_or("", short)),
                worker.queued.into(),
                worker.forks.into(),
                worker.completed.into(),
                worker.steals.into(),
                worker.parks.into(),
                added.as_str().into(),
            ]));
        }
    }
    Sheet {
        columns: vec![
            "runtime",
            "worker",
            "state",
            "task",
            "spawned at",
            "queued",
            "forks",
            "completed",
            "steals",
            "parks",
            "threads added",
        ],
        order: &[1, 2, 3, 4, 5, 7, 0, 6, 8, 9, 10],
        rows,
    }
}

fn loops(view: &View) -> Sheet {
    let rows = view.loops.iter().map(|running| {
        let share = |percent| Cell::ordered_by(percent, format!("{} {percent:>3} %", bar(percent)));
        quiet(vec![
            running.body.as_str().into(),
            Cell::path(running.called_at.as_deref().map_or("", short)),
            running.done.into(),
            running.items.map_or("".into(), Cell::from),
            percent_done(running).map_or("".into(), share),
            running.runners.into(),
            running.threads.into(),
            number(running.task.as_deref().unwrap_or_default()),
            duration(running.age_us),
        ])
    });
    Sheet {
        columns: vec![
            "loop",
            "called at",
            "done",
            "of",
            "share",
            "runners",
            "at once",
            "task",
            "for",
        ],
        order: &[4, 1, 2, 3, 8, 5, 6, 0, 7],
        rows: rows.collect(),
    }
}

/// Ten places, of which this share is full.
fn bar(percent: u64) -> String {
    let full = usize::try_from(percent / 10).unwrap_or(usize::MAX).min(10);
    "█".repeat(full) + &"░".repeat(10 - full)
}

fn channels(view: &View) -> Sheet {
    let row = |channel: &Channel| {
        let load = channel.load;
        let count = |of: fn(&crate::Load) -> usize| {
            load.as_ref()
                .map_or("in use".into(), |load| Cell::from(of(load)))
        };
        quiet(vec![
            name_of_channel(channel).into(),
            count(|load| load.len),
            channel.capacity.map_or("no limit".into(), Cell::from),
            count(|load| load.senders),
            count(|load| load.senders_waiting),
            count(|load| load.receivers),
            count(|load| load.receivers_waiting),
            load.map_or("in use", |load| state_of_channel(channel, &load))
                .into(),
            channel.item_type.as_str().into(),
            Cell::path(short(&channel.made_at)),
        ])
    };
    Sheet {
        columns: vec![
            "channel",
            "items",
            "capacity",
            "senders",
            "senders wait",
            "receivers",
            "receivers wait",
            "state",
            "of",
            "made at",
        ],
        order: &[0, 1, 2, 7, 4, 6, 9, 3, 5, 8],
        rows: view.channels.iter().map(row).collect(),
    }
}

/// Equal tasks are one row, as in the graph of the page.
fn waits(view: &View) -> Sheet {
    let graph = Graph::of(view);
    let mut rows = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        let edges = graph.edges.iter().filter(|edge| edge.from == at);
        let targets: Vec<&str> = edges
            .filter_map(|edge| graph.nodes[edge.to].lines.first())
            .map(String::as_str)
            .collect();
        if node.kind == NodeKind::Channel {
            continue;
        }
        let mut lines = node.lines.iter().map(String::as_str);
        let (head, work) = (lines.next(), lines.next());
        rows.push(Row {
            is_alarm: node.is_deadlocked,
            cells: vec![
                node.count.into(),
                head.unwrap_or_default().into(),
                work.unwrap_or_default().into(),
                Cell::path(lines.collect::<Vec<_>>().join(", ")),
                targets.join(", ").into(),
            ],
        });
    }
    Sheet {
        columns: vec!["tasks", "state", "work", "where", "waits for"],
        order: &[0, 1, 4, 3, 2],
        rows,
    }
}

fn deadlocks(view: &View) -> Sheet {
    let resources = Resources::of(view);
    let mut rows = Vec::new();
    for (ring, deadlock) in view.deadlocks.iter().enumerate() {
        for task in &deadlock.tasks {
            let wait = task.waits.first();
            rows.push(Row {
                is_alarm: true,
                cells: vec![
                    (ring + 1).into(),
                    if deadlock.certain {
                        "certain"
                    } else {
                        "likely"
                    }
                    .into(),
                    number(&task.number),
                    label(task).into(),
                    wait.map_or(String::new(), |wait| waits_for(task, wait, &resources))
                        .into(),
                    Cell::path(wait.map_or("", |wait| short(&wait.at))),
                    wait.map_or("".into(), |wait| duration(wait.waiting_us)),
                    deadlock.behind.into(),
                ],
            });
        }
    }
    Sheet {
        columns: vec![
            "ring",
            "is",
            "task",
            "name",
            "waits for",
            "at",
            "for",
            "others behind it",
        ],
        order: &[0, 2, 4, 5, 6, 3, 1, 7],
        rows,
    }
}

/// What kept loops that have ended from being faster.
fn why(view: &View) -> Sheet {
    let row = |report: &LoopReport| {
        let sentences = format!("{} {}", report.why, report.ran);
        quiet(vec![
            Cell::path(short(&report.called_at)),
            verdict_words(report).into(),
            Cell::sentence(sentences),
            report.items.into(),
            runners_of(report.runners, report.threads).into(),
            duration(report.elapsed_us),
            duration(report.alone_us),
            Cell::ordered_by(report.imbalance_percent, imbalance(report)),
            report.calls.into(),
            Cell::ordered_by(report.ended_us, ended_ago(report)),
            report.body.as_str().into(),
        ])
    };
    Sheet {
        columns: vec![
            "called at",
            "verdict",
            "why",
            "items",
            "runners",
            "took",
            "alone for",
            "imbalance",
            "calls",
            "ended",
            "loop",
        ],
        order: &[0, 1, 5, 3, 6, 2, 9, 4, 7, 8, 10],
        rows: view.reports.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tab, bar};
    use crate::graph::tests::task;
    use crate::view::View;
    use manyhands_wire::Deadlock;

    #[test]
    fn every_row_has_a_cell_for_each_column() {
        let ring = vec![
            task(1, "src/a.rs:1:1", &["2"]),
            task(2, "src/b.rs:1:1", &["1"]),
        ];
        let mut view = crate::top::tests::busy_view();
        view.deadlocks = vec![Deadlock {
            certain: true,
            behind: 3,
            tasks: ring.clone(),
            text: String::new(),
        }];
        view.tasks = ring;
        for tab in Tab::ALL {
            let sheet = tab.sheet(&view);
            assert!(!sheet.rows.is_empty(), "{tab:?}");
            let mut order = sheet.order.to_vec();
            order.sort_unstable();
            let all: Vec<usize> = (0..sheet.columns.len()).collect();
            assert_eq!(order, all, "{tab:?}");
            for row in &sheet.rows {
                assert_eq!(row.cells.len(), sheet.columns.len(), "{tab:?}");
            }
        }
        let states = Tab::Tasks.sheet(&view).rows.into_iter();
        let states: Vec<String> = states.map(|row| row.cells[2].text.clone()).collect();
        assert_eq!(states, ["waiting, deadlocked"; 2]);
        let alarms = |tab: Tab| {
            tab.sheet(&view)
                .rows
                .iter()
                .filter(|row| row.is_alarm)
                .count()
        };
        assert_eq!(Tab::ALL.map(alarms), [2, 0, 0, 0, 2, 2, 0]);
    }

    #[test]
    fn equal_waits_are_one_row() {
        let view = View {
            tasks: (0..1_000)
                .map(|n| task(n, "src/a.rs:1:1", &["@9"]))
                .collect(),
            ..View::default()
        };
        let sheet = Tab::Waits.sheet(&view);
        assert_eq!(sheet.rows.len(), 1);
        assert_eq!(sheet.rows[0].cells[0].text, "1000");
    }

    #[test]
    fn a_worker_is_shown_with_its_task_and_with_why_threads_were_added() {
        let mut view = crate::top::tests::busy_view();
        view.runtimes[0].started_for_detected = 2;
        view.runtimes[0].workers[0].task_spawned_at = view.tasks[0].spawned_at.clone();
        (view.tasks[0].runtime, view.tasks[0].worker) = (Some(1), Some(0));
        let sheet = Tab::Workers.sheet(&view);
        let texts = |title: &str| {
            let place = sheet.columns.iter().position(|column| *column == title);
            let rows = sheet.rows.iter();
            let texts = rows.map(|row| row.cells[place.unwrap()].text.as_str());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(texts("task"), ["1", ""]);
        assert_eq!(texts("threads added"), ["2 for detected blocking"; 2]);
    }

    #[test]
    fn a_loop_is_shown_with_the_line_that_called_it() {
        let sheet = Tab::Loops.sheet(&crate::top::tests::busy_view());
        assert_eq!(sheet.rows[0].cells[1].text, "src/office.rs:31");
    }

    #[test]
    fn a_channel_without_room_is_full() {
        let sheet = Tab::Channels.sheet(&crate::top::tests::busy_view());
        let state = sheet.columns.iter().position(|title| *title == "state");
        assert_eq!(sheet.rows[0].cells[state.unwrap()].text, "full");
    }

    #[test]
    fn a_loop_that_has_ended_is_shown_with_what_kept_it_from_being_faster() {
        let sheet = Tab::Why.sheet(&crate::top::tests::busy_view());
        let cells = &sheet.rows[0].cells;
        let text = |title: &str| {
            let place = sheet.columns.iter().position(|column| *column == title);
            cells[place.unwrap()].text.as_str()
        };
        assert_eq!(text("called at"), "src/shop.rs:31");
        assert_eq!(text("verdict"), "shared late");
        assert!(text("why").starts_with("Shared late: "), "{}", text("why"));
        assert_eq!((text("alone for"), text("ended")), ("97.0 ms", "3.4 s ago"));
    }

    #[test]
    fn a_bar_has_ten_places() {
        assert_eq!(bar(0), "░░░░░░░░░░");
        assert_eq!(bar(59), "█████░░░░░");
        assert_eq!(bar(u64::MAX), "██████████");
    }
}
