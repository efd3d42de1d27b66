//! A table as data, and its two plain forms. What is in a table is decided once, here it only
//! gets its lines.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

/// Columns and rows of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) align: Align,
}

/// Where the texts of a column begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

impl Column {
    /// A column of words.
    pub(super) fn words(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            align: Align::Left,
        }
    }

    /// A column of numbers.
    pub(super) fn numbers(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            align: Align::Right,
        }
    }

    /// Whether it holds numbers.
    pub(super) fn is_numeric(&self) -> bool {
        self.align == Align::Right
    }
}

impl Grid {
    /// A table without rows.
    pub(super) fn new(columns: Vec<Column>) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// The table without the columns that are empty in every row.
    pub(super) fn without_empty_columns(mut self) -> Self {
        let is_empty = |index: usize| self.rows.iter().all(|row| row[index].is_empty());
        let kept: Vec<bool> = (0..self.columns.len()).map(|one| !is_empty(one)).collect();
        let mut keep = kept.iter();
        self.columns.retain(|_| keep.next() == Some(&true));
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.retain(|_| keep.next() == Some(&true));
        }
        self
    }

    /// For a terminal: aligned, at most [`WIDTH`] columns wide; words are broken if they must be.
    pub(super) fn terminal(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH);
        let cells = |texts: Vec<&String>| {
            let cell = |(column, text): (&Column, &String)| {
                let alignment = match column.align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                };
                Cell::new(text).set_alignment(alignment)
            };
            let columns = self.columns.iter();
            columns.zip(texts).map(cell).collect::<Vec<_>>()
        };
        let constraints = self.columns.iter().map(|column| match column.align {
            Align::Left => ColumnConstraint::LowerBoundary(Width::Fixed(WORD)),
            Align::Right => ColumnConstraint::ContentWidth,
        });
        table.set_header(cells(self.columns.iter().map(|one| &one.title).collect()));
        for row in &self.rows {
            table.add_row(cells(row.iter().collect()));
        }
        table.set_constraints(constraints);
        for column in table.column_iter_mut() {
            column.set_padding((0, 1));
        }
        table.trim_fmt()
    }

    /// As a Markdown table.
    pub(super) fn markdown(&self) -> String {
        let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let titles = self.columns.iter().map(|one| escaped(&one.title));
        let rules = self.columns.iter().map(|one| match one.align {
            Align::Left => "---".to_owned(),
            Align::Right => "---:".to_owned(),
        });
        let mut text = line(titles.collect()) + &line(rules.collect());
        for row in &self.rows {
            text += &line(row.iter().map(|cell| escaped(cell)).collect());
        }
        text
    }
}

/// A Markdown table whose first column is text and whose others are numbers.
#[must_use]
pub fn markdown_table(header: &[String], rows: Vec<Vec<String>>) -> String {
    let column = |(place, title): (usize, &String)| match place {
        0 => Column::words(title),
        _ => Column::numbers(title),
    };
    let columns = header.iter().enumerate().map(column).collect();
    Grid { columns, rows }.markdown()
}

/// Text that Markdown shows as it is, also within a table.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\n' | '\r' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Columns of a terminal all text fits in.
pub(super) const WIDTH: u16 = 100;

/// A column of words is never narrower than this.
const WORD: u16 = 6;
/// Lines around the header and at the end only: rows are short enough to follow.
const STYLE: TableStyle = TableStyle::new()
    .top_border(RULE)
    .header_separator(RULE)
    .bottom_border(RULE);
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![
            Column::words("arm"),
            Column::numbers("q"),
            Column::numbers("n"),
        ]);
        for (arm, n) in [("a|b", "1"), ("c_d", "1,000")] {
            grid.rows
                .push(vec![arm.to_owned(), String::new(), n.to_owned()]);
        }
        grid
    }

    #[test]
    fn markdown_is_aligned_and_escaped() {
        assert_eq!(
            grid().without_empty_columns().markdown(),
            "| arm | n |\n| --- | ---: |\n| a\\|b | 1 |\n| c\\_d | 1,000 |\n"
        );
    }

    #[test]
    fn a_terminal_table_is_never_wider_than_the_terminal() {
        let mut grid = grid();
        grid.rows[0][0] = "a very long name ".repeat(20);
        let text = grid.terminal();
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= usize::from(WIDTH))
        );
    }
}
