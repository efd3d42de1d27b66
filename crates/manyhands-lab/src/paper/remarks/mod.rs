//! What can be said about the published figures by computing: one list of sentences per experiment.

mod calls;
mod hashes;
mod rounds;
mod speed_ups;
mod tasks;

use super::{Figure, Paper, of};
use crate::findings::Findings;

/// Sentences about an experiment, from the published figures and, if there are any, the findings here.
///
/// None for an experiment that nothing was published about.
///
/// # Examples
/// ```
/// let remarks = manyhands_lab::paper::remarks("E1b", None);
/// assert!(remarks[0].contains("5.841"));
/// ```
#[must_use]
pub fn remarks(experiment_id: &str, findings: Option<&Findings>) -> Vec<String> {
    let Some(paper) = of(experiment_id) else {
        return Vec::new();
    };
    let mut remarks = match experiment_id.to_ascii_uppercase().as_str() {
        "E1B" => speed_ups::remarks(),
        "E2" | "E5" => hashes::remarks(findings),
        "E6" => tasks::switching(&paper, findings),
        "E7" => [rounds::light_items(), hashes::remarks(findings)].concat(),
        "E8" => rounds::remarks("E8"),
        "E9" => [rounds::remarks("E9"), vec![RACE.to_owned()]].concat(),
        "E10" | "E11" => tasks::counting(&paper),
        "E12" => tasks::sleeping(&paper, findings),
        "E13" => tasks::queueing(&paper, findings),
        "E14" => calls::remarks(&paper, findings),
        _ => Vec::new(),
    };
    remarks.extend(unconverged_remark(&paper));
    remarks
}

/// The figures of a paper whose standard deviation is more than 5 % of the mean: they had not settled
/// when the measurement ended.
#[must_use]
pub fn unconverged(paper: &Paper) -> Vec<&Figure> {
    let cells = paper.cells.iter();
    cells.filter(|cell| cell.is_unconverged()).collect()
}

fn unconverged_remark(paper: &Paper) -> Option<String> {
    let mut cells = unconverged(paper);
    cells.sort_by(|one, other| other.deviation().total_cmp(&one.deviation()));
    let worst: Vec<String> = cells
        .iter()
        .take(LISTED_MAX)
        .map(|cell| {
            let percent = cell.deviation() * 100.0;
            format!(
                "{} at n = {}, {} ({percent:.0} %)",
                cell.case, cell.n, cell.arm
            )
        })
        .collect();
    let which = match cells.len() {
        0 => return None,
        1..=LISTED_MAX => "they are",
        _ => "the worst are",
    };
    Some(format!(
        "{} of {} published means had not settled (standard deviation above 5 % of the mean); \
         {which} {}.",
        cells.len(),
        paper.cells.len(),
        worst.join("; ")
    ))
}

/// Times the first arm takes as long as the second, by case and size.
fn speed_ups<'a>(
    paper: &'a Paper,
    baseline: &'a str,
    arm: &'a str,
) -> impl Iterator<Item = (&'a Figure, f64)> {
    let of_arm = move |cell: &&Figure| cell.arm == arm;
    paper.cells.iter().filter(of_arm).filter_map(move |cell| {
        let is_base =
            |other: &&Figure| other.arm == baseline && other.case == cell.case && other.n == cell.n;
        let base = paper.cells.iter().find(is_base)?;
        Some((cell, base.mean_nanos / cell.mean_nanos))
    })
}

/// "1, 2 and 3".
fn list(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// The published parallel `foreach` appends to one list from all threads. Here it does not compile:
/// ```compile_fail,E0596
/// let mut hashes = Vec::new();
/// manyhands::parallel::for_each(0..300, |index| hashes.push(index));
/// ```
/// What was meant compiles, and keeps the order:
/// ```
/// let hashes = manyhands::parallel::map(0..300, |index| index);
/// assert_eq!(hashes.len(), 300);
/// ```
const RACE: &str = "The published Parallel.ForEach appends to one List<string> from several threads at \
    once, which may lose items and would not be noticed. The same loop in Rust does not compile: \
    error[E0596]: cannot borrow `hashes` as mutable, as it is a captured variable in a `Fn` closure.";

const LISTED_MAX: usize = 5;

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn remarks_are_whole_sentences() {
        for experiment in registry::experiments() {
            for remark in remarks(experiment.id(), None) {
                assert!(remark.ends_with('.') && !remark.contains('\n'), "{remark}");
                assert!(
                    !remark.contains("NaN") && !remark.contains("  "),
                    "{remark}"
                );
            }
        }
        assert!(remarks("E99", None).is_empty());
    }

    #[test]
    fn cells_that_had_not_settled_are_named() {
        let paper = of("E4").unwrap();
        let cells = unconverged(&paper);
        assert!(
            cells
                .iter()
                .any(|cell| cell.n == 1_000 && cell.arm == "query, ordered")
        );
        assert!(
            cells
                .iter()
                .all(|cell| cell.n != 1_000 || cell.arm != "iter")
        );
        let remark = unconverged_remark(&paper).unwrap();
        assert!(
            remark.contains("primes at n = 1000, query, ordered (21 %)"),
            "{remark}"
        );
        assert_eq!(unconverged_remark(&of("E10").unwrap()), None);
    }

    #[test]
    fn lists_read_like_sentences() {
        let parts = |parts: &[&str]| list(parts.iter().map(|part| (*part).to_owned()));
        assert_eq!(parts(&["1"]), "1");
        assert_eq!(parts(&["1", "2"]), "1 and 2");
        assert_eq!(parts(&["1", "2", "3"]), "1, 2 and 3");
    }
}
