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
    let circles = ROOTS.iter().flat_map(|root| {
        let circles = circles(&imports(tree, root)).into_iter();
        circles.map(|circle| (root.len(), circle))
    });
    let large = circles.filter(|(_, circle)| circle.len() > CIRCLE_MAX);
    large
        .map(|(root_len, circle)| {
            let names: Vec<&str> = circle.iter().map(|path| &path[root_len..]).collect();
            let (count, names) = (names.len(), names.join(", "));
            let message = format!("{count} files import each other in a circle: {names}");
            Finding::in_file(circle[0], message)
        })
        .collect()
}

type Edges<'tree> = BTreeMap<&'tree str, BTreeSet<&'tree str>>;

/// Which files of the same layer each file of a crate names.
fn imports<'tree>(tree: &'tree Tree, root: &str) -> Edges<'tree> {
    let mut places = Places::default();
    let mut named = Vec::new();
    for (path, source) in tree.sources() {
        let Some(inside) = path.strip_prefix(root) else {
            continue;
        };
        if EXEMPT.contains(&library_module(path).unwrap_or_default()) {
            continue;
        }
        let code = source.shipped_code();
        let inside = inside.trim_end_matches(".rs");
        let parts = inside.split('/');
        let last = parts.clone().next_back();
        let module: Vec<&str> = parts.filter(|part| !LISTS.contains(part)).collect();
        places.files.insert(module.join("::"), path);
        match last.filter(|name| LISTS.contains(name)) {
            // It lists what is there; that is no import.
            Some(_) => places.add_names(&module, &code),
            None => named.push((path, paths_from(&code, "crate"))),
        }
    }
    let edges = named.into_iter().map(|(path, named)| {
        let files = named
            .iter()
            .filter_map(|named| places.file_of(&named.parts[1..]));
        let same_layer =
            files.filter(|file| *file != path && library_module(file) == library_module(path));
        (path, same_layer.collect())
    });
    edges.collect()
}

/// What a module with further ones is called.
const LISTS: &[&str] = &["mod", "lib"];

/// Where modules and names are, by their paths from the crate's root.
#[derive(Default)]
struct Places<'tree> {
    files: BTreeMap<String, &'tree str>,
    /// Names that a folder's module has from another.
    sources: BTreeMap<String, Vec<String>>,
}

impl<'tree> Places<'tree> {
    fn add_names(&mut self, module: &[&str], code: &str) {
        let children = code.lines().filter_map(|line| {
            let (_, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
            Some(name)
        });
        let module: Vec<String> = module.iter().map(|&part| part.to_owned()).collect();
        for named in children.flat_map(|child| paths_from(code, child)) {
            let name = [&module[..], &named.parts[named.parts.len() - 1..]].concat();
            self.sources
                .insert(name.join("::"), [&module[..], &named.parts].concat());
        }
    }

    /// The file in which a path from the crate's root ends.
    fn file_of(&self, parts: &[String]) -> Option<&'tree str> {
        (0..=parts.len()).rev().find_map(|count| {
            let name = parts[..count].join("::");
            let file = self.files.get(&name).copied();
            file.or_else(|| self.file_of(self.sources.get(&name)?))
        })
    }
}

/// Sets of files that reach each other, in order.
fn circles<'tree>(edges: &Edges<'tree>) -> BTreeSet<Vec<&'tree str>> {
    let reached = |start: &str| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&'tree str> = edges.get(start).into_iter().flatten().copied().collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(edges.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: Edges<'tree> = edges.keys().map(|file| (*file, reached(file))).collect();
    let reaches = |from: &str, to: &str| reached.get(from).is_some_and(|all| all.contains(to));
    let circle = |file: &&'tree str| -> Vec<&'tree str> {
        let others = reached.keys().copied();
        others
            .filter(|other| reaches(file, other) && reaches(other, file))
            .collect()
    };
    reached
        .keys()
        .map(circle)
        .filter(|circle| circle.len() > 1)
        .collect()
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
        let root = "mod a;\nmod b;\nmod c;\npub use c::C;";
        let found = check(&Tree::of(&[
            ("compat/rayon-core/src/lib.rs", root),
            ("compat/rayon-core/src/a.rs", "use crate::b::B;"),
            ("compat/rayon-core/src/b.rs", "use crate::C;"),
            ("compat/rayon-core/src/c.rs", "use crate::a::A;"),
        ]));
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
