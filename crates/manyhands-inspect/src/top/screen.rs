//! Drawing the state: what the program is, the tabs, a table, and what the keys do.
//!
//! Colours are those of the terminal. Nothing is said by a colour alone.

use crate::top::fitting::{self, GAP, cut_right};
use crate::top::sheet::{Row, Sheet, Sorting};
use crate::top::sheets::Tab;
use crate::top::state::{Mode, State};
use crate::view::View;
use manyhands_wire::is_harmful;
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
    let room = usize::from(head.width);
    frame.render_widget(headline(state, room), head);
    let alarms = alarms
        .into_iter()
        .map(|text| Line::from(cut_right(&text, room)).fg(Color::Red));
    frame.render_widget(Paragraph::new(alarms.collect::<Vec<_>>()), alarm);
    frame.render_widget(tab_line(state, room), tabs);
    let sheet = state.sheet();
    let hidden = draw_table(frame, table, &sheet, state);
    frame.render_widget(foot_line(state, hidden, room), foot);
    match state.mode {
        Mode::Help => draw_help(frame),
        Mode::Details => draw_details(frame, &sheet, state.selected),
        Mode::Table | Mode::Filter => {}
    }
}

/// What is known of the program, as much of it as there is room for.
fn headline(state: &State, room: usize) -> Line<'static> {
    let View {
        tasks,
        tasks_left_out,
        loops,
        channels,
        runtimes,
        ..
    } = &state.view;
    let process = match state.process {
        Some(process) => format!(" process {process} "),
        None => " waits for the program's answer ".to_owned(),
    };
    let mut spans = vec![Span::from(cut_right(&process, room)).bold()];
    let mut left = room.saturating_sub(process.len());
    let notices = [
        state
            .is_paused
            .then(|| ("paused".to_owned(), Color::Yellow)),
        state.error.clone().map(|error| (clean(&error), Color::Red)),
    ];
    for (text, color) in notices.into_iter().flatten() {
        let text = cut_right(&format!(" {text} "), left);
        left -= text.chars().count();
        spans.push(Span::from(text).bold().fg(color));
    }
    let in_state = |wanted: &str| tasks.iter().filter(|task| task.state == wanted).count();
    let workers = || runtimes.iter().flat_map(|runtime| &runtime.workers);
    let running = workers().filter(|worker| worker.state == "running").count();
    let states = ["running", "waiting", "blocked", "queued"];
    let states = states.map(|name| format!("{} {name}", in_state(name)));
    let parts = [
        format!(" {running} of {} workers run", workers().count()),
        format!(" · {} tasks", tasks.len().saturating_add(*tasks_left_out)),
        format!(": {}", states.join(", ")),
        format!(" · {} loops", loops.len()),
        format!(" · {} channels", channels.len()),
    ];
    spans.push(Span::from(fitting::parts(&parts, left)));
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

/// The tables and their keys; where there is no room, the name of the chosen one only.
fn tab_line(state: &State, room: usize) -> Tabs<'static> {
    let names = || Tab::ALL.iter().map(|tab| tab.title());
    let all: usize = names().map(|name| name.len() + TAB_CHARS).sum::<usize>() + ALARM_MARK.len();
    let titles = Tab::ALL.iter().enumerate().map(|(at, tab)| {
        let title = match all <= room || *tab == state.tab {
            true => format!("{} {}", at + 1, tab.title()),
            false => format!("{}", at + 1),
        };
        let is_alarm = *tab == Tab::Deadlocks && !state.view.deadlocks.is_empty();
        match is_alarm {
            true => Line::from(format!("{title}{ALARM_MARK}")).fg(Color::Red),
            false => Line::from(title),
        }
    });
    Tabs::new(titles)
        .select(state.tab.position())
        .highlight_style(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED))
}

/// Returns how many columns with something in them there was no room for.
fn draw_table(frame: &mut Frame<'_>, area: Rect, sheet: &Sheet, state: &State) -> usize {
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
        return 0;
    }
    let columns = fitting::columns(sheet, usize::from(area.width));
    let widths = columns
        .iter()
        .map(|(_, width)| Constraint::Length(u16::try_from(*width).unwrap_or(u16::MAX)));
    let header = heading(sheet, &columns, state.sorting());
    let rows = sheet.rows.iter().map(|row| line_of(row, &columns));
    let table = Table::new(rows, widths)
        .header(header)
        .column_spacing(u16::try_from(GAP).unwrap_or(u16::MAX))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut place = TableState::new().with_selected(Some(state.selected));
    frame.render_stateful_widget(table, area, &mut place);
    let all = (0..sheet.columns.len()).filter(|&at| sheet.has_values(at));
    all.count() - columns.len()
}

fn heading(
    sheet: &Sheet,
    columns: &[(usize, usize)],
    sorting: Sorting,
) -> ratatui::widgets::Row<'static> {
    let cells = columns.iter().map(|&(at, width)| {
        let mark = match (at == sorting.column, sorting.is_down) {
            (false, _) => "",
            (true, false) => " ▲",
            (true, true) => " ▼",
        };
        let name = cut_right(&format!("{}{mark}", sheet.columns[at]), width);
        let alignment = match sheet.has_numbers(at) {
            true => Alignment::Right,
            false => Alignment::Left,
        };
        Line::from(name).alignment(alignment)
    });
    let cells = cells.map(ratatui::widgets::Cell::from);
    ratatui::widgets::Row::new(cells).bold().underlined()
}

fn line_of(row: &Row, columns: &[(usize, usize)]) -> ratatui::widgets::Row<'static> {
    let cells = columns.iter().map(|&(at, width)| {
        let cell = &row.cells[at];
        let alignment = match cell.is_number() {
            true => Alignment::Right,
            false => Alignment::Left,
        };
        Line::from(fitting::cut(cell, &clean(&cell.text), width)).alignment(alignment)
    });
    let line = ratatui::widgets::Row::new(cells.map(ratatui::widgets::Cell::from));
    match row.is_alarm {
        true => line.fg(Color::Red),
        false => line,
    }
}

fn foot_line(state: &State, hidden: usize, room: usize) -> Line<'static> {
    let filter = match state.mode {
        Mode::Filter => format!(
            " filter: {}█   Enter keeps it, Escape clears it",
            state.filter
        ),
        _ if !state.filter.is_empty() => {
            format!(" filter: {}   Escape clears it · ? help", state.filter)
        }
        _ => {
            let hidden = (hidden > 0).then(|| format!(" {hidden} more columns: Enter ·"));
            let keys = FOOT.map(str::to_owned);
            let parts: Vec<String> = hidden.into_iter().chain(keys).collect();
            return Line::from(fitting::parts(&parts, room)).dim();
        }
    };
    Line::from(cut_right(&filter, room))
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
    let shown = |c: char| if is_harmful(c) { '\u{fffd}' } else { c };
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
const FOOT: [&str; 8] = [
    " ? help",
    " · q quit",
    " · 1…7 tables",
    " · Enter details",
    " · / filter",
    " · s r sort",
    " · ↑ ↓ rows",
    " · p pause",
];
/// Around the name of a table: its key, spaces and a line.
const TAB_CHARS: usize = 5;
const ALARM_MARK: &str = " !";
const POPUP_WIDTH_MAX: u16 = 100;

#[cfg(test)]
mod tests;
