//! The files of the repository as values: loaded once, or made up by a test.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::source::Source;

/// The folder with the code of the library.
pub(crate) const LIBRARY: &str = "crates/manyhands/src/";

/// Build output and other folders that are not ours.
const SKIPPED: &[&str] = &["target", ".git", "manyhands-tour"];
/// Files whose text some rule reads; of the others only the existence matters.
const READ: &[&str] = &["rs", "md", "toml"];

/// Path (with `/`, relative to the root) to text, and what is code in it, in order of path.
#[derive(Debug, Default)]
pub(crate) struct Tree(BTreeMap<String, (String, Source)>);

impl Tree {
    pub(crate) fn load(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add_folder(root, "")?;
        Ok(tree)
    }

    /// A repository with these files.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add((*path).to_owned(), (*text).to_owned());
        }
        tree
    }

    /// A library with these files.
    #[cfg(test)]
    pub(crate) fn of_library(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (inside, text) in files {
            tree.add(format!("{LIBRARY}{inside}"), (*text).to_owned());
        }
        tree
    }

    /// A repository with nothing but this file of the library.
    #[cfg(test)]
    pub(crate) fn of_library_file(inside: &str, text: &str) -> Self {
        Self::of_library(&[(inside, text)])
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(|(text, _)| text.as_str())
    }

    /// Whether a file or a folder is there.
    pub(crate) fn has(&self, path: &str) -> bool {
        let inside = format!("{}/", path.trim_end_matches('/'));
        self.0.contains_key(path) || self.0.keys().any(|known| known.starts_with(&inside))
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.0.iter();
        files.map(|(path, (text, _))| (path.as_str(), text.as_str()))
    }

    /// The lines of the pages, with their paths and numbers.
    pub(crate) fn page_lines(&self) -> impl Iterator<Item = (&str, usize, &str)> {
        let pages = self.files().filter(|(path, _)| path.ends_with(".md"));
        pages.flat_map(|(path, text)| {
            (1..)
                .zip(text.lines())
                .map(move |(at, line)| (path, at, line))
        })
    }

    /// The files of Rust, read; models and files of tests are marked as test code.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &Source)> {
        let files = self.0.iter().filter(|(path, _)| path.ends_with(".rs"));
        files.map(|(path, (_, source))| (path.as_str(), source))
    }

    pub(crate) fn library(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources().filter(|(path, _)| path.starts_with(LIBRARY))
    }

    fn add(&mut self, path: String, text: String) {
        let source = match path.ends_with(".rs") {
            true => source_of(&path, &text),
            false => Source::default(),
        };
        self.0.insert(path, (text, source));
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if !entry.file_type()?.is_dir() {
                self.add(path, text_of(&entry.path())?);
            } else if !SKIPPED.contains(&name.as_str()) {
                self.add_folder(&entry.path(), &format!("{path}/"))?;
            }
        }
        Ok(())
    }
}

/// The name of the module a library file belongs to, as it follows `crate::`.
pub(crate) fn library_module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix(LIBRARY)?;
    let first = inside.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

fn source_of(path: &str, text: &str) -> Source {
    let is_models = matches!(library_module(path), Some("models" | "explore"));
    let is_test_file = path.ends_with("/tests.rs") || path.contains("/tests/");
    if is_models || is_test_file {
        Source::parse_as_test(text)
    } else {
        Source::parse(text)
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| READ.contains(&extension)) {
        fs::read_to_string(path)
    } else {
        Ok(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_of_a_library_file_is_its_first_folder() {
        let module =
            |inside: &str| library_module(&format!("{LIBRARY}{inside}")).map(str::to_owned);
        assert_eq!(module("queue/deque.rs").as_deref(), Some("queue"));
        assert_eq!(module("cancel.rs").as_deref(), Some("cancel"));
        assert_eq!(library_module("xtask/src/main.rs"), None);
    }

    #[test]
    fn folders_are_there_like_files() {
        let tree = Tree::of(&[("docs/design/idle.md", "")]);
        for path in ["docs/design/idle.md", "docs/design", "docs/"] {
            assert!(tree.has(path), "{path}");
        }
        assert!(!tree.has("docs/des"));
    }

    #[test]
    fn loading_finds_this_file_and_skips_build_output() {
        let tree = Tree::load(&crate::workspace::root()).unwrap();
        assert!(tree.has("xtask/src/tidy/tree.rs"));
        assert!(!tree.has("target"));
    }
}
