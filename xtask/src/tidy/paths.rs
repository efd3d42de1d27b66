//! Paths named in code, with the groups of `use` declarations spelled out.

use super::source::{find_word, is_name};

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
    let mut found = Vec::new();
    let (mut line_number, mut counted) = (1, 0);
    for at in find_word(code, root) {
        line_number += code[counted..at].matches('\n').count();
        counted = at;
        if !continues_a_path(&code[..at]) {
            let mut reader = Reader {
                code: &code[at..],
                at: root.len(),
                line_number,
                found: &mut found,
            };
            reader.tree(&[root.to_owned()]);
        }
    }
    found.retain(|path: &NamedPath| path.parts.len() > 1);
    found
}

/// Whether the next name is a later part of a path, as in `a::std`; `::std` is a first.
fn continues_a_path(before: &str) -> bool {
    match before.strip_suffix("::") {
        Some(first) => first.ends_with(|c| is_name(c) || c == '>'),
        None => before.ends_with('.'),
    }
}

struct Reader<'code> {
    code: &'code str,
    at: usize,
    line_number: usize,
    found: &'code mut Vec<NamedPath>,
}

impl<'code> Reader<'code> {
    /// The next name, pair of colons, or mark; "" at the end.
    fn next(&mut self) -> &'code str {
        let rest = &self.code[self.at..];
        let token = rest.trim_start();
        let blank = &rest[..rest.len() - token.len()];
        let name = token.find(|c| !is_name(c)).unwrap_or(token.len());
        let mark = token.chars().next().map_or(0, char::len_utf8);
        let mark = if token.starts_with("::") { 2 } else { mark };
        let token = &token[..name.max(mark)];
        self.line_number += blank.matches('\n').count();
        self.at += blank.len() + token.len();
        token
    }

    fn eat(&mut self, text: &str) -> bool {
        let place = (self.at, self.line_number);
        let is_next = self.next() == text;
        if !is_next {
            (self.at, self.line_number) = place;
        }
        is_next
    }

    /// What follows a path so far: `::name…`, `::{…}`, `::*` or nothing.
    fn tree(&mut self, prefix: &[String]) {
        if !self.eat("::") {
            self.push(prefix);
        } else if self.eat("{") {
            while !self.eat("}") && !self.eat("") {
                self.branch(prefix);
            }
        } else {
            self.branch(prefix);
        }
    }

    /// One name, star or nested group under a prefix, and the comma after it.
    fn branch(&mut self, prefix: &[String]) {
        match self.next() {
            "*" => self.push(&[prefix, &["*".to_owned()]].concat()),
            name if name != "self" && name.starts_with(is_name) => {
                self.tree(&[prefix, &[name.to_owned()]].concat());
            }
            // `Vec::<u8>`: what follows is no part of the path.
            _ => self.push(prefix),
        }
        if self.eat("as") {
            self.next();
        }
        self.eat(",");
    }

    fn push(&mut self, parts: &[String]) {
        self.found.push(NamedPath {
            line_number: self.line_number,
            parts: parts.to_vec(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(code: &str, root: &str) -> String {
        let paths = paths_from(code, root);
        let text = |path: &NamedPath| format!("{}:{}", path.line_number, path.parts.join("::"));
        paths.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_are_spelled_out() {
        let code = "use std::{\n  io::{self, Read as R},\n  sync::Arc,\n};\nuse std::fmt::*;";
        assert_eq!(
            named(code, "std"),
            "2:std::io 2:std::io::Read 3:std::sync::Arc 5:std::fmt::*"
        );
    }

    #[test]
    fn paths_in_expressions_and_macros_count() {
        let code = "f(crate::a::B::<u8>::new(), $crate::c!(), &::std::d)";
        assert_eq!(named(code, "crate"), "1:crate::a::B 1:crate::c");
        let code = "pub(in crate::a) x: crate :: b";
        assert_eq!(named(code, "crate"), "1:crate::a 1:crate::b");
    }

    #[test]
    fn other_roots_and_bare_words_do_not_count() {
        assert!(named("pub(crate) fn f() { mystd::x(); a::std::y; std }", "std").is_empty());
        assert!(named("pub(crate) use x;", "crate").is_empty());
    }

    #[test]
    fn a_list_after_a_path_is_not_a_group() {
        let found = named("f(std::a::b, std::c)", "std");
        assert_eq!(found, "1:std::a::b 1:std::c");
    }

    #[test]
    fn a_leading_colon_pair_is_a_root_too() {
        assert_eq!(named("use ::std::thread;", "std"), "1:std::thread");
    }
}
