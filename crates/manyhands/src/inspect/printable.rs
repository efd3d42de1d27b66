//! Names that other people chose, made safe to show.
//!
//! A terminal obeys control characters, and a page with text in two directions can be made to say something else than
//! its letters do.

use std::fmt;

/// Shows `0` with its control and direction characters as escapes, and at most [`CHARS_MAX`] characters of it.
pub(super) struct Printable<'text>(pub(super) &'text str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, c) in self.0.chars().enumerate() {
            if count == CHARS_MAX {
                return f.write_str("…");
            }
            if is_harmful(c) {
                write!(f, "{}", c.escape_unicode())?;
            } else {
                write!(f, "{c}")?;
            }
        }
        Ok(())
    }
}

fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Longer names are cut.
const CHARS_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::{CHARS_MAX, Printable};

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_the_rest_is_kept() {
        for (text, shown) in [
            ("clerk", "clerk"),
            ("Zoë ✓", "Zoë ✓"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\0", "a\\u{a}b\\u{d}\\u{0}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("x\u{202e}y\u{2066}", "x\\u{202e}y\\u{2066}"),
        ] {
            assert_eq!(Printable(text).to_string(), shown, "{text:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut() {
        let long = "x".repeat(CHARS_MAX + 1);
        let shown = Printable(&long).to_string();
        assert_eq!(shown.chars().count(), CHARS_MAX + 1);
        assert!(shown.ends_with('…'));
    }
}
