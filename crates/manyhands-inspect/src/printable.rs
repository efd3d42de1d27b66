//! Text of others, made safe to show: a program that is looked at may send what its library would never send.

use manyhands_wire::is_harmful;

/// A line of JSON whose texts have no harmful characters but line feeds and tabs, written as they are or as escapes. A
/// program escapes names itself, so this changes only what is meant to harm.
pub(crate) fn harmless(line: String) -> String {
    let is_plain = |byte: u8| byte != b'\\' && (0x20..0x7f).contains(&byte);
    if line.bytes().all(is_plain) {
        return line;
    }
    let mut safe = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let rest = chars.as_str();
                let (escape, shown) = escape_in(rest);
                chars = rest[escape..].chars();
                match shown {
                    Some(c) if is_harmful(c) && !matches!(c, '\n' | '\t') => safe.push_str(MARK),
                    _ => {
                        safe.push('\\');
                        safe.push_str(&rest[..escape]);
                    }
                }
            }
            c if is_harmful(c) => safe.push_str(MARK),
            c => safe.push(c),
        }
    }
    safe
}

/// How long the escape is that begins behind a backslash, and for which character it stands, if for one alone.
fn escape_in(rest: &str) -> (usize, Option<char>) {
    match rest.chars().next() {
        Some('u') => {
            let unit = |at: usize| u32::from_str_radix(rest.get(at..at + 4)?, 16).ok();
            match (unit(1), rest.get(5..7), unit(7)) {
                (Some(high @ 0xd800..0xdc00), Some("\\u"), Some(low @ 0xdc00..0xe000)) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (11, char::from_u32(code))
                }
                (Some(unit), ..) => (5, char::from_u32(unit)),
                (None, ..) => (1, None),
            }
        }
        Some('b') => (1, Some('\u{8}')),
        Some('f') => (1, Some('\u{c}')),
        Some('r') => (1, Some('\r')),
        Some(c) => (c.len_utf8(), None),
        None => (0, None),
    }
}

const MARK: &str = "\u{fffd}";

#[cfg(test)]
mod tests {
    use super::{harmless, is_harmful};

    #[test]
    fn no_text_of_a_line_has_harmful_characters_however_they_are_written() {
        for (line, expected) in [
            (r#"{"a":"plain","b":7}"#, r#"{"a":"plain","b":7}"#),
            (
                r#"{"a":"\u{1b} \\u001b \"q\" Zoë"}"#,
                r#"{"a":"\u{1b} \\u001b \"q\" Zoë"}"#,
            ),
            (
                r#"{"a":"one\ntwo\t\ud83d\ude00"}"#,
                r#"{"a":"one\ntwo\t\ud83d\ude00"}"#,
            ),
            (
                r#"{"a":"\u001b[2J\u009B\u202e\b\f\r"}"#,
                "{\"a\":\"\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\"}",
            ),
            (
                "{\"a\":\"\u{9b}2J\u{7f}\u{2066}\"}",
                "{\"a\":\"\u{fffd}2J\u{fffd}\u{fffd}\"}",
            ),
            ("\u{1b}]8;;x\u{7}", "\u{fffd}]8;;x\u{fffd}"),
            (
                "{\"a\":\"zero\u{200b}\u{200d}width\u{ad}\\u2060\u{e0041}\"}",
                "{\"a\":\"zero\u{fffd}\u{fffd}width\u{fffd}\u{fffd}\u{fffd}\"}",
            ),
            (
                r#"{"a":"\udb40\udc41 \ud83d\ude00"}"#,
                "{\"a\":\"\u{fffd} \\ud83d\\ude00\"}",
            ),
            (r"\", r"\"),
            (r"\u1", r"\u1"),
            ("\\uä", "\\uä"),
        ] {
            assert_eq!(harmless(line.to_owned()), expected, "{line:?}");
        }
    }

    #[test]
    fn whatever_comes_what_is_read_is_harmless() {
        // All escapes of one unit, and all characters of the first plane.
        for unit in 0..=u32::from(u16::MAX) {
            let mut lines = vec![format!("\"\\u{unit:04x}\"")];
            lines.extend(char::from_u32(unit).map(|c| format!("\"{c}\"")));
            for line in lines {
                let read: Result<String, _> = serde_json::from_str(&harmless(line.clone()));
                let is_safe = |c: char| !is_harmful(c) || matches!(c, '\n' | '\t');
                assert!(
                    read.is_err() || read.unwrap().chars().all(is_safe),
                    "{line:?}"
                );
            }
        }
    }
}
