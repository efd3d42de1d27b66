//! Every report and chart of one made-up run against files kept beside the tests.
//!
//! `UPDATE_GOLDEN=1 cargo test -p manyhands-lab golden` writes the files anew; look at the difference before it is kept.

use super::{Width, compare, fixture};
use crate::{
    chart::{self, Scaling},
    findings::{ExperimentFindings, Findings},
    published::posted,
};
use scraper::{Html, Selector};
use std::{collections::BTreeSet, env, fs, path::Path};

fn check(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, text).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    for (number, (kept, found)) in kept.lines().zip(text.lines()).enumerate() {
        assert_eq!(kept, found, "line {} of {name}", number + 1);
    }
    assert_eq!(kept.len(), text.len(), "{name} is longer or shorter");
}

fn all_text(findings: &Findings) -> String {
    text_at(findings, Width::default())
}

fn text_at(findings: &Findings, width: Width) -> String {
    let published = fixture::published();
    let texts = findings.experiments.iter().map(|experiment| {
        let papers = published.papers_of(&experiment.id);
        super::experiment_text(findings, experiment, papers, width) + "\n"
    });
    let meters = super::meters_text(&findings.experiments[0], width);
    texts.collect::<String>() + &meters + &super::closing(findings, width)
}

#[test]
fn the_terminal_text_is_as_kept_and_fits_the_terminal() {
    let text = all_text(&fixture::findings());
    check("terminal.txt", &text);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_letters_for_arms_are_explained() {
    for columns in [40, 60, 80, 132, 200] {
        let width = Width::of(columns);
        let (one, other) = (fixture::findings(), fixture::other_findings());
        for text in [text_at(&one, width), compare(&one, &other, width)] {
            for line in text.lines() {
                assert!(line.chars().count() <= columns.into(), "{columns}: {line}");
            }
            // Between these it depends on the table.
            let has_letters = text.contains("A = ") && text.contains(" = for_each");
            assert!(has_letters || columns > 60, "{columns}: {text}");
            assert!(!has_letters || columns < 132, "{columns}: {text}");
        }
    }
}

#[test]
fn a_noisy_run_says_so_in_every_report() {
    let noisy = fixture::other_findings();
    let said = "41 % of 732 blocks were disturbed, and up to 30 % are tolerated";
    let published = fixture::published();
    let terminal = all_text(&noisy).replace('\n', " ");
    for text in [
        terminal,
        super::markdown(&noisy, &published),
        super::html(&noisy, &published),
    ] {
        assert!(text.contains(said), "{text}");
    }
    let quiet = all_text(&fixture::findings());
    assert!(!quiet.contains("not quiet"));
}

#[test]
fn an_experiment_without_blocks_says_so() {
    let mut findings = fixture::findings();
    findings.experiments[0].cases.clear();
    let text = super::experiment_text(&findings, &findings.experiments[0], &[], Width::default());
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let left_out = "No time was left for SHA-512 at n = 1,000,000; SHA-512 at n = 10,000,000.";
    assert_eq!(lines, ["Nothing was measured.", left_out]);
}

#[test]
fn the_markdown_report_is_as_kept() {
    let text = super::markdown(&fixture::findings(), &fixture::published());
    check("report.md", &text);
}

#[test]
fn the_result_table_is_as_kept() {
    check("results.csv", &super::results_csv(&fixture::findings()));
}

#[test]
fn the_measurements_are_as_kept_and_have_the_columns_scripts_need() {
    let head = fixture::findings().head;
    let text = super::measurements_csv(&head, &fixture::events());
    check("results-measurements.csv", &text);
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for column in [
        "Target_Method",
        "Job_Runtime",
        "Job_Display",
        "Params",
        "Measurement_IterationStage",
        "Measurement_Value",
    ] {
        assert!(
            header.contains(&column),
            "{column} is missing in {header:?}"
        );
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 8);
}

#[test]
fn the_summary_is_as_kept() {
    check(
        "summary.json",
        &super::summary_json(&fixture::findings(), &super::Published::default()),
    );
}

#[test]
fn the_comparison_of_two_runs_is_as_kept_and_fits_the_terminal() {
    let text = compare(
        &fixture::findings(),
        &fixture::other_findings(),
        Width::default(),
    );
    check("compare.txt", &text);
    assert!(text.contains("the machines differ"));
    let mut other_baseline = fixture::findings();
    for experiment in &mut other_baseline.experiments {
        for case in &mut experiment.cases {
            case.card.arms[0] = "another".into();
        }
    }
    let nothing = compare(&fixture::findings(), &other_baseline, Width::default());
    let part = "no case, size and arm in common";
    assert!(nothing.contains(part), "{nothing}");
    let mut same_machine = fixture::other_findings();
    same_machine.head.machine = fixture::findings().head.machine;
    let same_machine = compare(&fixture::findings(), &same_machine, Width::default());
    check("compare-same-machine.txt", &same_machine);
    for line in text.lines().chain(same_machine.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn the_page_is_one_a_parser_finds_no_fault_with_and_needs_nothing_else() {
    let text = super::html(&fixture::findings(), &fixture::published());
    let page = Html::parse_document(&text);
    assert_eq!(page.errors, Vec::<std::borrow::Cow<'_, str>>::new());
    let count = |selector: &str| page.select(&Selector::parse(selector).unwrap()).count();
    assert_eq!(count("h1"), 1);
    assert_eq!(count("main > section"), 3 + 2);
    let expected = chart::all(&fixture::findings()).len();
    assert_eq!(count("svg[role=img]"), expected);
    assert_eq!(count("svg[role=img] > title"), count("svg[role=img]"));
    assert_eq!(count("table > caption"), count("table"));
    assert!(count("table") > 10);
    assert_eq!(count("thead th:not([scope=col])"), 0);
    assert_eq!(count("script, link, img, iframe, [src], [style*='url']"), 0);
    assert!(!text.contains("<n>"), "a title was not escaped");
    assert!(!text.replace("http://www.w3.org/", "").contains("://"));
}

#[test]
fn the_page_is_as_kept() {
    let text = super::html(&fixture::findings(), &fixture::published());
    check("report.html", &without_charts(&text));
}

#[test]
fn all_charts_are_as_kept_and_have_names_of_their_own() {
    let charts = chart::all(&fixture::findings());
    let names: BTreeSet<&str> = charts.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), charts.len());
    for one in &charts {
        let drawn = chart::svg(&one.chart).unwrap();
        stays_on_the_sheet(&drawn);
        if KEPT.contains(&one.name.as_str()) {
            check(&format!("{}.svg", one.name), &drawn);
        }
    }
    assert!(KEPT.iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn the_chart_over_cpus_is_as_kept() {
    let mut small = scaling();
    small.facets.truncate(1);
    for (data, kept) in [(scaling(), None), (small, Some("scaling.svg"))] {
        let drawn = chart::svg(&chart::scaling(&data).unwrap()).unwrap();
        stays_on_the_sheet(&drawn);
        if let Some(name) = kept {
            check(name, &drawn);
        }
    }
}

#[test]
fn a_picture_has_twice_the_pixels_and_an_empty_chart_is_refused() {
    let mut chart = chart::scaling(&scaling()).unwrap();
    let picture = chart::png(&chart::svg(&chart).unwrap()).unwrap();
    // The width follows the PNG's signature and the name of its first chunk.
    assert_eq!(picture[16..20], [0, 0, 6, 64]);
    for panel in &mut chart.panels {
        panel.series.clear();
    }
    assert!(chart::svg(&chart).is_err());
}

#[test]
fn the_folder_has_every_report_and_each_chart_twice() {
    let mut findings = fixture::findings();
    findings.experiments.truncate(2);
    findings.experiments.remove(0);
    let files = super::files(&findings, &fixture::events(), &fixture::published());
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "report.html",
        "report.md",
        "results.csv",
        "results-measurements.csv",
        "summary.json",
        "charts/e2-cases.svg",
        "charts/e2-cases.png",
    ];
    assert_eq!(paths, expected);
    assert!(files[6].bytes.starts_with(b"\x89PNG"));
    let page = std::str::from_utf8(&files[1].bytes).unwrap();
    assert!(page.contains("(charts/e2-cases.svg)"), "{page}");
}

/// One of each sort; the others differ in numbers only.
const KEPT: [&str; 4] = [
    "e3-sha-512-sizes",
    "e3-sha-512-items",
    "e3-sha-512-cores",
    "e2-cases",
];

/// The page with nothing but the titles of its charts, which are kept as files of their own.
fn without_charts(page: &str) -> String {
    let mut parts = page.split("<svg");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (chart, after) = part.split_once("</svg>").expect("a chart ends");
        let title = chart
            .split("<title>")
            .nth(1)
            .and_then(|text| text.split_once("</title>"));
        rest += &format!(
            "<svg><title>{}</title></svg>{after}",
            title.expect("a chart has one").0
        );
    }
    rest
}

/// Four costs of an item on up to 192 CPUs, as published.
fn scaling() -> Scaling {
    let case = |cost| fixture::case(&format!("BCrypt cost {cost}"), &[], Vec::new());
    posted(&ExperimentFindings {
        id: "E9".into(),
        cases: [4, 6, 8, 10].map(case).to_vec(),
        ..ExperimentFindings::default()
    })
}

fn stays_on_the_sheet(drawn: &str) {
    let sheet = drawn.split("viewBox=\"0 0 ").nth(1).unwrap();
    let mut limits = sheet.split('"').next().unwrap().split(' ');
    let mut limit = || limits.next().unwrap().parse::<i32>().unwrap();
    for (name, limit) in [(" x=\"", limit()), (" y=\"", limit())] {
        let values = drawn.split(name).skip(1);
        for value in values.map(|part| part.split('"').next().unwrap()) {
            let value: i32 = value.parse().unwrap();
            assert!((0..=limit).contains(&value), "{name}{value}, {limit}");
        }
    }
}
