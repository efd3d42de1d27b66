//! Markdown on standard output and, if asked for, in a file, with charts beside it.
//!
//! Not here: the cells of a table, which `manyhands_lab::contest` makes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

use manyhands_lab::chart::{self, ChartSpec};
use manyhands_lab::contest::{self, CaseResult, Column};
use manyhands_lab::report::{count, markdown_table};

use crate::against;

/// Where the tables go.
#[derive(Debug)]
pub(crate) struct Report {
    file: Option<File>,
    /// The folder of the page that the tables go to.
    folder: Option<PathBuf>,
    /// What the names of charts begin with there.
    charts: String,
    text: String,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Every contender gave the checksums of the base.
    Agreed,
    /// Some case failed; the tables say which.
    Failed,
}

impl Report {
    /// Opens the file now, if there is one, so that a bad path is refused before anything is measured.
    pub(crate) fn to_file(path: Option<&Path>) -> Result<Self, String> {
        let open = |path: &Path| {
            File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))
        };
        Ok(Self {
            file: path.map(open).transpose()?,
            folder: path.map(folder_of),
            charts: String::new(),
            text: String::new(),
        })
    }

    /// For the section of this name on a page, which the caller writes.
    pub(crate) fn for_page(page: &Path, section: &str) -> Self {
        Self {
            file: None,
            folder: Some(folder_of(page)),
            charts: file_name(section),
            text: String::new(),
        }
    }

    /// Draws a chart into `charts` beside the page, and shows it there; on a page with sections it has its section's name.
    /// Nothing where the tables go to no file.
    pub(crate) fn chart(&mut self, name: &str, spec: &ChartSpec) {
        let Some(folder) = &self.folder else { return };
        let name = match self.charts.as_str() {
            "" => name.to_owned(),
            section => section.to_owned(),
        };
        let charts = folder.join("charts");
        let path = charts.join(format!("{name}.svg"));
        let drawn = chart::svg(spec).map_err(|error| error.to_string());
        let written = drawn.and_then(|svg| {
            fs::create_dir_all(&charts)
                .and_then(|()| fs::write(&path, svg))
                .map_err(|error| format!("cannot write {}: {error}", path.display()))
        });
        match written {
            Ok(()) => self.line(&format!("![{}](charts/{name}.svg)\n", spec.description)),
            // The tables are worth more than the picture.
            Err(reason) => eprintln!("no chart: {reason}"),
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        // A closed pipe or a full disk must not end a long measurement.
        let _ = writeln!(io::stdout(), "{text}");
        if let Some(file) = &mut self.file {
            let _ = writeln!(file, "{text}");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// All lines so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A table whose first column is text and whose others are numbers.
    pub(crate) fn table(&mut self, header: &[String], rows: Vec<Vec<String>>) {
        self.line(&markdown_table(header, rows));
    }

    /// A case's title and table: a row for each arm, a column for each value. Ratios are to the first arm.
    pub(crate) fn case(&mut self, title: &str, result: &CaseResult, columns: &[Column]) {
        self.line(&format!("### {title}\n"));
        self.line(&contest::case_table(result, columns));
    }

    /// Says how this build compares with the other, if there is one, lists absent and failed arms, each
    /// once per message, and says how the comparison ended.
    pub(crate) fn notes(&mut self, results: &[CaseResult]) -> Outcome {
        against::print(results, self);
        let (lines, agreed) = contest::notes(results);
        for line in lines {
            self.line(&line);
        }
        self.line("");
        if agreed {
            Outcome::Agreed
        } else {
            Outcome::Failed
        }
    }
}

/// Small letters and digits, with dashes between the words.
fn file_name(section: &str) -> String {
    let words = section.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    words.join("-")
}

fn folder_of(page: &Path) -> PathBuf {
    page.parent().unwrap_or(Path::new("")).to_owned()
}

/// The title of `case`: of the first pair whose words it begins with.
pub(crate) fn title_of<'a>(titles: &[(&str, &'a str)], case: &'a str) -> &'a str {
    let begins = |words: &str| {
        let rest = case.strip_prefix(words);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let titled = titles.iter().find(|(words, _)| begins(words));
    titled.map_or(case, |(_, title)| title)
}

/// The first row of a table over sizes, of which `result` is one.
pub(crate) fn header(result: &CaseResult, lens: &[usize]) -> Vec<String> {
    let lens = lens.iter().map(|&len| count(len));
    iter::once(contest::corner(result, "n"))
        .chain(lens)
        .collect()
}

/// A row of a table over sizes.
pub(crate) fn row(label: &str, lens: &[usize], cell: impl Fn(usize) -> String) -> Vec<String> {
    iter::once(label.to_owned())
        .chain(lens.iter().map(|&len| cell(len)))
        .collect()
}

/// A cell of one arm's median time.
pub(crate) fn time_cell(result: Option<&CaseResult>, label: &str, index: usize) -> String {
    contest::cell(result, label, |result| {
        result.median(label, index).map(contest::time)
    })
}

/// A cell of one arm's ratio to another.
pub(crate) fn ratio_cell(
    result: Option<&CaseResult>,
    ours: &str,
    theirs: &str,
    index: usize,
) -> String {
    contest::cell(result, ours, |result| {
        let ratio = result.ratio(ours, theirs, index);
        Some(ratio.map_or_else(|| "·".to_owned(), |ratio| ratio.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::{file_name, title_of};

    #[test]
    fn a_section_s_chart_has_its_name() {
        assert_eq!(
            file_name("saturation on AMD EPYC, Zen 3"),
            "saturation-on-amd-epyc-zen-3"
        );
        assert_eq!(file_name("cores"), "cores");
    }

    #[test]
    fn a_case_is_titled_by_its_whole_words() {
        let titles = [("in 10", "ten"), ("in 100", "a hundred")];
        assert_eq!(title_of(&titles, "in 100"), "a hundred");
        assert_eq!(title_of(&titles, "in 10 ms"), "ten");
        assert_eq!(title_of(&titles, "in 1"), "in 1");
    }
}
