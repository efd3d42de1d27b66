//! Arguments as meant: defaults filled in, values checked, nothing left to decide.

use crate::typed::{Typed, TypedCommand, TypedTour};
use manyhands_lab::Scale;
use std::{path::PathBuf, time::Duration};

/// What to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// The tour.
    Tour(Tour),
}

/// A tour with everything settled.
#[derive(Debug, PartialEq)]
pub(crate) struct Tour {
    pub(crate) out: PathBuf,
    pub(crate) seed: u64,
    pub(crate) budget: Duration,
    pub(crate) scale: Scale,
}

/// Works out what was meant, or says in one line why nothing sensible was.
pub(crate) fn mean(typed: Typed) -> Result<Command, String> {
    let command = typed
        .command
        .unwrap_or_else(|| TypedCommand::Tour(TypedTour::default()));
    match command {
        TypedCommand::Tour(tour) => mean_tour(tour).map(Command::Tour),
    }
}

fn mean_tour(typed: TypedTour) -> Result<Tour, String> {
    let out = typed.out.unwrap_or_else(|| DEFAULT_OUT.into());
    if out.as_os_str().is_empty() {
        return Err("'--out' needs the name of a folder".to_owned());
    }
    if out.exists() && !out.is_dir() {
        return Err(format!("'--out {}' is a file, not a folder", out.display()));
    }
    let (scale, default_seconds) = if typed.quick {
        (Scale::Quick, QUICK_SECONDS)
    } else {
        (Scale::Full, FULL_SECONDS)
    };
    let seconds = typed.budget.unwrap_or(default_seconds);
    // Not a number fails this too.
    if !(SECONDS_MIN..=SECONDS_MAX).contains(&seconds) {
        return Err(format!(
            "'--budget {seconds}' is not between {SECONDS_MIN} and {SECONDS_MAX} seconds"
        ));
    }
    Ok(Tour {
        out,
        // Half the bits: short enough to be typed again.
        seed: typed.seed.unwrap_or_else(|| rand::random::<u32>().into()),
        budget: Duration::from_secs_f64(seconds),
        scale,
    })
}

const DEFAULT_OUT: &str = "manyhands-tour";
/// Leaves a third of the promised minute for slow machines and the chart.
const FULL_SECONDS: f64 = 40.0;
const QUICK_SECONDS: f64 = 10.0;
const SECONDS_MIN: f64 = 1.0;
const SECONDS_MAX: f64 = 3_600.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn tour(typed: TypedTour) -> Result<Tour, String> {
        let command = Some(TypedCommand::Tour(typed));
        mean(Typed { command }).map(|Command::Tour(tour)| tour)
    }

    #[test]
    fn nothing_typed_means_the_full_tour() {
        let Ok(Command::Tour(tour)) = mean(Typed { command: None }) else {
            panic!("refused");
        };
        assert_eq!(tour.out, PathBuf::from("manyhands-tour"));
        assert_eq!(tour.budget, Duration::from_secs(40));
        assert_eq!(tour.scale, Scale::Full);
    }

    #[test]
    fn a_quick_tour_has_its_own_budget_unless_one_is_given() {
        let quick = |budget| TypedTour {
            budget,
            quick: true,
            ..TypedTour::default()
        };
        assert_eq!(tour(quick(None)).unwrap().budget, Duration::from_secs(10));
        let given = tour(quick(Some(2.5))).unwrap();
        assert_eq!(given.budget, Duration::from_millis(2_500));
        assert_eq!(given.scale, Scale::Quick);
    }

    #[test]
    fn impossible_budgets_and_folders_are_refused_in_one_line() {
        fn check(typed: TypedTour, culprit: &str) {
            let complaint = tour(typed).unwrap_err();
            assert!(complaint.contains(culprit), "{complaint}");
            assert!(!complaint.contains('\n'));
        }
        for seconds in [0.0, -5.0, 0.5, 3_601.0, f64::NAN, f64::INFINITY] {
            let budget = Some(seconds);
            let typed = TypedTour {
                budget,
                ..TypedTour::default()
            };
            check(typed, "--budget");
        }
        for out in ["", "Cargo.toml"] {
            let typed = TypedTour {
                out: Some(out.into()),
                ..TypedTour::default()
            };
            check(typed, "--out");
        }
    }
}
