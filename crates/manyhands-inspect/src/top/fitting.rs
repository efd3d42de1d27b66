//! What fits into a line of the terminal: which columns, how wide, and texts that are too long for theirs.
//!
//! A number is shown whole or not at all: a part of it would be another number. A text that is cut says so by `…`.

use crate::top::sheet::{Cell, Sheet, Shown};
use std::collections::VecDeque;

/// The columns of a sheet that fit beside each other, each with its place in the sheet and its width.
///
/// They are taken by importance, each if there is still room: all of its numbers, and of texts the shortest that says
/// something. What room is left the texts share. A column in which no row has anything is left out.
pub(super) fn columns(sheet: &Sheet, room: usize) -> Vec<(usize, usize)> {
    let wanted = sheet.widths();
    let mut left = room + GAP;
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for &at in sheet.order.iter().filter(|at| sheet.has_values(**at)) {
        let first_needs = if taken.is_empty() { room } else { usize::MAX };
        let needed = match sheet.has_numbers(at) {
            true => wanted[at],
            false => wanted[at].min(TEXT_CHARS_MIN),
        };
        let needed = needed.min(first_needs);
        if needed + GAP <= left {
            left -= needed + GAP;
            taken.push((at, needed));
        }
    }
    // The shortest first, so that none is cut while a longer one has more.
    taken.sort_by_key(|(at, _)| wanted[*at]);
    let mut others = taken.len();
    for (at, width) in &mut taken {
        let more = wanted[*at].saturating_sub(*width).min(left / others);
        *width += more;
        left -= more;
        others -= 1;
    }
    taken.sort_unstable();
    taken
}

/// The text of a cell in a column of this width.
pub(super) fn cut(cell: &Cell, text: &str, width: usize) -> String {
    match cell.shown {
        Shown::Number(_) if text.chars().count() > width => MARK.repeat(width.min(1)),
        Shown::Number(_) => text.to_owned(),
        Shown::Path => cut_left(text, width),
        Shown::Text => cut_middle(text, width),
        Shown::Sentence => cut_right(text, width),
    }
}

/// The end of a text, which is where a path has its file and line.
fn cut_left(text: &str, width: usize) -> String {
    shorten(text, width, usize::MAX)
}

/// The beginning of a text.
pub(super) fn cut_right(text: &str, width: usize) -> String {
    shorten(text, width, 0)
}

/// The beginning of a text and its end, with the whole last word if that fits: it tells apart what begins alike.
fn cut_middle(text: &str, width: usize) -> String {
    let last_word = text.chars().rev().take_while(|c| !c.is_whitespace());
    shorten(text, width, last_word.count().max(width / 2))
}

/// A text that is too long has a mark in place of its middle; behind that are at most this number of characters.
fn shorten(text: &str, width: usize, end_chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let end_chars = end_chars_max.min(room);
    let mut start: Vec<char> = text.chars().take(room - end_chars).collect();
    let mut end: VecDeque<char> = text.chars().skip(count - end_chars).collect();
    // Not a part of a number.
    if text.chars().nth(start.len()).is_some_and(is_of_number) {
        while start.pop_if(|c| is_of_number(*c)).is_some() {}
    }
    let before = text.chars().nth((count - end_chars).wrapping_sub(1));
    if before.is_some_and(is_of_number) {
        while end.pop_front_if(|c| is_of_number(*c)).is_some() {}
    }
    let cut = start.into_iter().chain(MARK.chars()).chain(end);
    cut.take(width).collect()
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// Parts of a line, as many of the first ones as fit.
pub(super) fn parts(parts: &[String], mut room: usize) -> String {
    let mut fits = |part: &&String| match room.checked_sub(part.chars().count()) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let fitting = parts.iter().take_while(|part| fits(part));
    fitting.map(String::as_str).collect()
}

const MARK: &str = "…";
/// Between two columns.
pub(super) const GAP: usize = 2;
const TEXT_CHARS_MIN: usize = 16;

#[cfg(test)]
mod tests {
    use super::{columns, cut_left, cut_middle, cut_right, parts};
    use crate::top::sheet::{Cell, Row, Sheet};

    #[test]
    fn a_text_that_is_cut_says_so_and_has_no_part_of_a_number() {
        for (text, width, left, right) in [
            ("src/a.rs:31", 11, "src/a.rs:31", "src/a.rs:31"),
            ("src/a.rs:31", 10, "…c/a.rs:31", "src/a.rs:…"),
            ("src/a.rs:31", 3, "…31", "sr…"),
            ("src/a.rs:31", 2, "…", "s…"),
            ("src/a.rs:31", 1, "…", "…"),
            ("src/a.rs:31", 0, "", ""),
            ("12345 items", 4, "…ems", "…"),
            ("for 20.5 ms", 8, "…20.5 ms", "for …"),
            ("for 20.5 ms", 7, "… ms", "for …"),
            ("äöüß", 3, "…üß", "äö…"),
        ] {
            assert_eq!(cut_left(text, width), left, "{text} {width}");
            assert_eq!(cut_right(text, width), right, "{text} {width}");
        }
    }

    #[test]
    fn what_tells_names_apart_stays_at_their_ends() {
        for (text, width, cut) in [
            ("completion 7f01ab34", 19, "completion 7f01ab34"),
            ("completion 7f01ab34", 16, "complet…7f01ab34"),
            ("completion 7f01ab34", 9, "…7f01ab34"),
            ("completion 7f01ab34", 6, "…ab34"),
            ("completion 12345678", 16, "complet…12345678"),
            ("completion 12345678", 5, "…"),
            ("customer of street 7", 12, "custo…reet 7"),
            ("customer 4711 of street 7", 20, "customer …f street 7"),
            ("serve › fetch › log", 9, "serv… log"),
            ("äöüß", 3, "…üß"),
            ("äöüß", 1, "…"),
            ("äöüß", 0, ""),
        ] {
            assert_eq!(cut_middle(text, width), cut, "{text} {width}");
        }
    }

    #[test]
    fn a_column_without_values_leaves_its_room_to_the_others() {
        let row = |name: &str| Row {
            cells: vec![Cell::from(1_usize), "".into(), name.into()],
            is_alarm: false,
        };
        let sheet = Sheet {
            columns: vec!["task", "priority", "in"],
            order: &[0, 1, 2],
            rows: vec![row(&"serve › ".repeat(8)), row("")],
        };
        assert_eq!(columns(&sheet, 200), [(0, 6), (2, 64)]);
        assert_eq!(columns(&sheet, 40), [(0, 6), (2, 32)]);
    }

    #[test]
    fn no_text_is_cut_while_a_longer_one_has_more_room() {
        let sheet = Sheet {
            columns: vec!["at", "in", "name"],
            order: &[0, 1, 2],
            rows: vec![Row {
                cells: vec![
                    "a".repeat(90).into(),
                    "i".repeat(18).into(),
                    "n".repeat(40).into(),
                ],
                is_alarm: false,
            }],
        };
        let widths = |room| columns(&sheet, room).into_iter().map(|(_, width)| width);
        assert!(widths(90).eq([34, 18, 34]));
        assert!(widths(120).eq([58, 18, 40]));
        assert!(widths(300).eq([90, 18, 40]));
    }

    #[test]
    fn parts_are_whole_or_not_there() {
        let three = ["12 tasks", " · 345 loops", " · 6 channels"].map(str::to_owned);
        assert_eq!(parts(&three, 80), "12 tasks · 345 loops · 6 channels");
        assert_eq!(parts(&three, 20), "12 tasks · 345 loops");
        assert_eq!(parts(&three, 19), "12 tasks");
        assert_eq!(parts(&three, 7), "");
    }
}
