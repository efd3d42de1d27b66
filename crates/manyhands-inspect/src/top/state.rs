//! What the screen shows and what keys change. Pure: keys and looks come in, nothing goes out but whether to go on.

use crate::error::Error;
use crate::top::sheet::{Sheet, Sorting};
use crate::top::sheets::Tab;
use crate::view::View;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the screen shows.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Not known before the program has answered.
    pub(super) process: Option<u32>,
    pub(super) view: View,
    /// Why there is no newer view.
    pub(super) error: Option<String>,
    pub(super) tab: Tab,
    sorting: [Sorting; Tab::ALL.len()],
    pub(super) filter: String,
    pub(super) selected: usize,
    pub(super) mode: Mode,
    pub(super) is_paused: bool,
}

/// To what keys go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Table,
    /// The text of the filter is typed.
    Filter,
    /// All cells of the selected row are shown.
    Details,
    Help,
}

/// What a key means for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Next {
    GoOn,
    End,
}

impl State {
    /// Takes what a look has shown. Of a program that is gone, the last view stays.
    pub(super) fn handle_look(&mut self, look: Result<View, Error>) {
        match look {
            Ok(view) => {
                self.view = view;
                self.error = None;
            }
            Err(Error::NotListening { .. }) if self.process.is_some() => {
                self.error = Some("has ended, or listens no more; this was last".to_owned());
            }
            Err(error) => self.error = Some(error.to_string()),
        }
        self.keep_selected_inside();
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::GoOn;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Next::End;
        }
        match self.mode {
            Mode::Filter => self.handle_typed(key.code),
            Mode::Details if key.code == KeyCode::Char('?') => self.mode = Mode::Help,
            Mode::Details | Mode::Help => self.mode = Mode::Table,
            Mode::Table => return self.handle_command(key.code),
        }
        Next::GoOn
    }

    fn handle_typed(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(c) if !c.is_control() => self.filter.push(c),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.mode = Mode::Table,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Table;
            }
            _ => {}
        }
        self.keep_selected_inside();
    }

    fn handle_command(&mut self, code: KeyCode) -> Next {
        match code {
            KeyCode::Char('q') => return Next::End,
            KeyCode::Esc if self.filter.is_empty() => return Next::End,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('p') => self.is_paused = !self.is_paused,
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('r') => {
                let sorting = self.sorting_mut();
                sorting.is_down = !sorting.is_down;
            }
            KeyCode::Enter if !self.sheet().rows.is_empty() => self.mode = Mode::Details,
            KeyCode::Char(digit @ '1'..='9') => {
                let at = digit as usize - '1' as usize;
                self.choose(at.min(Tab::ALL.len() - 1));
            }
            KeyCode::Tab | KeyCode::Right => {
                self.choose((self.tab.position() + 1) % Tab::ALL.len());
            }
            KeyCode::BackTab | KeyCode::Left => {
                let before = self.tab.position() + Tab::ALL.len() - 1;
                self.choose(before % Tab::ALL.len());
            }
            KeyCode::Down | KeyCode::Char('j') => self.selected = self.selected.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::PageDown => self.selected = self.selected.saturating_add(PAGE_ROWS),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(PAGE_ROWS),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = usize::MAX,
            _ => {}
        }
        self.keep_selected_inside();
        Next::GoOn
    }

    /// The table as it is shown.
    pub(super) fn sheet(&self) -> Sheet {
        let sheet = self.tab.sheet(&self.view);
        sheet.arrange(&self.filter, self.sorting())
    }

    pub(super) fn sorting(&self) -> Sorting {
        self.sorting[self.tab.position()]
    }

    fn sorting_mut(&mut self) -> &mut Sorting {
        &mut self.sorting[self.tab.position()]
    }

    fn sort_by_next(&mut self) {
        let sheet = self.tab.sheet(&self.view);
        let columns = sheet.columns.len();
        let sorting = self.sorting_mut();
        let others = (1..=columns).map(|step| (sorting.column + step) % columns);
        if let Some(next) = others.into_iter().find(|&at| sheet.has_values(at)) {
            sorting.column = next;
        }
    }

    fn choose(&mut self, at: usize) {
        self.tab = Tab::ALL[at];
        self.selected = 0;
    }

    fn keep_selected_inside(&mut self) {
        let rows = self.sheet().rows.len();
        self.selected = self.selected.min(rows.saturating_sub(1));
    }
}

/// How far the page keys lead.
const PAGE_ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use super::{Mode, Next, State, Tab};
    use crate::error::Error;
    use crate::top::tests::busy_view;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn state() -> State {
        let mut state = State::default();
        state.handle_look(Ok(busy_view()));
        state
    }

    fn press(state: &mut State, codes: &[KeyCode]) -> Next {
        let mut next = Next::GoOn;
        for &code in codes {
            next = state.handle_key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        next
    }

    #[test]
    fn digits_and_arrows_choose_a_table() {
        let mut state = state();
        for (code, tab) in [
            (KeyCode::Char('3'), Tab::Loops),
            (KeyCode::Right, Tab::Channels),
            (KeyCode::Tab, Tab::Waits),
            (KeyCode::BackTab, Tab::Channels),
            (KeyCode::Char('1'), Tab::Tasks),
            (KeyCode::Left, Tab::Why),
            (KeyCode::Right, Tab::Tasks),
            (KeyCode::Char('6'), Tab::Deadlocks),
            (KeyCode::Char('9'), Tab::Why),
        ] {
            let _ = press(&mut state, &[code]);
            assert_eq!(state.tab, tab, "{code:?}");
        }
    }

    #[test]
    fn the_selected_row_stays_inside_whatever_goes_away() {
        let mut state = state();
        let _ = press(&mut state, &[KeyCode::End]);
        assert_eq!(state.selected, 2);
        let _ = press(&mut state, &[KeyCode::Down, KeyCode::PageDown]);
        assert_eq!(state.selected, 2);
        let mut smaller = busy_view();
        smaller.tasks.truncate(1);
        state.handle_look(Ok(smaller));
        assert_eq!(state.selected, 0);
        let _ = press(&mut state, &[KeyCode::Up, KeyCode::PageUp, KeyCode::Home]);
        assert_eq!(state.selected, 0);
        // Enter on a table without rows does nothing.
        let _ = press(&mut state, &[KeyCode::Char('6'), KeyCode::Enter]);
        assert_eq!(state.mode, Mode::Table);
    }

    #[test]
    fn help_is_one_key_away_from_the_details_too() {
        let mut state = state();
        assert_eq!(
            press(&mut state, &[KeyCode::Enter, KeyCode::Char('?')]),
            Next::GoOn
        );
        assert_eq!(state.mode, Mode::Help);
    }

    #[test]
    fn what_is_typed_into_the_filter_is_no_command() {
        let mut state = state();
        let typed = [KeyCode::Char('/'), KeyCode::Char('q'), KeyCode::Char('1')];
        assert_eq!(press(&mut state, &typed), Next::GoOn);
        assert_eq!((state.filter.as_str(), state.mode), ("q1", Mode::Filter));
        assert!(state.sheet().rows.is_empty());
        let _ = press(&mut state, &[KeyCode::Backspace, KeyCode::Backspace]);
        let _ = press(&mut state, &[KeyCode::Char('C'), KeyCode::Enter]);
        assert_eq!((state.filter.as_str(), state.mode), ("C", Mode::Table));
        // The first Escape clears the filter, the second one ends.
        assert_eq!(press(&mut state, &[KeyCode::Esc]), Next::GoOn);
        assert_eq!(press(&mut state, &[KeyCode::Esc]), Next::End);
    }

    #[test]
    fn a_table_is_sorted_by_its_own_column_and_the_other_way_round() {
        let mut state = state();
        let _ = press(
            &mut state,
            &[KeyCode::Char('s'), KeyCode::Char('s'), KeyCode::Char('r')],
        );
        assert_eq!((state.sorting().column, state.sorting().is_down), (2, true));
        let _ = press(&mut state, &[KeyCode::Char('2')]);
        assert_eq!(
            (state.sorting().column, state.sorting().is_down),
            (0, false)
        );
        let sheet = state.sheet();
        let filled = (0..sheet.columns.len()).filter(|&at| sheet.has_values(at));
        let filled: Vec<usize> = filled.collect();
        assert!(
            filled.len() < sheet.columns.len(),
            "an empty column is passed over"
        );
        for next in filled[1..].iter().chain(&[0]) {
            let _ = press(&mut state, &[KeyCode::Char('s')]);
            assert_eq!(state.sorting().column, *next);
        }
    }

    #[test]
    fn any_key_closes_help_and_details_and_control_c_always_ends() {
        let mut state = state();
        for (open, mode) in [
            (KeyCode::Char('?'), Mode::Help),
            (KeyCode::Enter, Mode::Details),
        ] {
            let _ = press(&mut state, &[open]);
            assert_eq!(state.mode, mode);
            assert_eq!(press(&mut state, &[KeyCode::Char('q')]), Next::GoOn);
            assert_eq!(state.mode, Mode::Table);
        }
        for mode in [Mode::Table, Mode::Filter, Mode::Details, Mode::Help] {
            state.mode = mode;
            let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
            assert_eq!(state.handle_key(key), Next::End, "{mode:?}");
        }
        state.mode = Mode::Table;
        assert_eq!(press(&mut state, &[KeyCode::Char('q')]), Next::End);
    }

    #[test]
    fn of_a_program_that_is_gone_the_last_view_stays() {
        let mut state = state();
        state.handle_look(Err(Error::Refused("gone".to_owned())));
        assert_eq!(state.view, busy_view());
        assert!(state.error.as_deref().unwrap().contains("gone"));
        state.handle_look(Ok(busy_view()));
        assert_eq!(state.error, None);
    }
}
