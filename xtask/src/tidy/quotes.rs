//! Rule: a measured figure stands in the table that a command wrote, and a page links to it.
//!
//! A figure that is written into a sentence stays when its table is made again, and then contradicts it. So pages and
//! documentation comments have ratios, intervals, break-evens, shares and nanoseconds, what something takes, costs or is over
//! after in another unit, and hundreds of bytes that are no power of two, on one line or on two, only between the comments
//! `begin` and `end` of a section that a command renews, with the day. Not here:
//! `docs/decisions` and `docs/walk.md`, whose figures are dated evidence, pages that a command writes as a whole, what is
//! set and not measured, and aims: the first cell of a row of `docs/goals.md`.
//!
//! The verdicts of that page are read from tables. Each names the date of its table, so that a table that is made again
//! has its verdicts looked at. Not here: whether a table is older than its code (`older.rs`).

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::older::RESULTS;
use super::source::pattern;
use super::tree::Tree;

const GOALS: &str = "docs/goals.md";
/// Where figures stand, and pages about how they are measured.
const TABLES: &str = "docs/decisions/ docs/walk.md peers/ /RESULTS.md /tests/golden/";
static MEASURED: LazyLock<Regex> = LazyLock::new(|| {
    let ratio = r"\d\.\d+ ?(×|times\b)|\d ?(×|x|times) as\b";
    let interval = r"\d \(\d[\d.]* … \d|\bn = \d[\d,.]* … \d|\bfrom [1-9][\d,.]* \w+ on\b";
    let share = r"\b\d+ of \d+ (points|rows)|\d % (faster|slower|more|less|of)\b";
    let unit = r"((ns|µs|ms|s|bytes|([kMG]i?)?B)\b|%)";
    let verb = "(takes?|took|costs?|needs?|needed|has|had|adds?|added|saves?|saved|uses?|used)";
    let cost = format!(r"\b{verb} ((only|about|some) )?\d[\d.,]* {unit}");
    let end = r"\b(starts?|begins?|ends?|over|wakes?) (after|within) ((only|about|some) )?\d[\d.,]* [µm]s\b";
    let bytes = r"\b[1-9][\d,]{2,} (bytes|B)\b";
    // What is set is a round number.
    let fraction = format!(r"\b\d+(\.\d+)? ns\b|\b[1-9]\d*\.\d+ {unit}");
    pattern(&[ratio, interval, share, &cost, end, bytes, &fraction].join("|"))
});
static DAY: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{4}-\d\d-\d\d"));
/// A link to a table with its date: `[2026-11-26](../peers/RESULTS.md#loops)`.
static DATED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\[([^\]]*)\]\(\.\./peers/RESULTS\.md#([\w-]+)\)"));

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_page = |path: &str| {
        let path = format!("/{path}");
        path.ends_with(".md") && !TABLES.split(' ').any(|part| path.contains(part))
    };
    for (path, text) in tree.files().filter(|(path, _)| is_page(path)) {
        let (mut is_written, mut is_dated, mut before) = (false, false, "");
        for (idx, line) in text.lines().enumerate() {
            if line.starts_with("<!-- begin ") {
                (is_written, is_dated) = (true, false);
            }
            is_dated |= DAY.is_match(line);
            if line.starts_with("<!-- end ") {
                is_written = false;
                let undated = "this section does not say when it was measured; make it again";
                findings.extend((!is_dated).then(|| Finding::on_line(path, idx + 1, undated)));
            }
            let measured = match line.strip_prefix("| ").and_then(|row| row.split_once('|')) {
                Some((_aim, rest)) if path == GOALS => rest,
                _ => line,
            };
            let measured = if is_written { "" } else { measured };
            findings.extend(quote(path, idx + 1, before, measured));
            before = measured;
        }
    }
    for (path, source) in tree.library() {
        let mut before = "";
        for line in source.shipped() {
            let comment = line.comment.trim_start();
            let said = comment.strip_prefix("///").or(comment.strip_prefix("//!"));
            let said = said.unwrap_or_default().trim_start();
            findings.extend(quote(path, line.number, before, said));
            before = said;
        }
    }
    findings.extend(stale_verdicts(tree));
    findings
}

/// A figure on this line, which may have begun at the end of the line before.
fn quote(path: &str, line_number: usize, before: &str, text: &str) -> Option<Finding> {
    let both = format!("{before} {}", text.trim_start());
    let ended = before.len() + 1;
    let figures = MEASURED.find_iter(&both).filter(|one| one.end() > ended);
    let found = figures.map(|one| one.as_str()).find(|one| !is_set(one))?;
    let message = format!("`{found}` is measured: link to its table, or have its command write it");
    Some(Finding::on_line(path, line_number, message))
}

/// Whether this is a power of two, in bytes: such a number is chosen.
fn is_set(figure: &str) -> bool {
    let number = figure.strip_suffix(" bytes").or(figure.strip_suffix(" B"));
    let number = number.map(|number| number.replace(',', "").parse::<usize>());
    matches!(number, Some(Ok(number)) if number.is_power_of_two())
}

/// Links of the verdicts to tables that have no such date.
fn stale_verdicts(tree: &Tree) -> Vec<Finding> {
    let results = tree.text(RESULTS).unwrap_or_default();
    let goals = tree.text(GOALS).unwrap_or_default();
    let mut findings = Vec::new();
    for (idx, line) in goals.lines().enumerate() {
        for link in DATED.captures_iter(line) {
            let (date, table) = (&link[1], &link[2]);
            if !dates_of(results, table).any(|made| made == date) {
                let message =
                    format!("the table `{table}` is not of {date}: look at the verdict again");
                findings.push(Finding::on_line(GOALS, idx + 1, message));
            }
        }
    }
    findings
}

/// When the tables below this heading were made, one for each kind of processor.
fn dates_of<'a>(results: &'a str, table: &'a str) -> impl Iterator<Item = &'a str> {
    let sections = results.split("\n## ").skip(1);
    let named = sections.filter(move |section| {
        let heading = section.lines().next().unwrap_or_default();
        heading.to_lowercase().replace(' ', "-") == table
    });
    named
        .filter_map(|section| DAY.find(section.split_once("Date: ")?.1))
        .map(|day| day.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    /// Lines of the README of November 2026, which said otherwise than its tables.
    #[test]
    fn figures_in_sentences_are_found() {
        for line in [
            "thread during the call: 1.00 (0.99 … 1.01) × sequential, rayon 1.56 (1.51 … 1.57).",
            "[Table](peers/RESULTS.md#contended). It is not free: 40 of 111 points",
            "2. **Work items are cheap.** Of 10 million empty closures from outside the pool each takes 29 ns, with a",
            "- several threads keep the same pool busy: such loops take 1.26 to 1.90 times as long here as with the",
            "- one future awaits timers through `join_all`: with a million, 1.58 (1.31 … 1.99) times the processor time.",
            "5. **A sleeping task takes 121 bytes.** A million tasks that each sleep take 121 MB, on tokio 455 MB, and 0.41",
            "An empty chunk costs 0.15 ms through NATS, and chunks of 20 ms take no longer than on threads.",
            "Corrections made detached tasks 9 to 11 % slower, measured",
            "| loops of 1 ms and more | 0.62 to 1.80 × the best other | ≤ 1.05 ×: **missed at 5** |",
            "The binary has 13 MB on Linux, most of which are names.",
            "A client and libclang, which take 400 MB.",
            "Two equal arms are called different in 3 % of all cases.",
            "A round trip is over after 5.78 µs, on tokio a bit sooner.",
            "A loop breaks even with one thread at n = 13 … 14.",
            "It pays from 13 hashes on.",
            "Behind a long loop a task starts after 12 ms.",
            "Nine of ten tasks begin within 20 µs.",
            "A sleeping task: 121 bytes.",
            "A sleeping task: 121 B, with its handle.",
            "The others are 3 x as fast, in the same hour.",
            "A closure from another thread takes\nabout 29 µs.",
        ] {
            for page in ["README.md", "docs/from-rayon.md", "crates/a/README.md"] {
                assert_eq!(count(page, line), 1, "{page}: {line}");
            }
        }
        let in_code = "/// About 100 ns in all. A call\n/// takes\n/// 3 ms.\npub fn f() {}\n// 100 ns here.\n";
        let found = check(&Tree::of_library_file("task/mod.rs", in_code));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn tables_of_commands_evidence_and_what_is_set_pass() {
        let row = "| a | 1.00 (0.99 … 1.01) |";
        let written = format!("<!-- begin a -->\n2026-11-26\n{row}\n<!-- end a -->\n");
        assert_eq!(count("README.md", &written), 0);
        let undated = format!("2026-11-26\n{}", written.replace("2026-11-26", "Today"));
        assert_eq!(count("README.md", &undated), 1);
        assert_eq!(count("README.md", &format!("{written}{row}")), 1);
        for page in [
            "docs/decisions/01-a.md",
            "peers/README.md",
            "crates/manyhands-lab/RESULTS.md",
        ] {
            assert_eq!(count(page, row), 0, "{page}");
        }
        let set = "Helpers look about every 10 µs, for at least 0.4 ms. At most 8 of 12 loops; 3 × a thread.";
        assert_eq!(count("README.md", set), 0);
        let set =
            "Values are 128 bytes apart, 1,024 B at most.\n3 × a thread, from 1 on, after 50 ms.";
        assert_eq!(count("README.md", set), 0);
        assert_eq!(count(GOALS, "| at most 1.02 × and 50 ns | met |"), 0);
        assert_eq!(count(GOALS, "| at most 1.02 × | 1.01 × |"), 1);
    }

    #[test]
    fn a_verdict_of_a_table_that_was_made_again_is_found() {
        let results = "# Results\n\n## Loops\n\nDate: 2026-11-26T05:53:46Z.\n\n## Loops\n\nDate: 2026-11-27T05:53:46Z.\n";
        let verdict = |date: &str, table: &str| {
            let goals = format!("| a | met: [{date}](../peers/RESULTS.md#{table}) |\n");
            check(&Tree::of(&[(RESULTS, results), (GOALS, &goals)])).len()
        };
        assert_eq!(verdict("2026-11-26", "loops"), 0);
        assert_eq!(verdict("2026-11-27", "loops"), 0);
        assert_eq!(verdict("2026-11-25", "loops"), 1);
        assert_eq!(verdict("loops", "loops"), 1);
        assert_eq!(verdict("2026-11-26", "joins"), 1);
    }
}
