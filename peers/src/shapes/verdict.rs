//! Who wins: manyhands beside the best of the others, in both processes of a shape.

use manyhands_lab::contest::{self, CaseResult, Ratio};

use crate::report::Report;
use crate::shapes::OURS;

/// One process: the best of the others, and how manyhands compares with it.
#[derive(Debug)]
struct Beside {
    best: &'static str,
    best_nanos: f64,
    our_nanos: f64,
    ratio: Ratio,
}

/// A shape in both its processes.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) shape: String,
    processes: [Beside; 2],
}

/// What is said of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Faster than all others in both processes.
    Wins,
    /// Slower than the best by more than `LOSS`, in both.
    Loses,
    /// In one of them.
    LosesOnce,
    /// Neither.
    Even,
}

impl Measured {
    /// From the results of both processes; `None` where manyhands or all others have none.
    pub(crate) fn of(both: &[CaseResult; 2]) -> Option<Self> {
        let [first, second] = both;
        Some(Self {
            shape: first.case.clone(),
            processes: [beside(first)?, beside(second)?],
        })
    }

    fn verdict(&self) -> Verdict {
        let count = |is: fn(f64) -> bool| {
            let ratios = self.processes.iter().map(|beside| beside.ratio.median);
            ratios.filter(|&ratio| is(ratio)).count()
        };
        match (count(|ratio| ratio > LOSS), count(|ratio| ratio < 1.0)) {
            (2, _) => Verdict::Loses,
            (1, _) => Verdict::LosesOnce,
            (_, 2) => Verdict::Wins,
            _ => Verdict::Even,
        }
    }

    /// The ratio that both processes have at least.
    fn least(&self) -> f64 {
        let [first, second] = &self.processes;
        first.ratio.median.min(second.ratio.median)
    }

    fn row(&self) -> Vec<String> {
        let [first, second] = &self.processes;
        vec![
            self.shape.clone(),
            contest::time(first.our_nanos),
            first.best.to_owned(),
            contest::time(first.best_nanos),
            first.ratio.to_string(),
            second.ratio.to_string(),
            second.best.to_owned(),
        ]
    }
}

fn beside(result: &CaseResult) -> Option<Beside> {
    let others = result.arms.iter().map(|(arm, _)| arm.label);
    let times = others
        .filter(|&label| label != OURS)
        .filter_map(|label| Some((label, result.median(label, NANOS)?)));
    let (best, best_nanos) = times.min_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(Beside {
        best,
        best_nanos,
        our_nanos: result.median(OURS, NANOS)?,
        ratio: result.ratio(OURS, best, NANOS)?,
    })
}

/// Prints how many shapes win and lose, and both lists, the worst and the best first.
pub(crate) fn print(all: &[Measured], report: &mut Report) {
    let of = |verdict| {
        let mut some: Vec<&Measured> = all.iter().filter(|it| it.verdict() == verdict).collect();
        some.sort_by(|one, other| other.least().total_cmp(&one.least()));
        some
    };
    let (losers, mut winners) = (of(Verdict::Loses), of(Verdict::Wins));
    winners.reverse();
    report.line(&format!(
        "{} shapes. manyhands is faster than all others in both processes in {}, slower than the best by more than {LOSS} × \
         in both in {}, in one of them in {}.\n",
        all.len(),
        winners.len(),
        losers.len(),
        of(Verdict::LosesOnce).len(),
    ));
    table("Losers", &losers, report);
    table("Winners", &winners, report);
}

fn table(title: &str, shapes: &[&Measured], report: &mut Report) {
    report.line(&format!("### {title}\n"));
    if shapes.is_empty() {
        return report.line("None.\n");
    }
    let header = [
        "shape",
        "manyhands",
        "best other",
        "its time",
        "ratio",
        "again",
        "best other",
    ];
    let rows = shapes.iter().map(|shape| shape.row()).collect();
    report.table(&header.map(str::to_owned), rows);
}

/// A line for each contender, process and shape, with a title above. No field has a comma.
pub(crate) fn csv(all: &[[CaseResult; 2]]) -> String {
    let mut lines = vec!["shape,process,contender,nanos,to_plain".to_owned()];
    let processes = all.iter().flat_map(|both| both.iter().zip(1..));
    for (result, process) in processes {
        let Some((base, _)) = result.arms.first() else {
            continue;
        };
        for (arm, _) in &result.arms {
            let time = result.median(arm.label, NANOS);
            let ratio = result.ratio(arm.label, base.label, NANOS);
            if let (Some(nanos), Some(ratio)) = (time, ratio) {
                let (shape, label, ratio) = (&result.case, arm.label, ratio.median);
                lines.push(format!("{shape},{process},{label},{nanos:.1},{ratio:.4}"));
            }
        }
    }
    lines.join("\n") + "\n"
}

/// Above this ratio to the best of the others a shape is lost.
const LOSS: f64 = 1.15;
/// Place of the time per call among a sample's values.
const NANOS: usize = 0;

#[cfg(test)]
mod tests {
    use manyhands_lab::contest::{Arm, CaseResult, Sample, Verdict as Answer};

    use super::*;

    /// One process, with the times of plain, rayon and manyhands.
    fn result(times: [f64; 3]) -> CaseResult {
        let arm = |(label, nanos): (&'static str, f64)| {
            let sample = Sample {
                checksum: 1,
                values: vec![nanos],
            };
            (Arm::contender(label), Answer::Measured(vec![sample; 7]))
        };
        let labels = ["plain", "rayon", OURS];
        CaseResult {
            case: "main map even arithmetic 1 2".to_owned(),
            arms: labels.into_iter().zip(times).map(arm).collect(),
        }
    }

    fn verdict(first: [f64; 3], second: [f64; 3]) -> Verdict {
        let measured = Measured::of(&[result(first), result(second)]);
        measured.unwrap().verdict()
    }

    #[test]
    fn a_shape_is_lost_by_what_both_processes_say_of_the_best_other() {
        let (won, even, lost) = ([9.0, 8.0, 5.0], [9.0, 8.0, 8.1], [5.0, 9.0, 6.0]);
        assert_eq!(verdict(won, won), Verdict::Wins);
        assert_eq!(verdict(won, even), Verdict::Even);
        assert_eq!(verdict(won, lost), Verdict::LosesOnce);
        assert_eq!(verdict(lost, lost), Verdict::Loses);
    }

    #[test]
    fn the_worst_loser_comes_first_with_the_best_other_of_each_process() {
        let both = |times| [result(times), result([6.0, 5.0, times[2]])];
        let all = [both([5.0, 9.0, 6.0]), both([5.0, 9.0, 50.0])];
        let all: Vec<Measured> = all.iter().filter_map(Measured::of).collect();
        let mut report = Report::to_file(None).unwrap();
        print(&all, &mut report);
        let text = report.text();
        assert!(
            text.starts_with(
                "2 shapes. manyhands is faster than all others in both processes in 0, "
            )
        );
        assert!(
            text.contains("× in both in 2, in one of them in 0."),
            "{text}"
        );
        let rows: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("| main"))
            .collect();
        assert!(
            rows[0].contains("| 50.0 ns | plain | 5.00 ns | 10.0 (10.0 … 10.0) |"),
            "{text}"
        );
        assert!(rows[1].ends_with("| rayon |"), "{text}");
        assert!(text.ends_with("### Winners\n\nNone.\n\n"), "{text}");
    }

    #[test]
    fn a_shape_without_our_time_is_no_shape() {
        let mut failed = result([1.0; 3]);
        failed.arms[2].1 = Answer::Failed("lost".to_owned());
        assert!(Measured::of(&[failed.clone(), failed]).is_none());
    }

    #[test]
    fn the_file_has_a_line_for_each_contender_and_process() {
        let text = csv(&[[result([8.0, 6.0, 4.0]), result([8.0, 6.0, 2.0])]]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(
            lines[3],
            "main map even arithmetic 1 2,1,manyhands,4.0,0.5000"
        );
        assert_eq!(
            lines[6],
            "main map even arithmetic 1 2,2,manyhands,2.0,0.2500"
        );
    }
}
