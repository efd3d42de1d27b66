//! Texts from outside, made fit for a terminal, a page, a picture and a table.

pub use manyhands_wire::is_harmful;
use std::borrow::Cow;

/// The text with every character that steers instead of showing written as an escape: control
/// characters, those that turn the direction of writing, those that nobody sees, and those that no XML file may hold.
///
/// # Examples
/// ```
/// use manyhands_lab::plain::{cell, plain};
///
/// assert_eq!(plain("red\u{1b}[31m"), "red\\u{1b}[31m");
/// assert_eq!(["=1+1", "-1.5", "a=b"].map(cell), ["'=1+1", "-1.5", "a=b"]);
/// ```
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// The text as a cell of a table: behind an apostrophe if a spreadsheet would take it for a formula. A negative number is none.
///
/// Example: see [`plain`].
#[must_use]
pub fn cell(text: &str) -> Cow<'_, str> {
    let begins_so = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let is_number = text.starts_with('-') && text.parse::<f64>().is_ok_and(f64::is_finite);
    match begins_so && !is_number {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_written_and_all_else_stays() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
        check("größer ÷ 2\u{1f600}", "größer ÷ 2\u{1f600}");
        check("a\x1b[31mb\n\t", r"a\u{1b}[31mb\n\t");
        check("\u{202e}x\u{ffff}\u{9b}", r"\u{202e}x\u{ffff}\u{9b}");
        let unseen = "a\u{200b}b\u{ad}\u{feff}\u{e0041}";
        check(unseen, r"a\u{200b}b\u{ad}\u{feff}\u{e0041}");
    }

    #[test]
    fn only_formulas_are_changed_and_numbers_are_none() {
        for text in [
            "=1", "+1", "+x", "-x", "-1+1", "-inf", "@sum", "\t=1", "\r=1",
        ] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        let others = ["", "a=b", "-1", "-0.5", "-2.5e-7"];
        assert_eq!(others.map(cell), others);
    }
}
