//! The parent's side: starts all contenders, lets them idle together, and prints what they used.

use std::time::Duration;

use manyhands_lab::contest::{Arm, Conditions, MIN_ROUNDS, Peer, Request, Role, Sample};
use manyhands_lab::stats::{median, rank_interval};

use crate::cli::Settings;
use crate::idle::ARMS;
use crate::report::{Outcome, Report};

/// The measurement, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    if !settings.cases.is_empty() || settings.seed.is_some() {
        return Err("idle has no cases, and no order that a seed could draw".to_owned());
    }
    let (window, rounds) = if settings.extent.quick { QUICK } else { USUAL };
    let rounds = settings.rounds.map_or(rounds, usize::from);
    let request = Request {
        case: "idle".to_owned(),
        window,
    };
    let command = settings.command("idle", rounds, None);
    let conditions = Conditions::here(rounds, None, window, command);
    report.line(&format!("## Idle\n\n{conditions}\n"));
    report.line(&format!(
        "Milliseconds of CPU time in {} idle seconds after 200 ms of work, and threads of the process.\n",
        window.as_secs()
    ));
    let arms = ARMS.iter().filter(|arm| {
        debug_assert_eq!(arm.role, Role::Contender, "idle has no base");
        settings.selects(arm.contender)
    });
    let mut arms: Vec<IdleArm> = arms.map(IdleArm::new).collect();
    for _ in 0..rounds {
        idle_together(&mut arms, &request);
    }
    let header = [
        "".to_owned(),
        format!("first {} ms", window.as_millis() / 10),
        "the rest".to_owned(),
        format!("{} s after it", window.as_secs_f64() / 5.0),
        "threads before".to_owned(),
        "threads after".to_owned(),
    ];
    report.table(&header, arms.iter().map(IdleArm::row).collect());
    let has_failed = arms.iter().any(|arm| arm.failure.is_some());
    Ok(if has_failed {
        Outcome::Failed
    } else {
        Outcome::Agreed
    })
}

/// A row of the table.
struct IdleArm {
    label: &'static str,
    contender: &'static str,
    /// What each round measured.
    samples: Vec<Sample>,
    absence: Option<String>,
    failure: Option<String>,
}

/// One round: new processes, which idle at the same time.
fn idle_together(arms: &mut [IdleArm], request: &Request) {
    let mut peers: Vec<Result<Peer, String>> = arms
        .iter()
        .map(|arm| Peer::start(None, "idle", arm.contender))
        .collect();
    for peer in &mut peers {
        ask(peer, request);
    }
    for (arm, peer) in arms.iter_mut().zip(peers) {
        match peer.map(|mut peer| peer.receive()) {
            Err(reason) => arm.absence = Some(reason),
            Ok(Err(message)) => arm.failure = Some(message),
            Ok(Ok(sample)) => arm.samples.push(sample),
        }
    }
}

/// A send that fails leaves a dead process, which the answer then reports.
fn ask(peer: &mut Result<Peer, String>, request: &Request) {
    if let Ok(peer) = peer {
        let _ = peer.send(request);
    }
}

impl IdleArm {
    fn new(arm: &'static Arm) -> Self {
        Self {
            label: arm.label,
            contender: arm.contender,
            samples: Vec::new(),
            absence: None,
            failure: None,
        }
    }

    fn row(&self) -> Vec<String> {
        let cells = match (&self.failure, &self.absence) {
            (Some(message), _) => without_values(format!("FAILED: {message}")),
            (None, Some(reason)) => without_values(format!("absent: {reason}")),
            (None, None) => (0..VALUES).map(|index| self.cell(index)).collect(),
        };
        [self.label.to_owned()].into_iter().chain(cells).collect()
    }

    /// The median over rounds, with its interval.
    fn cell(&self, index: usize) -> String {
        let values: Vec<f64> = self
            .samples
            .iter()
            .map(|sample| sample.values[index])
            .collect();
        let is_time = index < TIMES;
        let shown = |value: f64| match is_time {
            true => format!("{value:.2}"),
            false => format!("{value:.0}"),
        };
        let unit = if is_time { " ms" } else { "" };
        let median = median(&values).map_or_else(|| "·".to_owned(), &shown);
        match rank_interval(&values).filter(|_| values.len() >= MIN_ROUNDS) {
            Some(interval) => format!(
                "{median} ({} … {}){unit}",
                shown(interval.low),
                shown(interval.high)
            ),
            None => format!("{median} (–){unit}"),
        }
    }
}

/// Cells that say why there are no values.
fn without_values(why: String) -> Vec<String> {
    let values = std::iter::repeat_n("·".to_owned(), VALUES - 1);
    [why].into_iter().chain(values).collect()
}

/// Values of a sample: CPU times, then numbers of threads.
const VALUES: usize = 5;
const TIMES: usize = 3;
/// How long contenders idle, and how often.
const USUAL: (Duration, usize) = (Duration::from_secs(10), 7);
const QUICK: (Duration, usize) = (Duration::from_secs(2), 1);
