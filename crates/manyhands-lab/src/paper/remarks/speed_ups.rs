//! E1b: the published table of speed-ups, computed again from the published means.

use super::list;
use crate::paper::figures;

/// A speed-up that was printed.
struct Printed {
    runtime: &'static str,
    cost: u32,
    n: usize,
    printed: f64,
}

impl Printed {
    /// What the published means give.
    fn computed(&self) -> f64 {
        let case = format!("BCrypt cost {}", self.cost);
        let mean = |arm: &str| {
            let mut figures = figures().iter();
            let found = figures.find(|figure| {
                figure.experiment == "E1b"
                    && figure.runtime == self.runtime
                    && (figure.case.as_str(), figure.n) == (case.as_str(), self.n)
                    && figure.arm == arm
            });
            found.map_or(f64::NAN, |figure| figure.mean_nanos)
        };
        mean("sequential") / mean("for")
    }

    /// Printed numbers are rounded, some of them down.
    fn is_wrong(&self) -> bool {
        (self.computed() - self.printed).abs() > 0.01
    }
}

/// What is wrong in the table, and what its means should be.
pub(super) fn remarks() -> Vec<String> {
    let table = table();
    let wrong = table.iter().filter(|cell| cell.is_wrong()).map(|cell| {
        let (runtime, cost, n, printed) = (cell.runtime, cell.cost, cell.n, cell.printed);
        let computed = cell.computed();
        format!("{runtime} at cost {cost} and n = {n}: {computed:.3}, printed as {printed}")
    });
    let columns = RUNTIMES.map(|runtime| {
        let column = table.iter().filter(|cell| cell.runtime == runtime);
        column.map(Printed::computed).collect::<Vec<_>>()
    });
    let all = columns.concat();
    let each = |average: fn(&[f64]) -> f64| {
        list(
            columns
                .iter()
                .map(|column| format!("{:.3}", average(column))),
        )
    };
    vec![
        format!(
            "Speed-ups in the published table that its own means contradict: {}.",
            list(wrong)
        ),
        format!(
            "With them put right the runtimes' means are {}, and {:.3} over all, printed as \
             {PRINTED_MEAN}; the geometric means, which suit ratios, are {}.",
            each(mean),
            mean(&all),
            each(geometric_mean)
        ),
    ]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn geometric_mean(values: &[f64]) -> f64 {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).exp()
}

fn table() -> Vec<Printed> {
    let rows = PRINTED.into_iter();
    rows.flat_map(|(cost, n, row)| {
        RUNTIMES
            .into_iter()
            .zip(row)
            .map(move |(runtime, printed)| Printed {
                runtime,
                cost,
                n,
                printed,
            })
    })
    .collect()
}

const RUNTIMES: [&str; 3] = [".NET 8.0", "NativeAOT 8.0", ".NET Framework 4.8.1"];

/// Cost, n, and the printed speed-up of each runtime.
const PRINTED: [(u32, usize, [f64; 3]); 6] = [
    (4, 5, [3.189, 3.353, 3.027]),
    (4, 100, [4.723, 4.465, 4.625]),
    (4, 10_000, [5.495, 4.957, 5.095]),
    (10, 5, [3.76, 3.232, 2.998]),
    (10, 10, [3.905, 4.353, 4.26]),
    (10, 100, [4.814, 5.412, 5.067]),
];
const PRINTED_MEAN: f64 = 4.263;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cells_of_the_table_are_wrong() {
        let wrong: Vec<_> = table().into_iter().filter(Printed::is_wrong).collect();
        let found: Vec<_> = wrong
            .iter()
            .map(|cell| {
                (
                    cell.runtime,
                    format!("{:.3}", cell.computed()),
                    cell.printed,
                )
            })
            .collect();
        let expected = [
            ("NativeAOT 8.0", "5.841".to_owned(), 4.957),
            (".NET Framework 4.8.1", "6.455".to_owned(), 5.095),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_means_are_put_right() {
        let remarks = remarks();
        assert!(remarks[1].contains("4.314, 4.443 and 4.405"), "{remarks:?}");
        assert!(
            remarks[1].contains("4.387 over all, printed as 4.263"),
            "{remarks:?}"
        );
        assert!(remarks[1].contains("4.245, 4.338 and 4.244"), "{remarks:?}");
    }
}
