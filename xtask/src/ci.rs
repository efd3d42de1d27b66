//! All steps in order, with the time of each; stops at the first that fails.
//!
//! Seconds first, then what finds most; the tests come last, so that their closing lines stand
//! right above the summary.

use std::fmt::Write;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::failure::Failure;
use crate::step::compat::{Extent as Published, Part};
use crate::step::{self, explore::Extent, loom::PREEMPTIONS_DEFAULT, miri::SEEDS_DEFAULT};
use crate::tidy;

struct Step {
    name: &'static str,
    run: fn() -> Result<(), Failure>,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        run: step::format::run,
    },
    Step {
        name: "tidy",
        run: || tidy::run(tidy::Mode::Check),
    },
    Step {
        name: "clippy",
        run: step::clippy::run,
    },
    Step {
        name: "docs",
        run: step::docs::run,
    },
    Step {
        name: "depends",
        run: step::dependencies::run,
    },
    Step {
        name: "package",
        run: step::package::run,
    },
    Step {
        name: "peers",
        run: step::peers::run,
    },
    Step {
        name: "compat",
        run: || step::compat::run(Part::Suites(Published::Short)),
    },
    Step {
        name: "loom",
        run: || step::loom::run(PREEMPTIONS_DEFAULT),
    },
    Step {
        name: "miri",
        run: || step::miri::run(SEEDS_DEFAULT),
    },
    Step {
        name: "explore",
        run: || step::explore::run(&Extent::Ci),
    },
    Step {
        name: "examples",
        run: step::examples::run,
    },
    Step {
        name: "tour",
        run: step::tour::run,
    },
    Step {
        name: "test",
        run: step::test::run,
    },
];

pub(crate) fn run() -> Result<(), Failure> {
    let (times, outcome) = run_in_order(STEPS);
    print!("{}", summary(STEPS, &times, &outcome));
    outcome
}

/// The time of every step that was started, and how the last of them ended.
fn run_in_order(steps: &[Step]) -> (Vec<Duration>, Result<(), Failure>) {
    let mut times = Vec::new();
    for (idx, step) in steps.iter().enumerate() {
        println!("\n==> {} ({} of {})", step.name, idx + 1, steps.len());
        let watch = Stopwatch::start();
        let outcome = (step.run)();
        let elapsed = watch.elapsed();
        times.push(elapsed);
        if let Err(failure) = outcome {
            let failure = Failure::new(format!("step `{}`: {failure}", step.name));
            return (times, Err(failure));
        }
        println!(
            "<== {}: passed in {:.1} s",
            step.name,
            elapsed.as_secs_f64()
        );
    }
    (times, Ok(()))
}

fn summary(steps: &[Step], times: &[Duration], outcome: &Result<(), Failure>) -> String {
    let mut table = String::from("\nstep        seconds  result\n");
    for (idx, step) in steps.iter().enumerate() {
        let last = idx + 1 == times.len();
        let result = match outcome {
            Err(_) if last => "FAILED",
            _ => "passed",
        };
        // Writing to a `String` cannot fail.
        let _ = match times.get(idx) {
            Some(time) => writeln!(
                table,
                "{:10} {:8.1}  {result}",
                step.name,
                time.as_secs_f64()
            ),
            None => writeln!(table, "{:10} {:>8}  not run", step.name, "-"),
        };
    }
    let total: Duration = times.iter().sum();
    let result = if outcome.is_ok() { "passed" } else { "FAILED" };
    let _ = writeln!(
        table,
        "{:10} {:8.1}  {result}",
        "total",
        total.as_secs_f64()
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: &[Step] = &[
        Step {
            name: "good",
            run: || Ok(()),
        },
        Step {
            name: "bad",
            run: || Err(Failure::new("the lamp is out")),
        },
        Step {
            name: "never",
            run: || panic!("started after a failure"),
        },
    ];

    #[test]
    fn the_first_failure_stops_the_run_and_is_named() {
        let (times, outcome) = run_in_order(BROKEN);
        assert_eq!(times.len(), 2);
        assert_eq!(
            outcome.unwrap_err().to_string(),
            "step `bad`: the lamp is out"
        );
    }

    #[test]
    fn the_summary_tells_passed_failed_and_not_run_apart() {
        let (times, outcome) = run_in_order(BROKEN);
        let table = summary(BROKEN, &times, &outcome);
        let ends: Vec<&str> = table
            .lines()
            .filter_map(|line| line.split_once("  ").map(|_| line.trim_end()))
            .map(|line| line.rsplit(' ').next().unwrap_or_default())
            .collect();
        assert_eq!(ends, ["result", "passed", "FAILED", "run", "FAILED"]);
    }

    #[test]
    fn a_good_run_says_passed_everywhere() {
        let good = &BROKEN[..1];
        let (times, outcome) = run_in_order(good);
        assert!(!summary(good, &times, &outcome).contains("FAILED"));
    }
}
