//! Tables for programs: CSV, separated by commas, decimals with points, quoted by RFC 4180.

use crate::plain::cell;
use std::fmt::Debug;

/// A row, as the name of each column and what is in it.
pub(super) type Row = Vec<(&'static str, String)>;

/// A table of rows that all have the same columns. No cell is a formula to a spreadsheet.
pub(super) fn table(rows: impl IntoIterator<Item = Row>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (place, row) in rows.into_iter().enumerate() {
        if place == 0 {
            let names = row.iter().map(|(name, _)| name);
            writer.write_record(names).expect("memory takes all writes");
        }
        let cells = row.iter().map(|(_, text)| cell(text).into_owned());
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

#[cfg(test)]
mod tests {
    use crate::report::{fixture, measurements_csv, results_csv};

    #[test]
    fn no_cell_of_either_table_is_a_formula() {
        let mut findings = fixture::findings();
        let experiments = findings.experiments.iter_mut();
        for case in experiments.flat_map(|one| &mut one.cases) {
            case.card.arms.iter_mut().for_each(|arm| arm.insert(0, '='));
        }
        let experiments = findings.head.experiments.iter_mut();
        for card in experiments.flat_map(|one| &mut one.cases) {
            card.arms.iter_mut().for_each(|arm| arm.insert(0, '='));
        }
        let measurements = measurements_csv(&findings.head, &fixture::events());
        for table in [results_csv(&findings), measurements] {
            assert!(table.contains(",'="), "{table}");
            assert!(!table.contains(",="), "{table}");
        }
    }
}
