//! What the arguments ask for: how long to measure, which contenders, which cases.

use std::time::Duration;

use crate::cli::Settings;
use crate::machine;
use crate::report::Report;
use crate::shuffle;
use crate::team::{Arm, Outcome};

/// How long and in what order a comparison measures.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) window: Duration,
    pub(crate) seed: u64,
}

impl Plan {
    /// The problem's own rounds and window, unless the arguments say otherwise.
    pub(crate) fn new(settings: &Settings, rounds: usize, window: Duration) -> Self {
        let (rounds, window) = if settings.quick {
            (rounds.min(QUICK_ROUNDS), window / 4)
        } else {
            (rounds, window)
        };
        Self {
            rounds: settings.rounds.map_or(rounds, usize::from),
            window,
            seed: settings.seed.unwrap_or_else(shuffle::seed_from_clock),
        }
    }

    /// The first lines of every report.
    pub(crate) fn describe(&self, report: &mut Report) {
        report.line(&machine::line());
        report.line("");
        let window = match self.window {
            Duration::ZERO => String::new(),
            window => format!(" windows of {} ms,", window.as_millis()),
        };
        report.line(&format!(
            "Method: rounds {},{window} one process per contender, one running at a time, order \
             shuffled in each round (seed {}). Ratios are medians over rounds of the ratio within \
             the round.",
            self.rounds, self.seed,
        ));
        report.line("");
    }
}

/// Refuses names that no contender has.
pub(crate) fn check_names(arms: &[Arm], only: &[String]) -> Result<(), String> {
    let unknown = only
        .iter()
        .find(|name| !arms.iter().any(|arm| arm.contender == name.as_str()));
    let Some(name) = unknown else { return Ok(()) };
    let mut names: Vec<&str> = arms.iter().map(|arm| arm.contender).collect();
    names.dedup();
    Err(format!(
        "no contender '{name}'; there are {}",
        names.join(", ")
    ))
}

/// The cases that have all the words of `--cases`; the error says that none has.
pub(crate) fn select(cases: Vec<String>, settings: &Settings) -> Result<Vec<String>, Outcome> {
    let wanted: Vec<&str> = settings.cases.split_whitespace().collect();
    let has_all = |case: &String| {
        wanted
            .iter()
            .all(|word| case.split(' ').any(|w| w == *word))
    };
    let first = cases.first().cloned().unwrap_or_default();
    let selected: Vec<String> = cases.into_iter().filter(has_all).collect();
    if selected.is_empty() {
        let words = &settings.cases;
        return Err(Outcome::Refused(format!(
            "no case has '{words}'; the first is '{first}'"
        )));
    }
    Ok(selected)
}

/// Rounds of `--quick`.
const QUICK_ROUNDS: usize = 3;
