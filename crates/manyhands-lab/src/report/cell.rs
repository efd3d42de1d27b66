//! Names as cells of a CSV file.

use std::borrow::Cow;

/// A name that no spreadsheet takes for a formula: behind an apostrophe if it begins like one.
pub(super) fn cell(name: &str) -> Cow<'_, str> {
    if name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{name}"))
    } else {
        Cow::Borrowed(name)
    }
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
            measurements_csv(&findings.head, &events, |_, _| Vec::new()),
        ];
        for table in tables {
            assert!(table.contains(",'="), "{table}");
            assert!(!table.contains(",="), "{table}");
        }
    }
}
