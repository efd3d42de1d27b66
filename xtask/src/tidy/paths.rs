//! Paths named in code, with the groups of `use` declarations spelled out.

use std::sync::LazyLock;

use regex::Regex;

use super::source::pattern;

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

/// Names between colons, and behind them a group without groups, a star, or the brace of another group.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(\w+(?:\s*::\s*\w+)*)(?:\s*::\s*(?:\{([^{}]*)\}|([*{])))?"));

/// Every path in `code` that starts with `root`: `use a::{b, c::d}` gives `a::b` and `a::c::d`, and a group with another
/// group in it `a::{`. Code is text without comments and strings.
pub(crate) fn paths_from(code: &str, root: &str) -> Vec<NamedPath> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices(root) {
        let path = PATH.captures(&code[start..]);
        let Some(path) = path.filter(|_| !continues_a_path(&code[..start])) else {
            continue;
        };
        let mut push = |at: usize, more: &str| {
            let text = format!("{}::{more}", &path[1]);
            let line_number = code[..start + at].matches('\n').count() + 1;
            let parts = parts_of(&text);
            found.push(NamedPath { line_number, parts });
        };
        match (path.get(2), path.get(3)) {
            (Some(group), _) => {
                let mut at = group.start();
                for member in group.as_str().split_inclusive(',') {
                    let name = member.trim_end_matches(',').trim();
                    let blank = member.len() - member.trim_start().len();
                    if !name.is_empty() {
                        push(at + blank, name);
                    }
                    at += member.len();
                }
            }
            (None, Some(mark)) => push(mark.start(), mark.as_str()),
            (None, None) => push(path[1].len(), ""),
        }
    }
    found.retain(|path: &NamedPath| path.parts.len() > 1 && path.parts[0] == root);
    found
}

/// Whether what follows is the rest of a name, or a later part of a path, as in `a::std`; `::std` is a first.
fn continues_a_path(before: &str) -> bool {
    let is_name = |letter: char| letter == '_' || letter.is_alphanumeric();
    match before.strip_suffix("::") {
        Some(first) => first.ends_with(|letter| is_name(letter) || letter == '>'),
        None => before.ends_with(|letter| is_name(letter) || letter == '.'),
    }
}

/// Without what a path is called here, and without `self`, which adds nothing.
fn parts_of(path: &str) -> Vec<String> {
    let path = path.split(" as ").next().unwrap_or_default();
    let parts = path.split("::").map(str::trim);
    let named = parts.filter(|part| !part.is_empty() && *part != "self");
    named.map(str::to_owned).collect()
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
        let code = "use std::io::{self, Read as R};\nuse std::{\n  fmt::Display,\n  sync::Arc,\n};\nuse std::fmt::*;\nuse std::{a::{b}};";
        assert_eq!(
            named(code, "std"),
            "1:std::io 1:std::io::Read 3:std::fmt::Display 4:std::sync::Arc 6:std::fmt::* 7:std::{"
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
