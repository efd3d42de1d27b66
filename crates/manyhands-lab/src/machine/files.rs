//! The system's small text files, or a test's.

use std::fs;

/// Where the facts of a machine are read.
pub(super) trait Files {
    /// Content of a file without surrounding space; `None` if absent or empty.
    fn text(&self, path: &str) -> Option<String>;

    /// Names in a folder, in any order; `None` if there is no such folder.
    fn names(&self, folder: &str) -> Option<Vec<String>>;

    /// A file that holds one number.
    fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }
}

/// This system.
#[derive(Debug)]
pub(super) struct System;

impl Files for System {
    fn text(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn names(&self, folder: &str) -> Option<Vec<String>> {
        let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
        Some(
            fs::read_dir(folder)
                .ok()?
                .flatten()
                .filter_map(name)
                .collect(),
        )
    }
}

/// A list such as `0-3,8`, as the system writes sets of CPUs and nodes; `None` if malformed.
pub(super) fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > LIST_MAX {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

/// Larger numbers of CPUs than any system has are malformed text.
const LIST_MAX: u32 = 1 << 16;

#[cfg(test)]
pub(super) mod recorded {
    //! Files as a test wants them.

    use super::Files;

    /// A file on each line: its path, a space, its content; lines without a path belong to the file before them.
    pub(in crate::machine) struct Recorded<'text>(pub(in crate::machine) &'text str);

    impl Recorded<'_> {
        fn files(&self) -> impl Iterator<Item = (&str, &str)> {
            self.0.split("\n/").filter_map(|file| file.split_once(' '))
        }
    }

    impl Files for Recorded<'_> {
        fn text(&self, path: &str) -> Option<String> {
            let is_it = |(known, _): &(&str, &str)| path.strip_prefix('/') == Some(known);
            self.files()
                .find(is_it)
                .map(|(_, text)| text.trim().to_owned())
        }

        fn names(&self, folder: &str) -> Option<Vec<String>> {
            let inside = format!("{}/", folder.trim_start_matches('/'));
            let name = |path: &str| Some(path.strip_prefix(&inside)?.split('/').next()?.to_owned());
            let mut names: Vec<String> = self.files().filter_map(|(path, _)| name(path)).collect();
            names.dedup();
            (!names.is_empty()).then_some(names)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_single_numbers_and_ranges() {
        assert_eq!(parse_list("0\n"), Some(vec![0]));
        assert_eq!(parse_list("0-2,8,10-11"), Some(vec![0, 1, 2, 8, 10, 11]));
    }

    #[test]
    fn malformed_lists_are_none() {
        for text in ["", "x", "1-", "-1", "3-1", "0-4294967295", "1,,2"] {
            assert_eq!(parse_list(text), None, "{text:?}");
        }
    }
}
