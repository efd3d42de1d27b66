//! Rule: files of one layer of the library, and of the façade, do not import each other in circles, but for two files of
//! one concept.
//!
//! Looks at `use` declarations and paths in shipped code that start at `crate`; a name that a `mod.rs` or the
//! root re-exports leads to the file it comes from. What reaches another file only through a value's type or `super` is not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::paths::paths_from;
use super::tree::{LIBRARY, Tree, library_module};

/// More files than this must not be in one circle.
const CIRCLE_MAX: usize = 2;

/// What is looked at; the façade is one layer.
const ROOTS: &[&str] = &[LIBRARY, "compat/rayon-core/src/"];
/// What sets the whole going.
const EXEMPT: &[&str] = &["models", "explore"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    ROOTS
        .iter()
        .flat_map(|root| check_below(tree, root))
        .collect()
}

fn check_below(tree: &Tree, root: &str) -> Vec<Finding> {
    let files = Files::of(tree, root);
    let circles = circles(&files.imports());
    circles
        .into_iter()
        .filter(|circle| circle.len() > CIRCLE_MAX)
        .map(|circle| {
            let names: Vec<&str> = circle.iter().map(|path| &path[root.len()..]).collect();
            let message = format!(
                "{} files import each other in a circle: {}",
                names.len(),
                names.join(", ")
            );
            Finding::in_file(circle[0], message)
        })
        .collect()
}

/// The files of a crate by module, with their code.
struct Files<'tree> {
    by_module: BTreeMap<String, &'tree str>,
    code: BTreeMap<&'tree str, String>,
}

impl<'tree> Files<'tree> {
    fn of(tree: &'tree Tree, root: &str) -> Self {
        let mut files = Self {
            by_module: BTreeMap::new(),
            code: BTreeMap::new(),
        };
        for (path, source) in tree.sources() {
            let Some(inside) = path.strip_prefix(root) else {
                continue;
            };
            if EXEMPT.contains(&library_module(path).unwrap_or_default()) {
                continue;
            }
            files.by_module.insert(module(inside), path);
            files.code.insert(path, source.shipped_code());
        }
        files
    }

    /// Which files of the same layer each file names.
    fn imports(&self) -> BTreeMap<&'tree str, BTreeSet<&'tree str>> {
        let of = |(path, code): (&&'tree str, &String)| {
            let named = paths_from(code, "crate");
            let files = named
                .iter()
                .filter_map(|named| self.file_of(&named.parts[1..]));
            let same_layer =
                files.filter(|file| file != path && library_module(file) == library_module(path));
            (*path, same_layer.collect())
        };
        // The root and a `mod.rs` list what is there; that is no import.
        let is_list = |path: &str| path.ends_with("/mod.rs") || path.ends_with("/src/lib.rs");
        self.code
            .iter()
            .filter(|(path, _)| !is_list(path))
            .map(of)
            .collect()
    }

    /// The file in which a path from the crate's root ends.
    fn file_of(&self, parts: &[String]) -> Option<&'tree str> {
        let (module, rest) = (0..=parts.len()).rev().find_map(|count| {
            let module = parts[..count].join("::");
            let rest = parts.get(count);
            self.by_module
                .contains_key(&module)
                .then_some((module, rest))
        })?;
        let path = *self.by_module.get(&module)?;
        rest.and_then(|name| self.source_of(&module, path, name))
            .or(Some(path))
    }

    /// Where a folder's module has a name from, if it re-exports it.
    fn source_of(&self, module: &str, path: &str, name: &str) -> Option<&'tree str> {
        let code = self.code.get(path)?;
        children(code).find_map(|child| {
            let named = paths_from(code, &child);
            let parts = &named
                .iter()
                .find(|named| named.parts.last().is_some_and(|last| last == name))?
                .parts;
            let whole: Vec<String> = module
                .split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .chain(parts.iter().cloned())
                .collect();
            self.file_of(&whole)
        })
    }
}

/// The modules that a file declares.
fn children(code: &str) -> impl Iterator<Item = String> + '_ {
    code.lines().filter_map(|line| {
        let (_, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
        Some(name.to_owned())
    })
}

/// `a::b` for `a/b.rs` and `a/b/mod.rs`; the root has no name.
fn module(inside: &str) -> String {
    if inside == "lib.rs" {
        return String::new();
    }
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    inside
        .strip_suffix("/mod")
        .unwrap_or(inside)
        .replace('/', "::")
}

/// Sets of nodes that reach each other, each with more than one node, in order.
fn circles<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<Vec<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&'a str>> = edges
        .keys()
        .map(|start| (*start, reachable(edges, start)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (node, reaches) in &reached {
        let circle: Vec<&'a str> = reaches
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(node)))
            .collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            circles.push(circle);
        }
    }
    circles
}

/// What can be reached from a node; itself only if it is in a circle.
fn reachable<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&'a str> = edges.get(start).into_iter().flatten().copied().collect();
    while let Some(node) = next.pop() {
        if reached.insert(node) {
            next.extend(edges.get(node).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let findings = check(&Tree::of_library(files));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn three_files_in_a_circle_are_found_and_named() {
        let found = findings(&[
            ("task/mod.rs", "mod a;\nmod b;\nmod c;"),
            ("task/a.rs", "use crate::task::b::B;"),
            ("task/b.rs", "use crate::task::c::C;"),
            ("task/c.rs", "fn f() { crate::task::a::g() }"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].ends_with(
                "3 files import each other in a circle: task/a.rs, task/b.rs, task/c.rs"
            )
        );
    }

    #[test]
    fn a_name_that_a_folder_re_exports_leads_to_its_file() {
        let found = findings(&[
            (
                "task/mod.rs",
                "mod a;\nmod inner;\nmod c;\npub use inner::B;\npub use a::A;",
            ),
            ("task/inner/mod.rs", "mod b;\npub(crate) use b::B;"),
            ("task/a.rs", "use crate::task::B;"),
            ("task/inner/b.rs", "use crate::task::c::C;"),
            ("task/c.rs", "use crate::task::A;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn the_facade_is_one_layer_whose_root_leads_to_files() {
        let root = "compat/rayon-core/src/";
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::C;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::C;"),
            ("c.rs", "use crate::a::A;"),
        ];
        let files = files.map(|(name, text)| (format!("{root}{name}"), text));
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let found = check(&Tree::of(&files));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn two_files_other_layers_and_tests_pass() {
        let found = findings(&[
            ("task/a.rs", "use crate::task::b::B;\nuse crate::sync::C;"),
            (
                "task/b.rs",
                "use crate::task::a::A;\n#[cfg(test)]\nmod tests { use crate::task::c::C; }",
            ),
            ("task/c.rs", "use crate::task::a::A;"),
            ("sync/mod.rs", ""),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
