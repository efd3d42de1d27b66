//! A table as data, and its two plain forms. What is in a table is decided once, here it only gets its lines.
//!
//! For a terminal too narrow for the names of arms, letters stand for them, explained below the
//! table. One that is too narrow even so gets a paragraph for each row.

use super::width::Width;
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
    Width as CellWidth,
};
use textwrap::core::display_width;

/// Columns and rows of text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The cells of a row, each with its column.
pub(super) type Row = Vec<(Column, String)>;

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) align: Align,
    names: Names,
}

/// Where a column has names of arms, which letters may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Nowhere,
    InTitle,
    InCells,
}

/// Where the texts of a column begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

impl Column {
    /// A cell of a column of words.
    pub(super) fn words(title: &str, cell: String) -> (Self, String) {
        (Self::new(title, Align::Left, Names::Nowhere), cell)
    }

    /// A cell of a column of names of arms.
    pub(super) fn arms(title: &str, cell: String) -> (Self, String) {
        (Self::new(title, Align::Left, Names::InCells), cell)
    }

    /// A cell of a column of numbers that belong to the arm of this name.
    pub(super) fn baseline(arm: &str, cell: String) -> (Self, String) {
        (Self::new(arm, Align::Right, Names::InTitle), cell)
    }

    /// A cell of a column of numbers.
    pub(super) fn numbers(title: &str, cell: String) -> (Self, String) {
        (Self::new(title, Align::Right, Names::Nowhere), cell)
    }

    fn new(title: &str, align: Align, names: Names) -> Self {
        Self {
            title: title.to_owned(),
            align,
            names,
        }
    }

    /// Whether it holds numbers.
    pub(super) fn is_numeric(&self) -> bool {
        self.align == Align::Right
    }
}

impl Grid {
    /// A table of rows that all have the same columns, each cell beside its column.
    pub(super) fn of(rows: impl IntoIterator<Item = Row>) -> Self {
        let mut grid = Self::default();
        for row in rows {
            let (columns, cells) = row.into_iter().unzip();
            grid.columns = columns;
            grid.rows.push(cells);
        }
        grid
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

    /// For a terminal: aligned, as wide as that at most; words are broken if they must be.
    pub(super) fn terminal(&self, width: Width) -> String {
        if self.widths().into_iter().sum::<usize>() <= width.columns() {
            return self.table(width);
        }
        let (lettered, names) = self.lettered();
        let body = if lettered.narrowest() <= width.columns() {
            lettered.table(width)
        } else {
            lettered.paragraphs(width)
        };
        if names.is_empty() {
            return body;
        }
        let explained: Vec<String> = (0..)
            .zip(&names)
            .map(|(place, name)| format!("{} = {name}", letter(place)))
            .collect();
        let explained = width.hanging(&format!("{}.", explained.join(", ")));
        format!("{body}\n{}", explained.trim_end())
    }

    /// Columns that each column takes, with the space after it.
    fn widths(&self) -> Vec<usize> {
        let widest = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| display_width(&row[index]));
            let widest = cells.chain([display_width(&column.title)]).max();
            widest.unwrap_or_default() + GAP
        };
        self.columns.iter().enumerate().map(widest).collect()
    }

    /// Columns that the table takes when its words are broken as far as they may be.
    fn narrowest(&self) -> usize {
        let narrowest = |(column, width): (&Column, usize)| match column.align {
            Align::Left => width.min(usize::from(WORD) + GAP),
            Align::Right => width,
        };
        let columns = self.columns.iter().zip(self.widths());
        columns.map(narrowest).sum()
    }

    /// The table with letters for the names of arms, and the names in the order of the letters.
    fn lettered(&self) -> (Self, Vec<String>) {
        let mut names: Vec<String> = Vec::new();
        let mut letter_of = |name: &str| {
            let known = names.iter().position(|one| one == name);
            letter(known.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            }))
        };
        let mut lettered = self.clone();
        for column in &mut lettered.columns {
            if column.names == Names::InTitle {
                column.title = letter_of(&column.title);
            }
        }
        for row in &mut lettered.rows {
            for (column, cell) in self.columns.iter().zip(row) {
                if column.names == Names::InCells {
                    *cell = letter_of(cell);
                }
            }
        }
        (lettered, names)
    }

    fn table(&self, width: Width) -> String {
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(width.columns()).unwrap_or(u16::MAX));
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
        let constraint = |(column, width): (&Column, usize)| match column.align {
            Align::Left if width > usize::from(WORD) + GAP => {
                ColumnConstraint::LowerBoundary(CellWidth::Fixed(WORD))
            }
            _ => ColumnConstraint::ContentWidth,
        };
        let columns = self.columns.iter().zip(self.widths());
        let constraints: Vec<ColumnConstraint> = columns.map(constraint).collect();
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

    /// A paragraph for each row, each cell behind the title of its column.
    fn paragraphs(&self, width: Width) -> String {
        let paragraph = |row: &Vec<String>| {
            let cells = self.columns.iter().zip(row);
            let said: Vec<String> = cells
                .filter(|(_, cell)| !cell.is_empty())
                .map(|(column, cell)| format!("{} {cell}", column.title))
                .collect();
            width.hanging(&said.join(", "))
        };
        let text: String = self.rows.iter().map(paragraph).collect();
        text.trim_end().to_owned()
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
        0 => Column::new(title, Align::Left, Names::Nowhere),
        _ => Column::new(title, Align::Right, Names::Nowhere),
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

/// The name of an arm in short: A to Z, then A1 to Z1, and so on.
fn letter(place: usize) -> String {
    let letter = char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place % 26]);
    match place / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// Columns between two columns of a table.
const GAP: usize = 2;
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
        let rows = [("a|b", "1"), ("c_d", "1,000")];
        Grid::of(rows.map(|(arm, n)| {
            vec![
                Column::words("arm", arm.to_owned()),
                Column::numbers("q", String::new()),
                Column::numbers("n", n.to_owned()),
            ]
        }))
    }

    #[test]
    fn markdown_is_aligned_and_escaped() {
        let expected = "| arm | n |\n| --- | ---: |\n| a\\|b | 1 |\n| c\\_d | 1,000 |\n";
        assert_eq!(grid().without_empty_columns().markdown(), expected);
    }

    fn with_long_names() -> Grid {
        let forty = "for_each_async @ 40";
        Grid::of([forty, "for_each_async", forty].map(|arm| {
            vec![
                Column::numbers("n", "1,000".to_owned()),
                Column::baseline("one thread in a loop", "23.0 ms".to_owned()),
                Column::arms("arm", arm.to_owned()),
                Column::words("verdict", "no difference".to_owned()),
            ]
        }))
    }

    #[test]
    fn names_stay_where_they_fit_and_get_letters_where_they_do_not() {
        let wide = with_long_names().terminal(Width::of(100));
        assert!(wide.contains("for_each_async @ 40") && !wide.contains("A ="));
        let narrow = with_long_names().terminal(Width::of(40));
        let explained =
            "A = one thread in a loop, B =\n  for_each_async @ 40, C =\n  for_each_async.";
        assert!(narrow.ends_with(explained), "{narrow}");
        let rows: Vec<&str> = narrow.lines().filter(|line| line.contains("ms")).collect();
        assert_eq!(rows.len(), 3);
        let places = [" B ", " C ", " B "];
        assert!(
            rows.iter()
                .zip(places)
                .all(|(row, place)| row.contains(place))
        );
    }

    #[test]
    fn a_table_that_fits_no_terminal_becomes_paragraphs() {
        let mut grid = with_long_names();
        for title in ["speed-up (95 %)", "disturbed", "as found"] {
            let column = Column::new(title, Align::Right, Names::Nowhere);
            grid.columns.push(column);
            for row in &mut grid.rows {
                row.push("1.00 (0.90 … 1.10)".to_owned());
            }
        }
        let text = grid.terminal(Width::of(50));
        let part = "n 1,000, A 23.0 ms, arm B, verdict";
        assert!(text.starts_with(part), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 50),
            "{text}"
        );
    }

    #[test]
    fn letters_do_not_run_out() {
        assert_eq!([0, 25, 26, 53].map(letter), ["A", "Z", "A1", "B2"]);
    }

    #[test]
    fn a_terminal_table_is_never_wider_than_the_terminal() {
        let mut grid = grid();
        grid.rows[0][0] = "a very long name ".repeat(20);
        for columns in [40, 100, 200] {
            let text = grid.terminal(Width::of(columns));
            let fits = |line: &str| line.chars().count() <= columns.into();
            assert!(text.lines().all(fits), "{text}");
        }
    }
}
