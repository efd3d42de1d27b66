//! Drawing the state: what the program is, the tabs, a table, and what the keys do.
//!
//! Colours are those of the terminal. Nothing is said by a colour alone.

use crate::top::sheet::{Row, Sheet, Sorting};
use crate::top::sheets::Tab;
use crate::top::state::{Mode, State};
use crate::wire::View;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Table, TableState, Tabs, Wrap};

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let alarms = alarms(&state.view);
    let rows = [
        Constraint::Length(1),
        Constraint::Length(height(&alarms)),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ];
    let [head, alarm, tabs, table, foot] = Layout::vertical(rows).areas(frame.area());
    frame.render_widget(headline(state), head);
    let alarms = alarms
        .into_iter()
        .map(|text| Line::from(text).fg(Color::Red));
    frame.render_widget(Paragraph::new(alarms.collect::<Vec<_>>()), alarm);
    frame.render_widget(tab_line(state), tabs);
    let sheet = state.sheet();
    draw_table(frame, table, &sheet, state);
    frame.render_widget(foot_line(state), foot);
    match state.mode {
        Mode::Help => draw_help(frame),
        Mode::Details => draw_details(frame, &sheet, state.selected),
        Mode::Table | Mode::Filter => {}
    }
}

fn headline(state: &State) -> Line<'static> {
    let View {
        tasks,
        tasks_left_out,
        loops,
        channels,
        runtimes,
        ..
    } = &state.view;
    let in_state = |wanted: &str| tasks.iter().filter(|task| task.state == wanted).count();
    let frozen = match tasks.iter().filter(|task| task.frozen).count() {
        0 => String::new(),
        count => format!(", {count} frozen"),
    };
    let workers = || runtimes.iter().flat_map(|runtime| &runtime.workers);
    let running = workers().filter(|worker| worker.state == "running").count();
    let mut spans = vec![
        Span::from(format!(" process {} ", state.process)).bold(),
        Span::from(format!(
            " {running} of {} workers run · {} tasks: {} running, {} waiting, {} blocked, {} queued{} · {} loops · {} channels",
            workers().count(),
            tasks.len() + tasks_left_out,
            in_state("running"),
            in_state("waiting"),
            in_state("blocked"),
            in_state("queued"),
            frozen,
            loops.len(),
            channels.len(),
        )),
    ];
    if state.is_paused {
        spans.push(Span::from("  paused").bold().fg(Color::Yellow));
    }
    if let Some(error) = &state.error {
        spans.push(Span::from(format!("  {error}")).bold().fg(Color::Red));
    }
    Line::from(spans)
}

/// The first lines of what cannot go on.
fn alarms(view: &View) -> Vec<String> {
    let lines = view.alarms().flat_map(str::lines);
    lines
        .take(ALARM_LINES_MAX)
        .map(|line| format!(" {line}"))
        .collect()
}

fn height<T>(lines: &[T]) -> u16 {
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}

fn tab_line(state: &State) -> Tabs<'static> {
    let titles = Tab::ALL.iter().enumerate().map(|(at, tab)| {
        let title = format!("{} {}", at + 1, tab.title());
        let is_alarm = *tab == Tab::Deadlocks && !state.view.deadlocks.is_empty();
        match is_alarm {
            true => Line::from(format!("{title} !")).fg(Color::Red),
            false => Line::from(title),
        }
    });
    Tabs::new(titles)
        .select(state.tab.position())
        .highlight_style(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED))
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, sheet: &Sheet, state: &State) {
    if sheet.rows.is_empty() {
        let text = match (state.filter.is_empty(), state.tab) {
            (false, _) => "nothing here contains the text of the filter",
            (true, Tab::Deadlocks) => "no tasks wait for each other",
            (true, Tab::Why) => "no loop has ended since recording was opened",
            (true, _) => "there are none now",
        };
        frame.render_widget(
            Paragraph::new(text).alignment(Alignment::Center).dim(),
            area,
        );
        return;
    }
    let widths = sheet.widths();
    let widths = widths.into_iter().map(|width| {
        let width = u16::try_from(width.min(CELL_CHARS_MAX)).unwrap_or(u16::MAX);
        Constraint::Length(width)
    });
    let header = heading(sheet, state.sorting());
    let rows = sheet.rows.iter().map(line_of);
    let table = Table::new(rows, widths)
        .header(header)
        .column_spacing(2)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut place = TableState::new().with_selected(Some(state.selected));
    frame.render_stateful_widget(table, area, &mut place);
}

fn heading(sheet: &Sheet, sorting: Sorting) -> ratatui::widgets::Row<'static> {
    let cells = sheet.columns.iter().enumerate().map(|(at, name)| {
        let mark = match (at == sorting.column, sorting.is_down) {
            (false, _) => "",
            (true, false) => " ▲",
            (true, true) => " ▼",
        };
        format!("{name}{mark}")
    });
    ratatui::widgets::Row::new(cells).bold().underlined()
}

fn line_of(row: &Row) -> ratatui::widgets::Row<'static> {
    let cells = row.cells.iter().map(|cell| {
        let alignment = match cell.is_number() {
            true => Alignment::Right,
            false => Alignment::Left,
        };
        Line::from(clean(&cell.text)).alignment(alignment)
    });
    let line = ratatui::widgets::Row::new(cells.map(ratatui::widgets::Cell::from));
    match row.is_alarm {
        true => line.fg(Color::Red),
        false => line,
    }
}

fn foot_line(state: &State) -> Line<'static> {
    match state.mode {
        Mode::Filter => Line::from(format!(" filter: {}█   Enter keeps it, Escape clears it", state.filter)),
        _ if !state.filter.is_empty() => Line::from(format!(
            " filter: {}   Escape clears it · ? help",
            state.filter
        )),
        _ => Line::from(" ? help · 1…7 tables · ↑ ↓ rows · Enter details · / filter · s r sort · p pause · q quit").dim(),
    }
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines = HELP.iter().map(|(keys, meaning)| {
        Line::from(vec![
            Span::from(format!(" {keys:<14}")).bold(),
            Span::from(*meaning),
        ])
    });
    popup(frame, " Keys ", lines.collect());
}

fn draw_details(frame: &mut Frame<'_>, sheet: &Sheet, selected: usize) {
    let Some(row) = sheet.rows.get(selected) else {
        return;
    };
    let cells = sheet.columns.iter().zip(&row.cells);
    let lines = cells.map(|(name, cell)| {
        Line::from(vec![
            Span::from(format!(" {name:<18}")).bold(),
            Span::from(clean(&cell.text)),
        ])
    });
    popup(frame, " Details ", lines.collect());
}

fn popup(frame: &mut Frame<'_>, title: &'static str, lines: Vec<Line<'static>>) {
    let all = frame.area();
    let width = all.width.saturating_sub(4).min(POPUP_WIDTH_MAX);
    let text_width = usize::from(width.saturating_sub(2)).max(1);
    let wrapped: usize = lines
        .iter()
        .map(|line| line.width().div_ceil(text_width).max(1))
        .sum();
    let height = u16::try_from(wrapped + 2)
        .unwrap_or(u16::MAX)
        .min(all.height);
    let area = Rect {
        x: (all.width - width) / 2,
        y: (all.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .block(Block::bordered().title(title));
    frame.render_widget(text, area);
}

/// Text of the program without what a terminal would obey.
fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

const HELP: [(&str, &str); 12] = [
    ("1 … 7", "choose a table"),
    ("Tab ← →", "the next table, the one before"),
    ("↑ ↓ j k", "choose a row"),
    ("PageUp PageDn", "twenty rows at once"),
    ("Home End", "the first row, the last one"),
    ("Enter", "all of the row, without cuts"),
    ("/", "show only rows that contain a text"),
    ("s", "sort by the next column"),
    ("r", "sort the other way round"),
    ("p", "pause, and go on"),
    ("?", "this help; any key closes it"),
    ("q Esc Ctrl-C", "quit; Escape clears a filter first"),
];
const ALARM_LINES_MAX: usize = 8;
const CELL_CHARS_MAX: usize = 44;
const POPUP_WIDTH_MAX: u16 = 100;

#[cfg(test)]
mod tests {
    use super::{Mode, State, Tab, draw};
    use crate::error::Error;
    use crate::graph::tests::task;
    use crate::top::tests::busy_view;
    use crate::wire::{Deadlock, Starvation, View};
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
        let mut state = State::new(4321);
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
}
