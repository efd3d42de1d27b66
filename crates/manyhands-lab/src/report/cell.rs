//! Tables for programs: CSV, separated by commas, decimals with points, quoted by RFC 4180.

use std::fmt::Debug;

/// A row, as the name of each column and what is in it.
pub(super) type Row = Vec<(&'static str, String)>;

/// A table of rows that all have the same columns.
pub(super) fn table(rows: impl IntoIterator<Item = Row>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (place, row) in rows.into_iter().enumerate() {
        if place == 0 {
            let names = row.iter().map(|(name, _)| name);
            writer.write_record(names).expect("memory takes all writes");
        }
        let cells = row.iter().map(|(_, cell)| cell);
        writer.write_record(cells).expect("memory takes all writes");
    }
    let bytes = writer.into_inner().expect("memory takes all writes");
    String::from_utf8(bytes).expect("made of strings")
}

/// A number with all its digits.
pub(super) fn number(value: impl Debug) -> String {
    format!("{value:?}")
}

/// The same of a number that there may be; nothing where there is none.
pub(super) fn known(value: Option<impl Debug>) -> String {
    value.map_or_else(String::new, number)
}

/// A name that no spreadsheet takes for a formula: behind an apostrophe if it begins like one.
pub(super) fn cell(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("{}{name}", if is_formula { "'" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{fixture, measurements_csv, results_csv};

    #[test]
    fn only_what_begins_like_a_formula_is_changed() {
        for name in ["=1+1", "+1", "-x", "@sum"] {
            assert_eq!(cell(name), format!("'{name}"));
        }
        assert_eq!(cell("a=b"), "a=b");
    }

    #[test]
    fn no_cell_of_either_table_is_a_formula() {
        let mut findings = fixture::findings();
        let events = fixture::events();
        for experiment in &mut findings.experiments {
            for case in &mut experiment.cases {
                for arm in &mut case.card.arms {
                    *arm = format!("={arm}");
                }
            }
        }
        for experiment in &mut findings.head.experiments {
            for case in &mut experiment.cases {
                for arm in &mut case.arms {
                    *arm = format!("={arm}");
                }
            }
        }
        let tables = [
            results_csv(&findings),
            measurements_csv(&findings.head, &events),
        ];
        for table in tables {
            assert!(table.contains(",'="), "{table}");
            assert!(!table.contains(",="), "{table}");
        }
    }
}
