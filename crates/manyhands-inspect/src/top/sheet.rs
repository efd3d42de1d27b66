//! A table that can be sorted and filtered: the cells as they are shown, and by what they are ordered.
//!
//! Not here: what the tables are of (`sheets.rs`), and how they are drawn (`screen.rs`).

use std::cmp::Ordering;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sheet {
    pub(super) columns: Vec<&'static str>,
    /// The places of the columns, by importance: where there is no room for all, the last ones are missing.
    pub(super) order: &'static [usize],
    pub(super) rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// It belongs to a deadlock.
    pub(super) is_alarm: bool,
}

/// What a cell shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) shown: Shown,
}

/// How a cell is shown, and ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Whole, and ordered by this.
    Number(u64),
    /// Where it is too long, its end.
    Path,
    /// Where it is too long, its beginning and its end.
    Text,
    /// Where it is too long, its beginning.
    Sentence,
}

/// By which column a table is ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sorting {
    pub(super) column: usize,
    pub(super) is_down: bool,
}

impl Cell {
    /// A text that is ordered by this number.
    pub(super) fn ordered_by(number: u64, text: String) -> Self {
        Self {
            text,
            shown: Shown::Number(number),
        }
    }

    /// A place in the source.
    pub(super) fn path(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            shown: Shown::Path,
        }
    }

    pub(super) fn sentence(text: String) -> Self {
        Self {
            text,
            shown: Shown::Sentence,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.shown, Shown::Number(_))
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::ordered_by(number, number.to_string())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            shown: Shown::Text,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Sheet {
    /// The rows in which a cell contains the text, whether its letters are large or small, in order.
    pub(super) fn arrange(mut self, filter: &str, sorting: Sorting) -> Self {
        let wanted = filter.to_lowercase();
        self.rows.retain(|row| {
            wanted.is_empty()
                || row
                    .cells
                    .iter()
                    .any(|cell| cell.text.to_lowercase().contains(&wanted))
        });
        self.rows.sort_by(|one, other| {
            let order = compare(
                one.cells.get(sorting.column),
                other.cells.get(sorting.column),
            );
            match sorting.is_down {
                true => order.reverse(),
                false => order,
            }
        });
        self
    }

    /// Whether a cell of the column is a number.
    pub(super) fn has_numbers(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(Cell::is_number)
    }

    /// Whether a cell of the column is not empty.
    pub(super) fn has_values(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.any(|cell| !cell.text.is_empty())
    }

    /// How wide each column is in characters, its heading with a mark included.
    pub(super) fn widths(&self) -> Vec<usize> {
        let width = |(at, name): (usize, &&str)| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(at));
            let longest = cells.map(|cell| cell.text.chars().count()).max();
            longest.unwrap_or(0).max(name.chars().count() + 2)
        };
        self.columns.iter().enumerate().map(width).collect()
    }
}

fn compare(one: Option<&Cell>, other: Option<&Cell>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else {
        return one.is_some().cmp(&other.is_some());
    };
    match (one.shown, other.shown) {
        (Shown::Number(one), Shown::Number(other)) => one.cmp(&other),
        _ => one.text.cmp(&other.text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Row, Sheet, Sorting};

    fn sheet() -> Sheet {
        let row = |name: &str, size: u64| Row {
            cells: vec![name.into(), Cell::ordered_by(size, format!("{size} B"))],
            is_alarm: false,
        };
        Sheet {
            columns: vec!["name", "size"],
            order: &[0, 1],
            rows: vec![row("Bert", 9), row("anna", 10), row("Carl", 100)],
        }
    }

    fn names(sheet: &Sheet) -> Vec<&str> {
        let rows = sheet.rows.iter();
        rows.map(|row| row.cells[0].text.as_str()).collect()
    }

    #[test]
    fn numbers_are_ordered_as_numbers_and_texts_as_texts() {
        let sorted = |column, is_down| {
            let sorting = Sorting { column, is_down };
            sheet().arrange("", sorting)
        };
        assert_eq!(names(&sorted(1, false)), ["Bert", "anna", "Carl"]);
        assert_eq!(names(&sorted(1, true)), ["Carl", "anna", "Bert"]);
        assert_eq!(names(&sorted(0, false)), ["Bert", "Carl", "anna"]);
        // A column that is not there changes nothing.
        assert_eq!(names(&sorted(7, true)), ["Bert", "anna", "Carl"]);
    }

    #[test]
    fn a_filter_looks_into_every_cell_and_does_not_mind_capitals() {
        let found = |filter| sheet().arrange(filter, Sorting::default()).rows.len();
        let cases = [
            ("", 3),
            ("A", 2),
            ("anna", 1),
            ("10", 2),
            ("b", 3),
            ("x", 0),
        ];
        for (filter, expected) in cases {
            assert_eq!(found(filter), expected, "{filter}");
        }
    }

    #[test]
    fn a_column_is_as_wide_as_its_longest_cell_or_its_heading() {
        assert_eq!(sheet().widths(), [6, 6]);
        let mut wide = sheet();
        wide.rows[0].cells[0] = "ä".repeat(20).as_str().into();
        assert_eq!(wide.widths(), [20, 6]);
    }
}
