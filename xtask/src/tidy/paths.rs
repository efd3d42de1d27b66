//! Paths named in code, with the groups of `use` declarations spelled out.

use super::source::is_name;

/// A path as written from its root, and where its last part stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) line_number: usize,
    pub(crate) parts: Vec<String>,
}

impl NamedPath {
    pub(crate) fn part(&self, idx: usize) -> &str {
        self.parts.get(idx).map_or("", String::as_str)
    }
}

/// Every path in `code` that starts with `root`: `use a::{b, c::d}` gives `a::b` and `a::c::d`.
/// Code is text without comments and strings.
pub(crate) fn paths_from(code: &str, root: &str) -> Vec<NamedPath> {
    let mut reader = Reader {
        chars: code.chars().collect(),
        at: 0,
        line_number: 1,
        found: Vec::new(),
    };
    while let Some(c) = reader.peek() {
        if !is_name(c) {
            reader.advance();
            continue;
        }
        let continues = reader.continues_a_path();
        let word = reader.name();
        if word == root && !continues {
            reader.tree(&[word]);
        }
    }
    reader.found.retain(|path| path.parts.len() > 1);
    reader.found
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    line_number: usize,
    found: Vec<NamedPath>,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Whether the next name is a later part of a path, as in `a::std`; `::std` is a first.
    fn continues_a_path(&self) -> bool {
        match &self.chars[..self.at] {
            [.., before, ':', ':'] => is_name(*before) || *before == '>',
            [.., before] => *before == '.',
            [] => false,
        }
    }

    fn advance(&mut self) {
        if self.peek() == Some('\n') {
            self.line_number += 1;
        }
        self.at += 1;
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.advance();
        }
    }

    fn name(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(is_name) {
            self.advance();
        }
        self.chars[start..self.at].iter().collect()
    }

    /// Takes the text if it comes next, blanks aside.
    fn eat(&mut self, text: &str) -> bool {
        self.skip_blank();
        let len = text.chars().count();
        let next = self.chars[self.at..].iter().take(len);
        let matches = next.copied().eq(text.chars());
        if matches {
            self.at += len;
        }
        matches
    }

    /// What follows a path so far: `::name…`, `::{…}`, `::*` or nothing.
    fn tree(&mut self, prefix: &[String]) {
        let line_number = self.line_number;
        let rewind = (self.at, self.line_number);
        if !self.eat("::") {
            (self.at, self.line_number) = rewind;
            self.push(prefix, line_number);
            return;
        }
        if self.eat("{") {
            while !self.eat("}") && self.peek().is_some() {
                self.branch(prefix);
            }
        } else {
            self.branch(prefix);
        }
    }

    /// One name, star or nested group under a prefix, and the comma after it.
    fn branch(&mut self, prefix: &[String]) {
        self.skip_blank();
        let line_number = self.line_number;
        let name = self.name();
        if name == "self" {
            self.push(prefix, line_number);
        } else if !name.is_empty() {
            self.tree(&[prefix, &[name]].concat());
        } else if self.eat("*") {
            self.push(&[prefix, &["*".to_owned()]].concat(), line_number);
        } else {
            // `Vec::<u8>`: what follows is no part of the path.
            self.push(prefix, line_number);
            self.advance();
        }
        if self.eat_rename() {
            self.name();
        }
        let rewind = (self.at, self.line_number);
        if !self.eat(",") {
            (self.at, self.line_number) = rewind;
        }
    }

    fn eat_rename(&mut self) -> bool {
        let rewind = (self.at, self.line_number);
        let renamed = self.eat("as ");
        if renamed {
            self.skip_blank();
        } else {
            (self.at, self.line_number) = rewind;
        }
        renamed
    }

    fn push(&mut self, parts: &[String], line_number: usize) {
        self.found.push(NamedPath {
            line_number,
            parts: parts.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: &str, root: &str) -> Vec<String> {
        let paths = paths_from(code, root);
        let text = |path: &NamedPath| format!("{}:{}", path.line_number, path.parts.join("::"));
        paths.iter().map(text).collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        let code = "use std::{\n  io::{self, Read as R},\n  sync::Arc,\n};\nuse std::fmt::*;";
        assert_eq!(
            named(code, "std"),
            [
                "2:std::io",
                "2:std::io::Read",
                "3:std::sync::Arc",
                "5:std::fmt::*"
            ]
        );
    }

    #[test]
    fn paths_in_expressions_and_macros_count() {
        assert_eq!(
            named(
                "f(crate::a::B::<u8>::new(), $crate::c!(), &::std::d)",
                "crate"
            ),
            ["1:crate::a::B", "1:crate::c"]
        );
        assert_eq!(
            named("pub(in crate::a) x: crate :: b", "crate"),
            ["1:crate::a", "1:crate::b"]
        );
    }

    #[test]
    fn other_roots_and_bare_words_do_not_count() {
        assert!(named("pub(crate) fn f() { mystd::x(); a::std::y; std }", "std").is_empty());
        assert!(named("pub(crate) use x;", "crate").is_empty());
    }

    #[test]
    fn a_list_after_a_path_is_not_a_group() {
        assert_eq!(
            named("f(std::a::b, std::c)", "std"),
            ["1:std::a::b", "1:std::c"]
        );
    }

    #[test]
    fn a_leading_colon_pair_is_a_root_too() {
        assert_eq!(named("use ::std::thread;", "std"), ["1:std::thread"]);
    }
}
