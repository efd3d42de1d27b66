//! A file with the results of several contests, one section each, of which some are renewed and
//! the others stay as they are.
//!
//! A section stands between two comments that name it: `<!-- begin NAME -->` and `<!-- end NAME -->`. Sections whose names
//! have the same first word stay together. Not here: what is in a section.

use crate::{LabError, store};
use std::{fs, io, path::Path};

/// Puts `section` in the place of the one with this name in the file. A section that the file
/// does not have is added behind the last one of the same first word, or at the end; a file that does not exist begins with `head`.
///
/// # Errors
/// [`LabError::File`] if the file cannot be read or written; [`LabError::Damaged`] if its comments
/// do not fit together.
pub fn renew(path: &Path, head: &str, name: &str, section: &str) -> Result<(), LabError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{}\n", head.trim_end()),
        read => read.map_err(LabError::file("read", path))?,
    };
    let renewed = replaced(&text, name, section).map_err(|(line, reason)| LabError::Damaged {
        path: path.to_owned(),
        line,
        reason,
    })?;
    store::replace_file(path, renewed.as_bytes())
}

/// The page with another section of this name; the error is a line, from 1, and what is wrong there.
///
/// # Errors
/// If the section begins or ends twice, or does only one of both, or not in this order.
pub fn replaced(page: &str, name: &str, section: &str) -> Result<String, (usize, String)> {
    let [begin, end] = ["begin", "end"].map(|what| format!("<!-- {what} {name} -->"));
    let lines: Vec<&str> = page.lines().collect();
    let places = |comment: &str| -> Vec<usize> {
        let at = lines.iter().enumerate();
        at.filter(|(_, line)| line.trim() == comment)
            .map(|(place, _)| place)
            .collect()
    };
    let (before, after) = match (&places(&begin)[..], &places(&end)[..]) {
        ([], []) => lines.split_at(end_of_group(&lines, name)),
        ([from], [to]) if from < to => (&lines[..*from], &lines[to + 1..]),
        ([_, second, ..], _) | (_, [_, second, ..]) => {
            return Err((second + 1, format!("a second comment of section '{name}'")));
        }
        ([at], _) | (_, [at]) => {
            let reason = format!("the comments of section '{name}' are no pair");
            return Err((at + 1, reason));
        }
    };
    let parts = [
        before.join("\n").trim_end().to_owned(),
        format!("{begin}\n{}\n\n{end}", section.trim()),
        after.join("\n").trim().to_owned(),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(parts.join("\n\n") + "\n")
}

/// Behind the last section whose name has the same first word, or behind all lines.
fn end_of_group(lines: &[&str], name: &str) -> usize {
    let is_of_group = |line: &&str| {
        let ended = line.trim().strip_prefix("<!-- end ");
        let ended = ended.and_then(|rest| rest.strip_suffix(" -->"));
        ended.is_some_and(|ended| first_word(ended) == first_word(name))
    };
    let last = lines.iter().rposition(is_of_group);
    last.map_or(lines.len(), |place| place + 1)
}

fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Head\n\n<!-- begin a -->\nold a\n\n<!-- end a -->\n\n\
                        <!-- begin ab -->\nold ab\n\n<!-- end ab -->\n";

    #[test]
    fn only_the_named_section_changes() {
        let page = replaced(PAGE, "a", "new\n\nlines\n").unwrap();
        let expected = PAGE.replace("old a\n\n<!-- end a -->", "new\n\nlines\n\n<!-- end a -->");
        assert_eq!(page, expected);
        let page = replaced(PAGE, "ab", "new").unwrap();
        assert_eq!(page, PAGE.replace("old ab", "new"));
        // The same section again changes nothing.
        assert_eq!(replaced(PAGE, "a", "old a").unwrap(), PAGE);
    }

    #[test]
    fn a_new_section_comes_last() {
        let page = replaced(PAGE, "b", "new").unwrap();
        let expected = format!("{PAGE}\n<!-- begin b -->\nnew\n\n<!-- end b -->\n");
        assert_eq!(page, expected);
    }

    #[test]
    fn a_new_section_comes_behind_the_last_of_its_first_word() {
        let page = replaced(PAGE, "a on b", "new").unwrap();
        let section = "<!-- begin a on b -->\nnew\n\n<!-- end a on b -->\n\n";
        let place = "<!-- begin ab -->";
        assert_eq!(page, PAGE.replace(place, &format!("{section}{place}")));
        let again = replaced(&page, "a on c", "newer").unwrap();
        let places = ["a on b", "a on c", "ab"].map(|name| again.find(&format!("begin {name} ")));
        let are_there = places.iter().all(Option::is_some);
        assert!(are_there && places.is_sorted(), "{again}");
        assert_eq!(replaced(&again, "a on b", "new").unwrap(), again);
    }

    #[test]
    fn comments_that_are_no_pair_are_refused_where_they_stand() {
        fn check(page: &str, line: usize) {
            assert_eq!(replaced(page, "a", "new").unwrap_err().0, line, "{page}");
        }
        check("<!-- begin a -->\n", 1);
        check("x\n<!-- end a -->\n", 2);
        check("<!-- end a -->\n<!-- begin a -->\n", 2);
        check("<!-- begin a -->\n<!-- begin a -->\n<!-- end a -->\n", 2);
        check("<!-- begin a -->\n<!-- end a -->\n<!-- end a -->\n", 3);
    }

    #[test]
    fn a_file_is_begun_and_renewed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        renew(&path, "# Head", "a", "one").unwrap();
        renew(&path, "# Other", "b", "two").unwrap();
        renew(&path, "# Other", "a", "three").unwrap();
        let expected = "# Head\n\n<!-- begin a -->\nthree\n\n<!-- end a -->\n\n\
                        <!-- begin b -->\ntwo\n\n<!-- end b -->\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        fs::write(&path, "<!-- begin a -->").unwrap();
        assert!(renew(&path, "", "a", "x").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "<!-- begin a -->");
    }
}
