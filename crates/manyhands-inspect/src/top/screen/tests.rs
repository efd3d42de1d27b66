//! Tests of `screen.rs`.

use super::{Mode, State, Tab, draw};
use crate::error::Error;
use crate::graph::tests::task;
use crate::top::tests::busy_view;
use crate::view::View;
use manyhands_wire::{Deadlock, Starvation};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// The lines of a screen of this size.
fn screen(state: &State, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
    (0..height).map(line).collect()
}

fn state(view: View) -> State {
    let mut state = State::default();
    state.process = Some(4321);
    state.handle_look(Ok(view));
    state
}

fn shows(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn the_first_screen_shows_the_program_its_tasks_and_the_keys() {
    let lines = screen(&state(busy_view()), 180, 20);
    assert!(lines[0].contains("process 4321"), "{}", lines[0]);
    assert!(
        lines[0].contains("1 of 2 workers run · 3 tasks: 1 running, 2 waiting"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].contains("1 Tasks") && lines[1].contains("6 Deadlocks │ 7 Why"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].contains("task ▲") && lines[2].contains("waits for"),
        "{}",
        lines[2]
    );
    assert!(shows(&lines, "send 'orders'"), "{lines:#?}");
    assert!(lines[19].contains("q quit"), "{}", lines[19]);
}

#[test]
fn before_the_first_answer_the_screen_says_that_it_waits() {
    let lines = screen(&State::default(), 180, 20);
    assert!(lines[0].contains("waits for the program's answer"));
    let mut many = busy_view();
    many.tasks_left_out = usize::MAX;
    let lines = screen(&state(many), 180, 20);
    let tasks = format!("{} tasks", usize::MAX);
    assert!(lines[0].contains(&tasks), "{}", lines[0]);
}

#[test]
fn each_tab_shows_its_own_rows() {
    let mut state = state(busy_view());
    for (tab, part) in [
        (Tab::Workers, "'office'"),
        (Tab::Loops, "█████░░░░░  50 %"),
        (Tab::Channels, "orders"),
        (Tab::Waits, "channel 'orders'"),
        (Tab::Deadlocks, "no tasks wait for each other"),
        (Tab::Why, "Shared late: the calling thread was alone"),
    ] {
        state.tab = tab;
        let lines = screen(&state, 180, 20);
        assert!(shows(&lines, part), "'{part}' is missing in {lines:#?}");
    }
}

#[test]
fn the_details_of_a_loop_that_has_ended_show_both_sentences_to_their_ends() {
    let mut state = state(busy_view());
    state.tab = Tab::Why;
    state.mode = Mode::Details;
    let lines = screen(&state, 180, 24);
    for end in [
        "alone for the first 97.0ms.",
        "on the calling thread alone.",
    ] {
        assert!(shows(&lines, end), "'{end}' is missing in {lines:#?}");
    }
    state.handle_look(Ok(View::default()));
    state.mode = Mode::Table;
    assert!(shows(&screen(&state, 180, 20), "no loop has ended"));
}

#[test]
fn a_deadlock_stands_above_everything() {
    let mut view = busy_view();
    view.deadlocks = vec![Deadlock {
        certain: true,
        behind: 0,
        tasks: vec![task(1, "src/a.rs:1:1", &["1"])],
        text: "deadlock of 1 task:\n1 waits for itself".to_owned(),
    }];
    let lines = screen(&state(view), 180, 20);
    assert!(lines[1].contains("deadlock of 1 task:"), "{}", lines[1]);
    assert!(lines[2].contains("1 waits for itself"), "{}", lines[2]);
    assert!(lines[3].contains("6 Deadlocks !"), "{}", lines[3]);
}

#[test]
fn a_starved_runtime_stands_above_everything() {
    let mut view = busy_view();
    view.starvations = vec![Starvation {
        runtime: 1,
        name: "small".to_owned(),
        queued: 2,
        because: "limit".to_owned(),
        text: "runtime 'small' is starved: 2 tasks wait\n  worker 0 waits".to_owned(),
    }];
    let lines = screen(&state(view), 180, 20);
    assert!(
        lines[1].contains("runtime 'small' is starved"),
        "{}",
        lines[1]
    );
    assert!(lines[2].contains("worker 0 waits"), "{}", lines[2]);
}

#[test]
fn text_of_the_program_is_not_obeyed_by_the_terminal() {
    let mut evil = task(1, "src/main.rs:1:1", &[]);
    evil.name = Some("\u{1b}[2Jevil\r\n\u{9b}31m".to_owned());
    let mut state = state(View {
        tasks: vec![evil],
        ..View::default()
    });
    for mode in [Mode::Table, Mode::Details] {
        state.mode = mode;
        let lines = screen(&state, 180, 20);
        assert!(shows(&lines, "evil"), "{lines:#?}");
        let controls = lines
            .iter()
            .flat_map(|line| line.chars())
            .filter(|c| c.is_control());
        assert_eq!(controls.count(), 0);
    }
}

#[test]
fn help_details_and_a_filter_are_shown() {
    let mut state = state(busy_view());
    state.mode = Mode::Help;
    assert!(shows(&screen(&state, 100, 24), "choose a table"));
    state.mode = Mode::Details;
    let lines = screen(&state, 100, 24);
    assert!(
        shows(&lines, "spawned at") && shows(&lines, "Details"),
        "{lines:#?}"
    );
    state.mode = Mode::Filter;
    state.filter = "zebra".to_owned();
    let lines = screen(&state, 100, 24);
    assert!(lines[23].contains("filter: zebra"), "{}", lines[23]);
    assert!(shows(&lines, "nothing here contains"), "{lines:#?}");
}

#[test]
fn a_pause_and_a_program_that_is_gone_are_said() {
    let mut state = state(busy_view());
    state.is_paused = true;
    state.handle_look(Err(Error::Refused("gone".to_owned())));
    let lines = screen(&state, 200, 20);
    assert!(
        lines[0].contains("paused") && lines[0].contains("gone"),
        "{}",
        lines[0]
    );
    // How a program is made to listen is no help for one that has.
    let (path, cause) = (
        "x.sock".into(),
        std::io::ErrorKind::ConnectionRefused.into(),
    );
    state.handle_look(Err(Error::NotListening { path, cause }));
    let lines = screen(&state, 200, 20);
    assert!(
        lines[0].contains("process 4321") && lines[0].contains("has ended"),
        "{}",
        lines[0]
    );
    assert!(!lines[0].contains("start it with"), "{}", lines[0]);
}

/// A view in which every number has digits that no other has, so that a part of one is found.
fn long_numbers() -> View {
    let mut view = busy_view();
    for (at, task) in view.tasks.iter_mut().enumerate() {
        task.polls = 87_565 + at as u64;
        task.busy_us = 203_312;
        task.in_state_us = 86_012;
        task.name = Some(format!("customer 12345 of the office in street {at}"));
        for wait in &mut task.waits {
            wait.at = "crates/office/src/branches/customers.rs:4711:9".to_owned();
        }
    }
    for worker in &mut view.runtimes[0].workers {
        worker.completed = 1_234_567;
        worker.parks = 7_654_321;
    }
    view.tasks_left_out = 1_048_576;
    view.deadlocks = vec![Deadlock {
        certain: true,
        behind: 0,
        tasks: vec![view.tasks[1].clone()],
        text: "deadlock of 3 tasks that have waited for 86400 seconds and for 31337 others"
            .to_owned(),
    }];
    view
}

/// The numbers of a text.
fn numbers(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let words = text
        .split(|c| !is_part(c))
        .map(|word| word.trim_matches('.'));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn at_no_width_a_number_is_cut() {
    let mut state = state(long_numbers());
    for tab in Tab::ALL {
        state.tab = tab;
        let whole: std::collections::BTreeSet<String> = screen(&state, 600, 24)
            .iter()
            .chain(
                state
                    .sheet()
                    .rows
                    .iter()
                    .flat_map(|row| &row.cells)
                    .map(|cell| &cell.text),
            )
            .flat_map(|line| numbers(line))
            .chain((1..=12).map(|count| count.to_string()))
            .collect();
        for width in 40..=200 {
            for line in screen(&state, width, 9) {
                for number in numbers(&line) {
                    assert!(
                        whole.contains(&number),
                        "{number} at {width} in {tab:?}: {line}"
                    );
                }
            }
        }
    }
}

#[test]
fn on_a_narrow_screen_the_state_and_the_end_of_the_place_stay() {
    let mut view = long_numbers();
    view.deadlocks.clear();
    let state = state(view);
    for (width, parts) in [
        (40, &["waiting", "rs:4711", "more columns: Enter"][..]),
        (80, &["waiting", "mers.rs:4711", "86.0 ms"]),
        (120, &["waiting", "ustomers.rs:4711", "86.0 ms", "87565"]),
        (
            200,
            &[
                "waiting",
                "customers.rs:4711",
                "86.0 ms",
                "87565",
                "203.3 ms",
            ],
        ),
    ] {
        let lines = screen(&state, width, 24);
        for part in parts {
            assert!(
                shows(&lines, part),
                "'{part}' is missing at {width}: {lines:#?}"
            );
        }
    }
}

#[test]
fn a_tiny_screen_is_no_panic() {
    let mut state = state(busy_view());
    for (width, height) in [(1, 1), (2, 3), (20, 5), (5, 40)] {
        for mode in [Mode::Table, Mode::Filter, Mode::Details, Mode::Help] {
            state.mode = mode;
            for tab in Tab::ALL {
                state.tab = tab;
                assert_eq!(screen(&state, width, height).len(), usize::from(height));
            }
        }
    }
}
