//! What of a program becomes text in a line. Names that other people chose are made safe to show.
//!
//! A terminal obeys control characters, and a page with text in two directions can be made to say something else than
//! its letters do.

use serde::{Deserialize, Deserializer};
use std::fmt::Debug;
use std::panic::Location;

/// This text with its harmful characters as escapes, and at most 500 characters of it.
///
/// # Examples
/// ```
/// assert_eq!(manyhands_wire::printable("a\x1b[31mb"), "a\\u{1b}[31mb");
/// ```
#[must_use]
pub fn printable(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => escaped(&text[..end]) + "…",
        None => escaped(text),
    }
}

/// This text with its harmful characters as escapes.
///
/// Example: see [`printable`].
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a terminal would obey the character, or a text could say something else with it than its letters do: one that
/// turns the direction of writing, that nobody sees, or that no XML file may hold.
///
/// # Examples
/// ```
/// assert!(manyhands_wire::is_harmful('\u{202e}') && !manyhands_wire::is_harmful('ë'));
/// ```
#[must_use]
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        )
        || matches!(c, '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// A place in the source: file, line and column.
///
/// # Examples
/// ```
/// let here = std::panic::Location::caller();
/// assert!(manyhands_wire::place(here).ends_with(&format!(":{}:{}", here.line(), here.column())));
/// ```
#[must_use]
pub fn place(at: &Location<'_>) -> String {
    printable(&at.to_string())
}

/// The name of a variant as the protocol spells it.
///
/// # Examples
/// ```
/// #[derive(Debug)]
/// enum Kind {
///     ChannelEnd,
/// }
/// assert_eq!(manyhands_wire::word(Kind::ChannelEnd), "channel_end");
/// ```
#[must_use]
pub fn word(value: impl Debug) -> String {
    let name = format!("{value:?}");
    let mut word = String::with_capacity(2 * name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// The name of a type without what the compiler calls closures, and so the futures of async functions: `{{closure}}` says
/// nothing that is not the same for all of them.
pub(crate) fn without_closure<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let mut name = String::deserialize(from)?;
    while let Some(function) = name.strip_suffix("::{{closure}}") {
        name.truncate(function.len());
    }
    Ok(name)
}

/// Longer texts are cut.
const CHARS_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::{CHARS_MAX, printable, without_closure};
    use serde::de::{IntoDeserializer, value::Error};

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_the_rest_is_kept() {
        for (text, shown) in [
            ("clerk", "clerk"),
            ("Zoë ✓", "Zoë ✓"),
            ("a\x1b[31mb", "a\\u{1b}[31mb"),
            ("a\nb\r\0", "a\\u{a}b\\u{d}\\u{0}"),
            ("\u{9b}2J\u{7f}", "\\u{9b}2J\\u{7f}"),
            ("x\u{202e}y\u{2066}", "x\\u{202e}y\\u{2066}"),
            ("\u{fffd}\u{fffe}\u{ffff}", "\u{fffd}\\u{fffe}\\u{ffff}"),
        ] {
            assert_eq!(printable(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_long_name_is_cut() {
        let shown = printable(&"x".repeat(CHARS_MAX + 1));
        assert_eq!(shown.chars().count(), CHARS_MAX + 1);
        assert!(shown.ends_with('…'));
    }

    #[test]
    fn an_async_function_has_its_own_name() {
        for (sent, read) in [
            ("shop::serve::{{closure}}", "shop::serve"),
            ("shop::serve::{{closure}}::{{closure}}", "shop::serve"),
            (
                "shop::Map<shop::f::{{closure}}>",
                "shop::Map<shop::f::{{closure}}>",
            ),
            ("shop::Server", "shop::Server"),
            ("{{closure}}", "{{closure}}"),
        ] {
            let name: Result<String, Error> = without_closure(sent.into_deserializer());
            assert_eq!(name.unwrap(), read);
        }
    }
}
