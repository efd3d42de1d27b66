//! A file with the results of several contests, one section each, of which some are renewed and
//! the others stay as they are.
//!
//! A section stands between two comments that name it: `<!-- begin NAME -->` and
//! `<!-- end NAME -->`. Not here: what is in a section.

use crate::{LabError, store};
use std::{fs, io, path::Path};

/// Puts `section` in the place of the one with this name in the file. A section that the file
/// does not have is added at its end; a file that does not exist begins with `head`.
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
    let (begin, end) = (
        format!("<!-- begin {name} -->"),
        format!("<!-- end {name} -->"),
    );
    let lines: Vec<&str> = page.lines().collect();
    let places = |comment: &str| -> Vec<usize> {
        let at = lines.iter().enumerate();
        at.filter(|(_, line)| line.trim() == comment)
            .map(|(place, _)| place)
            .collect()
    };
    let (before, after) = match (&places(&begin)[..], &places(&end)[..]) {
        ([], []) => (&lines[..], &lines[lines.len()..]),
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
    }

    #[test]
    fn the_same_section_again_changes_nothing() {
        let page = replaced(PAGE, "a", "old a").unwrap();
        assert_eq!(page, PAGE);
    }

    #[test]
    fn a_new_section_comes_last() {
        let page = replaced(PAGE, "b", "new").unwrap();
        assert_eq!(
            page,
            format!("{PAGE}\n<!-- begin b -->\nnew\n\n<!-- end b -->\n")
        );
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
