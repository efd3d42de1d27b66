//! What the arguments ask for: how long to measure, which contenders, which cases.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use manyhands_lab::contest::{
    Arm, CaseResult, Conditions, Contest, Lifetime, MIN_ROUNDS, Request, Role,
};
use manyhands_lab::record;

use crate::against;
use crate::cli::Settings;
use crate::report::Report;

/// How long and in what order a comparison measures.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    problem: &'static str,
    settings: &'a Settings,
    pub(crate) rounds: usize,
    pub(crate) window: Duration,
    seed: u64,
}

impl<'a> Plan<'a> {
    /// The problem's own rounds and window, unless the arguments say otherwise.
    pub(crate) fn new(
        problem: &'static str,
        settings: &'a Settings,
        rounds: usize,
        window: Duration,
    ) -> Self {
        let extent = settings.extent;
        let rounds = match (extent.quick, extent.short) {
            (true, _) => rounds.min(QUICK_ROUNDS),
            (_, true) => rounds.min(MIN_ROUNDS),
            _ => rounds,
        };
        let window = if extent.is_full() { window } else { window / 4 };
        Self {
            problem,
            settings,
            rounds: settings.rounds.map_or(rounds, usize::from),
            window,
            seed: settings.seed.unwrap_or_else(record::Settings::drawn_seed),
        }
    }

    /// What decides the order of contenders, and what is drawn.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The first lines of every report.
    pub(crate) fn describe(&self, title: &str, report: &mut Report) {
        let (rounds, seed) = (self.rounds, Some(self.seed));
        let command = self.settings.command(self.problem, rounds, seed);
        let conditions = Conditions::here(rounds, seed, self.window, command);
        report.line(&format!("## {title}\n\n{conditions}\n"));
    }

    /// The cases that have all the words of `--cases`; the error says that none has.
    pub(crate) fn select(&self, cases: Vec<String>) -> Result<Vec<String>, String> {
        let words = &self.settings.cases;
        let wanted: Vec<&str> = words.split_whitespace().collect();
        let has_all = |case: &String| {
            wanted
                .iter()
                .all(|word| case.split(' ').any(|w| w == *word))
        };
        let first = cases.first().cloned().unwrap_or_default();
        let selected: Vec<String> = cases.into_iter().filter(has_all).collect();
        if selected.is_empty() {
            return Err(format!("no case has '{words}'; the first is '{first}'"));
        }
        Ok(selected)
    }

    /// Measures all cases with the base and the arms that the settings select.
    pub(crate) fn run(
        &self,
        arms: &[Arm],
        lifetime: Lifetime,
        cases: &[String],
    ) -> Vec<CaseResult> {
        let settings = self.settings;
        let is_selected = |arm: &&Arm| arm.role == Role::Base || settings.selects(arm.contender);
        let mut arms: Vec<Arm> = arms.iter().filter(is_selected).copied().collect();
        if settings.against.is_some() {
            arms = against::with_twins(&arms);
        }
        let contest = Contest::new(self.problem, &arms, lifetime, self.seed);
        let mut contest = contest.against(settings.against.clone());
        let run = |(case, number): (&String, usize)| {
            progress(&format!(
                "{} {number}/{}: {case}",
                self.problem,
                cases.len()
            ));
            let request = Request {
                case: case.clone(),
                window: self.window,
            };
            contest.run(&request, self.rounds)
        };
        let results = cases.iter().zip(1..).map(run).collect();
        progress("");
        results
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

/// Overwrites the progress line; nothing when standard error is not a terminal.
fn progress(text: &str) {
    let mut output = stderr();
    if output.is_terminal() {
        let _ = write!(output, "\r\x1b[K{text}");
        let _ = output.flush();
    }
}

/// Rounds of `--quick`.
const QUICK_ROUNDS: usize = 3;
