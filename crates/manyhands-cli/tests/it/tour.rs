//! A short tour from start to end.

use crate::{manyhands, text};
use std::{fs, fs::File, io::BufReader, path::Path};

#[test]
fn a_quick_tour_prints_its_answer_on_one_screen_and_leaves_all_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new").join("tour");
    let out_text = out.to_str().expect("a path in UTF-8");
    // Other tests may run beside it, for which a quick tour's own few seconds are not enough.
    let output = manyhands(&[
        "tour", "--quick", "--budget", "15", "--seed", "7", "--out", out_text,
    ]);
    let printed = text(&output.stdout);
    // On a machine that is not quiet the code says so.
    let code = output.status.code();
    assert!(
        code == Some(0) || code == Some(3),
        "{}",
        text(&output.stderr)
    );
    for part in ["seed 7", "Answer, for SHA-512", "Try next", out_text] {
        assert!(printed.contains(part), "'{part}' is missing in: {printed}");
    }
    // The question is first, and all of it fits one screen.
    assert!(
        printed
            .lines()
            .next()
            .is_some_and(|line| line.ends_with('?'))
    );
    assert!(printed.lines().count() <= 40, "{printed}");
    // No figure of another machine stands beside those of this one.
    assert!(!printed.contains("aper"), "{printed}");
    let chart = printed
        .lines()
        .find_map(|line| line.strip_prefix("Chart: "));
    let chart = chart.expect("a chart is named");
    assert!(fs::exists(chart).expect("its folder is there"), "{chart}");
    // Nobody watches, so there is no progress bar.
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));

    check_summary(&out.join("summary.json"));
    // Which sizes there was time for, and so which charts there are, is the machine's affair.
    let charts = fs::read_dir(out.join("charts")).expect("charts");
    let paths = charts.map(|entry| entry.expect("a chart").path());
    let pictures: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "png"))
        .collect();
    assert!(!pictures.is_empty());
    pictures.iter().for_each(|path| check_picture(path));
    for file in ["report.html", "report.md", "results.csv", "run.json"] {
        let content = fs::read_to_string(out.join(file)).expect(file);
        assert!(content.contains("E3"), "{file}");
    }
    check_measurements(&out.join("results-measurements.csv"));
    check_kept(&out);
}

/// What was measured is not replaced unless that is asked for, by a tour no more than by a run.
fn check_kept(out: &Path) {
    let out_text = out.to_str().expect("a path in UTF-8");
    let events = fs::read(out.join("events.ndjson")).expect("events");
    let again = manyhands(&["tour", "--quick", "--out", out_text]);
    assert_eq!(again.status.code(), Some(1));
    let err = text(&again.stderr);
    assert_eq!(err.lines().count(), 1, "{err}");
    for way in ["resume", "--replace", "--out"] {
        assert!(err.contains(way), "'{way}' is missing in: {err}");
    }
    assert_eq!(fs::read(out.join("events.ndjson")).expect("events"), events);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_in_one_line_with_exit_code_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("taken");
    fs::write(&file, "").expect("a file");
    let out = file.join("below");
    let output = manyhands(&["tour", "--quick", "--out", out.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("taken"), "{err}");
}

/// Other programs find their columns first.
fn check_measurements(path: &Path) {
    let mut reader = csv::Reader::from_path(path).expect("the measurements");
    let headers = reader.headers().expect("a header").clone();
    assert_eq!(headers.get(0), Some("Target"));
    let value = headers
        .iter()
        .position(|name| name == "Measurement_Value")
        .expect("the column of times");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert!(rows.len() >= 3, "{}", rows.len());
    for row in &rows {
        let nanos: f64 = row[value].parse().expect("a time");
        assert!(nanos > 0.0);
    }
}

fn check_summary(path: &Path) {
    let text = fs::read_to_string(path).expect("the summary");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["head"]["settings"]["seed"], 7);
    assert_eq!(json["experiments"].as_array().map(Vec::len), Some(4));
}

fn check_picture(path: &Path) {
    let file = BufReader::new(File::open(path).expect("the PNG"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let frame = reader.next_frame(&mut pixels).expect("a picture");
    assert_eq!(frame.width, 1_600);
    let first = pixels[..4].to_vec();
    assert!(pixels.chunks(4).any(|pixel| pixel != first), "it is blank");
}
