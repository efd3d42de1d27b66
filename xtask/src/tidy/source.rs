//! Rust text split into code and comments, line by line; strings are neither.
//!
//! Not a parser: rules look for words, and the point is that they do not find them in the
//! wrong place, this file's own strings included. Test-only items are marked. Block comments are not known.

use std::sync::LazyLock;

use regex::Regex;

/// One line; code and comment keep their columns, what is not theirs is spaces.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) code: String,
    pub(crate) comment: String,
    /// Whether it is compiled for tests only.
    pub(crate) is_test: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Source {
    lines: Vec<Line>,
}

impl Source {
    pub(crate) fn parse(text: &str) -> Self {
        let (code, comment) = split(text);
        let tested = tested(&code);
        let pairs = code.lines().zip(comment.lines()).enumerate();
        let lines = pairs.map(|(idx, (code, comment))| Line {
            number: idx + 1,
            code: code.to_owned(),
            comment: comment.to_owned(),
            is_test: tested.get(idx).copied().unwrap_or(false),
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// A file that is compiled for tests only.
    pub(crate) fn parse_as_test(text: &str) -> Self {
        let mut source = Self::parse(text);
        for line in &mut source.lines {
            line.is_test = true;
        }
        source
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn shipped(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.is_test)
    }

    /// The shipped code as one text with its line breaks, test code left blank.
    pub(crate) fn shipped_code(&self) -> String {
        let code = |line: &Line| match line.is_test {
            false => line.code.clone() + "\n",
            true => "\n".to_owned(),
        };
        self.lines.iter().map(code).collect()
    }
}

/// A pattern of ours, once it is asked for.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("it is well formed")
}

/// The code and the comments of a text, each with the layout of the whole.
fn split(text: &str) -> (String, String) {
    let blank = |text: &str| text.replace(|c| c != '\n', " ");
    let (mut code, mut comments, mut end) = (String::new(), String::new(), 0);
    for piece in NO_CODE.find_iter(text) {
        let before = &text[end..piece.start()];
        code += before;
        comments += &blank(before);
        code += &blank(piece.as_str());
        match piece.as_str().starts_with("//") {
            true => comments += piece.as_str(),
            false => comments += &blank(piece.as_str()),
        }
        end = piece.end();
    }
    let rest = &text[end..];
    (code + rest, comments + &blank(rest))
}

/// Comments to the end of a line, strings, raw strings with up to two marks, and characters, which are no lifetimes.
static NO_CODE: LazyLock<Regex> = LazyLock::new(|| {
    let pieces = [
        r"//[^\n]*",
        r###"r##".*?"##"###,
        r##"r#".*?"#"##,
        r#"r"[^"]*""#,
        r#""(?:\\.|[^"\\])*""#,
        r"'(?:\\[^\n]+?|[^\\'\n])'",
    ];
    pattern(&format!("(?s){}", pieces.join("|")))
});

/// Line by line, whether it belongs to an item under `#[cfg(test)]` or `#[cfg(all(test, …))]`. Goes by the layout that rustfmt
/// gives: an item ends with the first line at its own depth that ends in a brace, `;` or `,`.
fn tested(code: &str) -> Vec<bool> {
    let mut tested = Vec::new();
    let mut depth_of_item = None;
    for line in code.lines() {
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if depth_of_item.is_none() && TEST.is_match(text) {
            depth_of_item = Some(depth);
        }
        tested.push(depth_of_item.is_some());
        let is_end = !text.starts_with("#[") && text.ends_with(['}', ';', ',']);
        if is_end && depth_of_item == Some(depth) {
            depth_of_item = None;
        }
    }
    tested
}

static TEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^#\[cfg\((test\)|all\(([^()]*, )?test\b)"));

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        split(text).0
    }

    fn is_test(text: &str, word: &str) -> bool {
        let source = Source::parse(text);
        let mut lines = source.lines().iter();
        lines.find(|line| line.code.contains(word)).unwrap().is_test
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        for text in [
            "// hit",
            "\"hit\"",
            r#""\"hit""#,
            "r#\"say \"hit\"\"#",
            "br\"hit\\\"",
            "/// hit",
            "b\"hit\"",
        ] {
            assert!(!code(text).contains("hit"), "{text}");
        }
    }

    #[test]
    fn code_after_a_literal_is_code() {
        for text in [
            "'\"'; hit",
            "'\\''; hit",
            "&'a str; hit",
            "\"// \\\\\"; hit",
            "r\"\\\"; hit",
            "r#type; hit",
            "'{'; hit",
            "// x\nhit",
        ] {
            assert!(code(text).contains("hit"), "{text}");
        }
    }

    #[test]
    fn comments_are_kept_beside_the_code() {
        let source = Source::parse("let url = \"http://x\"; // why\n");
        let line = &source.lines()[0];
        assert_eq!(line.comment.trim(), "// why");
        assert!(line.code.starts_with("let url ="));
    }

    #[test]
    fn items_under_cfg_test_are_test_code() {
        for text in [
            "#[cfg(test)]\nmod tests {\n    fn x() { hit }\n}\nafter",
            "#[cfg(all(test, loom))]\nmod tests { hit }\nafter",
            "#[cfg(test)]\n#[derive(Debug)]\nstruct A<T, U> { hit: T }\nafter",
            "#[cfg(test)]\nuse a::{b, hit};\nafter",
            "#[cfg(test)]\nuse a::{\n    b, hit,\n};\nafter",
            "#[cfg(test)]\nfn f<A, B>(\n    x: [u8; 4],\n) -> B {\n    hit\n}\nafter",
            "struct S {\n    #[cfg(test)]\n    hit: u8,\n    after: u8,\n}",
        ] {
            assert!(is_test(text, "hit"), "{text}");
            assert!(!is_test(text, "after"), "{text}");
        }
    }

    #[test]
    fn other_conditions_are_shipped() {
        for condition in "not(test)/loom/any(test, loom)/not(all(test, loom))".split('/') {
            let text = format!("#[cfg({condition})]\nmod a {{ hit }}\n");
            assert!(!is_test(&text, "hit"), "{condition}");
        }
    }
}
