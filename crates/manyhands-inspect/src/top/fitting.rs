//! What fits into a line of the terminal: which columns, how wide, and texts that are too long for theirs.
//!
//! A number is shown whole or not at all: a part of it would be another number. A text that is cut says so by `…`.

use crate::top::sheet::{Cell, Sheet, Shown};

/// The columns of a sheet that fit beside each other, each with its place in the sheet and its width.
///
/// They are taken by importance, each if there is still room: all of its numbers, and of texts the shortest that says
/// something. What room is left is given to texts, by importance too.
pub(super) fn columns(sheet: &Sheet, room: usize) -> Vec<(usize, usize)> {
    let wanted = sheet.widths();
    let mut left = room + GAP;
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for &at in sheet.order {
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
    for (at, width) in &mut taken {
        let more = wanted[*at].min(TEXT_CHARS_MAX).saturating_sub(*width);
        let more = more.min(left);
        *width += more;
        left -= more;
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
        Shown::Text => cut_right(text, width),
    }
}

/// The end of a text, which is where a path has its file and line.
fn cut_left(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let kept: Vec<char> = text.chars().skip(count - width.saturating_sub(1)).collect();
    let before = text.chars().nth((count - kept.len()).wrapping_sub(1));
    // Not a part of a number.
    let digits = match before {
        Some(c) if is_of_number(c) => kept.iter().take_while(|c| is_of_number(**c)).count(),
        _ => 0,
    };
    let end = kept.into_iter().skip(digits);
    MARK.chars().chain(end).take(width).collect()
}

/// The beginning of a text.
pub(super) fn cut_right(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().take(width.saturating_sub(1)).collect();
    let next = text.chars().nth(kept.len());
    if next.is_some_and(is_of_number) {
        // Not a part of a number.
        while kept.pop_if(|c| is_of_number(*c)).is_some() {}
    }
    kept.into_iter().chain(MARK.chars()).take(width).collect()
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
const TEXT_CHARS_MAX: usize = 44;

#[cfg(test)]
mod tests {
    use super::{cut_left, cut_right, parts};

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
    fn parts_are_whole_or_not_there() {
        let three = ["12 tasks", " · 345 loops", " · 6 channels"].map(str::to_owned);
        assert_eq!(parts(&three, 80), "12 tasks · 345 loops · 6 channels");
        assert_eq!(parts(&three, 20), "12 tasks · 345 loops");
        assert_eq!(parts(&three, 19), "12 tasks");
        assert_eq!(parts(&three, 7), "");
    }
}
