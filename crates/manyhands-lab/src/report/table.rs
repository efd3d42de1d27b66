//! One section as a terminal table.

use super::units::{count, nanos, ratio};
use crate::{Measurement, tour::Section, verdict::Side};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};

/// The medians of every arm, and for every arm but the baseline the speed-up with its interval and
/// the side that won. Times of a row compare; how to read them is in the section's rule.
#[must_use]
pub fn section_table(section: &Section, seed: u64) -> String {
    let Some(first) = section.measurements.first() else {
        return "nothing was measured".to_owned();
    };
    let several_cases = section
        .measurements
        .iter()
        .any(|one| one.case != first.case);
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Disabled);

    let mut header = Row::new();
    if several_cases {
        header.add_cell(Cell::new("case"));
    }
    header.add_cell(right("n"));
    for arm in &first.arms {
        header.add_cell(right(arm));
    }
    for title in ["speed-up", "95 % interval", "blocks"] {
        header.add_cell(right(title));
    }
    header.add_cell(Cell::new("faster"));
    table.set_header(header);

    for measurement in &section.measurements {
        let mut row = Row::new();
        if several_cases {
            row.add_cell(Cell::new(&measurement.case));
        }
        add_numbers(&mut row, measurement, seed);
        row.add_cell(Cell::new(winner(section, measurement)));
        table.add_row(row);
    }
    table.trim_fmt()
}

fn add_numbers(row: &mut Row, measurement: &Measurement, seed: u64) {
    row.add_cell(right(count(measurement.n)));
    for arm in 0..measurement.arms.len() {
        let median = measurement.median_nanos(arm);
        row.add_cell(right(median.map_or_else(String::new, nanos)));
    }
    let estimate = measurement.speed_up(1, seed);
    let (median, interval) = estimate.map_or_else(Default::default, |estimate| {
        let interval = format!("{:.2} … {:.2}", estimate.low, estimate.high);
        (ratio(estimate.median), interval)
    });
    row.add_cell(right(median));
    row.add_cell(right(interval));
    row.add_cell(right(measurement.blocks.len()));
}

fn winner<'row>(section: &Section, measurement: &'row Measurement) -> &'row str {
    match section.rule.side(&measurement.ratios(1)) {
        Side::Faster => &measurement.arms[1],
        Side::Slower => &measurement.arms[0],
        Side::Undecided if measurement.blocks.len() < section.rule.blocks_min() as usize => {
            "too few blocks"
        }
        Side::Undecided => "–",
    }
}

/// Lines around the header and at the end only: rows are short enough to follow.
const STYLE: TableStyle = TableStyle::new()
    .top_border(RULE)
    .header_separator(RULE)
    .bottom_border(RULE);
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

fn right(content: impl ToString) -> Cell {
    Cell::new(content).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, verdict::Rule};

    fn measurement(case: &str, n: usize, ratios: &[f64]) -> Measurement {
        let block = |ratio: &f64| Block {
            calls: 1,
            order: vec![0, 1],
            nanos: vec![1_000.0 * ratio, 1_000.0],
            checksum: 0,
        };
        Measurement {
            experiment: "E".into(),
            case: case.into(),
            n,
            arms: vec!["sequential".into(), "for_each".into()],
            blocks: ratios.iter().map(block).collect(),
        }
    }

    fn section(measurements: Vec<Measurement>) -> Section {
        Section {
            id: "E".into(),
            title: "t".into(),
            measurements,
            rule: Rule::SINGLE,
            break_even: None,
            left_out: Vec::new(),
        }
    }

    #[test]
    fn a_row_shows_medians_ratio_interval_and_winner() {
        let text = section_table(
            &section(vec![
                measurement("c", 1_000, &[1.5; 7]),
                measurement("c", 2_000, &[0.5; 7]),
                measurement("c", 3_000, &[1.0; 7]),
                measurement("c", 4_000, &[1.5; 3]),
            ]),
            1,
        );
        let rows: Vec<&str> = text.lines().filter(|line| line.contains(",000")).collect();
        assert_eq!(rows.len(), 4, "{text}");
        for part in ["1.50 µs", "1.00 µs", "1.50×", "1.50 … 1.50", "for_each"] {
            assert!(rows[0].contains(part), "'{part}' is missing in {text}");
        }
        assert!(rows[1].trim_end().ends_with("sequential"), "{text}");
        assert!(rows[2].trim_end().ends_with('–'), "{text}");
        assert!(rows[3].trim_end().ends_with("too few blocks"), "{text}");
        assert!(!text.contains("case"));
    }

    #[test]
    fn several_cases_are_named() {
        let text = section_table(
            &section(vec![
                measurement("MD5", 10, &[1.0]),
                measurement("SHA-1", 10, &[1.0]),
            ]),
            1,
        );
        for part in ["case", "MD5", "SHA-1"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_empty_section_says_so() {
        assert_eq!(
            section_table(&section(Vec::new()), 1),
            "nothing was measured"
        );
    }
}
