//! A run as its lines say, and whether it is one that its job asks for.
//!
//! An agent sends what it likes. A run counts only if its head is the one that the server would write for the job, but for
//! the machine and the time, and if every event is one of that head's. What counts can be analysed, drawn and exported.

use crate::{
    FleetError,
    agent::Outcome,
    time::unix_seconds,
    wire::{Cpus, Job, Work},
};
use manyhands_lab::{
    Experiment,
    findings::{self, Findings},
    machine::Machine,
    plain::is_harmful,
    record::{Block, CaseCard, Event, Head},
    run,
    verdict::Verdict,
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

/// A run.
#[derive(Debug)]
pub(crate) struct Measured {
    /// What the machine is called in the table of prices.
    pub(crate) machine: Option<String>,
    pub(crate) head: Head,
    pub(crate) events: Vec<(Event, Duration)>,
    pub(crate) commands: Vec<Outcome>,
}

/// What a run that counts has found, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) blocks: u64,
    pub(crate) disturbed: u64,
    /// One line for people.
    pub(crate) answer: String,
}

/// A line of the laboratory's file, of which only the time is read here.
#[derive(Deserialize)]
struct Spent {
    #[serde(default)]
    spent_millis: u64,
}

impl Measured {
    /// Reads a run's lines.
    pub(crate) fn read(lines: &[String], machine: Option<String>) -> Result<Self, FleetError> {
        let parse = FleetError::format::<serde_json::Error>;
        let (head, rest) = lines
            .split_first()
            .ok_or_else(|| wrong("it has no lines"))?;
        let head: Head = serde_json::from_str(head).map_err(parse("the head of a run"))?;
        let (mut events, mut commands) = (Vec::new(), Vec::new());
        for line in rest {
            if head.experiments.is_empty() {
                commands.push(serde_json::from_str(line).map_err(parse("a command's outcome"))?);
                continue;
            }
            let event = serde_json::from_str(line).map_err(parse("an event"))?;
            let Spent { spent_millis } = serde_json::from_str(line).map_err(parse("an event"))?;
            events.push((event, Duration::from_millis(spent_millis)));
        }
        Ok(Self {
            machine,
            head,
            events,
            commands,
        })
    }

    /// Reads the lines that an agent says are a run of this job. The error is why they are none.
    pub(crate) fn of_job(
        lines: &[String],
        job: &Job,
        experiments: &[Experiment],
    ) -> Result<Found, FleetError> {
        let measured = Self::read(lines, None)?;
        measured.check_head(job, experiments)?;
        let cards = measured.head.experiments.iter();
        let mut cases = cards.flat_map(|one| one.cases.iter().map(|case| (one.id.as_str(), case)));
        match cases.next() {
            Some((id, case)) => {
                for (event, spent) in &measured.events {
                    let is_in_time = *spent <= SPENT_MAX;
                    if event.subject() != (id, case.name.as_str())
                        || !is_in_time
                        || !is_of_case(event, case)
                    {
                        return Err(wrong("an event is none of its case"));
                    }
                }
            }
            None if measured.commands.len() != 1 => {
                return Err(wrong("a command has one outcome"));
            }
            None => {}
        }
        // Whatever the numbers are: a page that cannot be made would be one for everybody.
        let found = catch_unwind(AssertUnwindSafe(|| measured.found()));
        found.map_err(|_| wrong("it cannot be analysed"))
    }

    /// The head is what this server would write, but for the machine and the time.
    fn check_head(&self, job: &Job, experiments: &[Experiment]) -> Result<(), FleetError> {
        let head = &self.head;
        let machine = serde_json::to_value(&head.machine).map_err(FleetError::format("a head"))?;
        let started = head.started.parse::<jiff::Timestamp>();
        let times = STARTED_MIN..=unix_seconds().saturating_add(STARTED_AHEAD_MAX);
        let is_then = started.is_ok_and(|started| times.contains(&started.as_second()));
        let cpus = Cpus::try_from(head.machine.cpus as u64);
        let is_wanted = |cpus| job.cpus.is_none_or(|wanted| wanted == cpus);
        if !cpus.is_ok_and(is_wanted) || !is_plain(&machine) || !is_then {
            return Err(wrong("its machine or its time is none"));
        }
        let expected = head_of(&job.work, experiments, head.machine.clone(), &head.started);
        match expected {
            Some(expected) if expected == *head => Ok(()),
            _ => Err(wrong(
                "its head is not what the job asks for; is the agent of another version?",
            )),
        }
    }

    /// What this run found by itself.
    pub(crate) fn findings(&self) -> Findings {
        let events: Vec<Event> = self.events.iter().map(|(event, _)| event.clone()).collect();
        findings::analyse(&self.head, &events)
    }

    fn found(&self) -> Found {
        if let Some(outcome) = self.commands.first() {
            let seconds = outcome.wall_nanos as f64 / 1e9;
            let answer = match outcome.status {
                Some(status) => format!("status {status} after {seconds:.1} s"),
                None => format!("ended by a signal after {seconds:.1} s"),
            };
            return Found {
                blocks: 0,
                disturbed: 0,
                answer,
            };
        }
        let findings = self.findings();
        Found {
            blocks: findings.blocks as u64,
            disturbed: findings.disturbed as u64,
            answer: answer(&findings),
        }
    }

    pub(crate) fn samples(&self) -> usize {
        let blocks = self.events.iter().filter_map(|(event, _)| match event {
            Event::Block { block, .. } => Some(block.samples.len()),
            _ => None,
        });
        blocks.sum()
    }
}

/// The head of a run of this work; `None` if there is no such case.
pub(crate) fn head_of(
    work: &Work,
    experiments: &[Experiment],
    machine: Machine,
    started: &str,
) -> Option<Head> {
    let settings = work.settings();
    let Work::Case {
        experiment, case, ..
    } = work
    else {
        return Some(run::head(&[], settings, machine, started));
    };
    let only = experiments.iter().find(|one| one.id() == &**experiment)?;
    let mut head = run::head(std::slice::from_ref(only), settings, machine, started);
    let cases = &mut head.experiments[0].cases;
    cases.retain(|one| one.name == **case);
    (!cases.is_empty()).then_some(head)
}

/// Whether an event is one that this case can have, of those that a job asks for.
fn is_of_case(event: &Event, case: &CaseCard) -> bool {
    let largest = case.sizes.iter().max().copied().unwrap_or(0);
    let is_size = |n: usize| case.sizes.contains(&n) || (case.finds_break_even && n <= largest);
    match event {
        Event::Piloted { nanos, .. } => {
            nanos.len() <= case.arms.len() + 1 && nanos.iter().copied().all(is_time)
        }
        Event::Launched {
            launch,
            clock_cost_nanos,
            clock_grain_nanos,
            ..
        } => *launch < LAUNCH_MAX && is_time(*clock_cost_nanos) && is_time(*clock_grain_nanos),
        Event::Block { key, block } => is_size(key.n) && is_of_arms(block, case.arms.len()),
        Event::Failed { .. } => true,
        // No job asks for them.
        Event::Memory { .. } | Event::Cores { .. } => false,
    }
}

fn is_time(nanos: f64) -> bool {
    nanos.is_finite() && nanos >= 0.0
}

fn is_of_arms(block: &Block, arms: usize) -> bool {
    let samples = block.samples.len();
    let is_place = |place: &usize| *place < samples;
    block.launch < LAUNCH_MAX
        && (arms..=arms + 1).contains(&samples)
        && block.order.len() == samples
        && block.order.iter().all(is_place)
}

/// Whether nothing in a value steers a terminal or is longer than a line.
fn is_plain(value: &Value) -> bool {
    let is_plain_text = |text: &str| text.len() <= LINE_MAX && !text.chars().any(is_harmful);
    match value {
        Value::String(text) => is_plain_text(text),
        Value::Array(values) => values.iter().all(is_plain),
        Value::Object(fields) => fields
            .iter()
            .all(|(name, one)| is_plain_text(name) && is_plain(one)),
        _ => true,
    }
}

/// What the arms have come to at the largest size, in a line.
fn answer(findings: &Findings) -> String {
    if findings.blocks > 0 && !findings.quiet {
        return "the machine was not quiet enough for an answer".to_owned();
    }
    let cases = findings.experiments.iter().flat_map(|one| &one.cases);
    let answers = cases.filter_map(|case| {
        let point = case.points.last()?;
        let arms = case.card.arms.iter().skip(1).zip(&point.comparisons);
        let arms = arms.map(|(arm, one)| match one.clean {
            Some(clean) => format!("{arm} {:.2}×, {}", clean.median, word(one.verdict)),
            None => format!("{arm} undecided"),
        });
        let arms: Vec<String> = arms.collect();
        Some(format!("at {}: {}", point.n, arms.join("; ")))
    });
    let answers: Vec<String> = answers.collect();
    match answers.is_empty() {
        true => "nothing was measured".to_owned(),
        false => answers.join("; "),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no difference",
        Verdict::Undecided => "undecided",
    }
}

fn wrong(reason: &str) -> FleetError {
    FleetError::Format {
        what: "a run",
        reason: reason.to_owned(),
    }
}

/// Processes of a case that were started, with those that were started anew.
const LAUNCH_MAX: u32 = 4_096;
const LINE_MAX: usize = 1_000;
/// Seconds since 1970: the year 2026, before which nobody had this program.
const STARTED_MIN: i64 = 1_767_225_600;
/// Seconds that the engine's clock may be before this machine's: a day.
const STARTED_AHEAD_MAX: i64 = 86_400;
/// A year.
const SPENT_MAX: Duration = Duration::from_secs(31_536_000);
