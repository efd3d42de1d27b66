//! What a plan has cost, from the time that its runs took, whether they count or not.

use super::{Prices, Usd};
use crate::{
    FleetError,
    agent::Outcome,
    server::{Database, SpentRow},
};
use jiff::civil::Date;
use manyhands_lab::record::Head;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write};

/// What a plan has cost so far.
///
/// The time is that of the runs, as their lines in the database say: a run that was given up or that another one replaced
/// costs as much as one that counts. Time in which a machine started, waited, or measured what never arrived is in the
/// provider's bill and not in this one.
///
/// # Examples
/// ```
/// use manyhands_fleet::{FleetError, price::{Bill, Prices}, server::Database};
///
/// let folder = tempfile::tempdir()?;
/// let database = Database::open(&folder.path().join("fleet.sqlite"))?;
/// let error = Bill::of(&database, "none", &Prices::parse(Prices::EXAMPLE)?).unwrap_err();
/// assert!(matches!(error, FleetError::UnknownPlan { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bill {
    /// One for each agent and kind of machine.
    pub lines: Vec<BillLine>,
}

/// What one agent has cost.
///
/// Example: see [`Bill`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BillLine {
    /// Name of the agent.
    pub agent: String,
    /// What the agent called its machine.
    pub machine: Option<String>,
    /// Its CPUs.
    pub cpus: usize,
    /// Runs that count.
    pub runs: usize,
    /// Runs that do not.
    pub runs_lost: usize,
    /// Time of all of them.
    pub seconds: f64,
    /// What it cost: by the price of the agent's machine, or from the cheapest to the dearest machine with its number of
    /// CPUs; `None` if the table has none.
    pub usd: Option<Usd>,
}

/// The end of a run, of which only the time is read.
#[derive(Deserialize)]
struct Last {
    #[serde(default)]
    spent_millis: u64,
}

impl Bill {
    /// Adds up a plan's runs.
    ///
    /// # Errors
    /// [`FleetError::UnknownPlan`] if there is no such plan, [`FleetError::Database`] if the database cannot be read.
    pub fn of(database: &Database, plan: &str, prices: &Prices) -> Result<Self, FleetError> {
        if !database.plans()?.iter().any(|one| one.id == plan) {
            let plan = plan.to_owned();
            return Err(FleetError::UnknownPlan { plan });
        }
        Ok(Self::of_runs(&database.spent(plan)?, prices))
    }

    pub(super) fn of_runs(runs: &[SpentRow], prices: &Prices) -> Self {
        let mut sums: BTreeMap<(String, Option<String>, usize), Sum> = BTreeMap::new();
        let mut left = heard_of(runs);
        for run in runs {
            // Of a run without lines nothing is known but that it was begun or given up, and of one that has not been
            // accepted the lines may be anything.
            let Some((head, millis)) = run.ends.as_ref().and_then(time) else {
                continue;
            };
            let key = (run.agent.clone(), run.machine.clone(), head.machine.cpus);
            // Whatever the lines say: no run took longer than it was heard of.
            let millis = millis.min(between(run.span));
            let left = left.entry(&run.agent).or_default();
            let millis = millis.min(*left);
            *left -= millis;
            let sum = sums.entry(key).or_default();
            sum.millis += millis;
            sum.runs += usize::from(run.is_accepted);
            sum.runs_lost += usize::from(!run.is_accepted);
        }
        let line = |((agent, machine, cpus), sum): ((_, Option<String>, _), Sum)| {
            let seconds = sum.millis as f64 / 1e3;
            let meant = prices.meant(machine.as_deref(), cpus);
            BillLine {
                usd: Usd::range(meant.map(|price| price.usd(seconds))),
                agent,
                machine,
                cpus,
                runs: sum.runs,
                runs_lost: sum.runs_lost,
                seconds,
            }
        };
        Self {
            lines: sums.into_iter().map(line).collect(),
        }
    }

    /// All agents that have a price, together.
    #[must_use]
    pub fn usd(&self) -> Usd {
        let known = self.lines.iter().filter_map(|line| line.usd);
        known.fold(Usd::default(), Usd::plus)
    }

    /// A line for each agent, the sum, and what is not in it.
    pub(crate) fn text(&self, prices: &Prices, today: Date) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        for line in &self.lines {
            let machine = line.machine.as_deref().unwrap_or("a machine");
            let usd = match line.usd {
                Some(usd) => usd.to_string(),
                None => "the table has no such machine".to_owned(),
            };
            let _ = writeln!(
                text,
                "{}: {machine} with {} CPUs, {} runs that count, {} that do not or not yet, {:.2} h: {usd}",
                line.agent,
                line.cpus,
                line.runs,
                line.runs_lost,
                line.seconds / super::SECONDS_PER_HOUR
            );
        }
        let without = self.lines.iter().filter(|line| line.usd.is_none()).count();
        let without = match without {
            0 => String::new(),
            count => format!(", without {count} agents that have no price"),
        };
        let _ = write!(
            text,
            "Together {}{without}, for the time of the runs. Machines that started or waited cost more.\n{}",
            self.usd(),
            prices.age(today)
        );
        text
    }
}

#[derive(Default)]
struct Sum {
    runs: usize,
    runs_lost: usize,
    millis: u64,
}

/// Milliseconds for which each agent was heard of: it does one thing at a time, so its runs took no longer together.
fn heard_of(runs: &[SpentRow]) -> BTreeMap<&str, u64> {
    let mut spans: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for run in runs {
        let (begun, heard) = run.span;
        let span = spans.entry(&run.agent).or_insert(run.span);
        *span = (span.0.min(begun), span.1.max(heard));
    }
    let spans = spans.into_iter();
    spans.map(|(agent, span)| (agent, between(span))).collect()
}

fn between((begun, heard): (i64, i64)) -> u64 {
    u64::try_from(heard.saturating_sub(begun)).unwrap_or(0)
}

/// Head of a run and its time up to its last line; `None` if the lines are none.
fn time((first, last): &(String, String)) -> Option<(Head, u64)> {
    let head: Head = serde_json::from_str(first).ok()?;
    let millis = if head.experiments.is_empty() {
        // The only line of a command may still be its head.
        let outcome = serde_json::from_str::<Outcome>(last);
        outcome.map_or(0, |outcome| outcome.wall_nanos / 1_000_000)
    } else {
        serde_json::from_str::<Last>(last).ok()?.spent_millis
    };
    Some((head, millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_lab::{Experiment, Scale, machine::Machine, record::Settings, run};

    fn head(cpus: usize, experiments: &[Experiment]) -> String {
        let machine = Machine {
            cpus,
            ..Machine::default()
        };
        let head = run::head(experiments, Settings::new(Scale::Quick, 1), machine, "now");
        serde_json::to_string(&head).unwrap()
    }

    /// A run of an experiment that took this time.
    fn run_of(agent: &str, machine: Option<&str>, cpus: usize, seconds: u64) -> SpentRow {
        let last = format!("{{\"spent_millis\":{}}}", seconds * 1_000);
        SpentRow {
            agent: agent.to_owned(),
            machine: machine.map(str::to_owned),
            is_accepted: true,
            span: (0, 7_200_000),
            ends: Some((head(cpus, &[Experiment::new("X", "x")]), last)),
        }
    }

    fn prices() -> Prices {
        Prices::parse(Prices::EXAMPLE).unwrap()
    }

    #[test]
    fn the_time_of_all_runs_is_billed_by_the_price_of_the_machine() {
        let lost = SpentRow {
            is_accepted: false,
            ..run_of("a", Some("c7i-192"), 192, 900)
        };
        let runs = [
            run_of("a", Some("c7i-192"), 192, 2_700),
            lost,
            // Ten seconds, of which a minute is paid: 0.34 / 60.
            run_of("b", Some("c5.2xlarge"), 8, 10),
        ];
        let bill = Bill::of_runs(&runs, &prices());
        let line = &bill.lines[0];
        assert_eq!(
            (line.runs, line.runs_lost, line.seconds),
            (1, 1, 3_600.0),
            "{line:?}"
        );
        assert_eq!(line.usd.unwrap().to_string(), "9.00 USD");
        assert!((bill.lines[1].usd.unwrap().most - 0.34 / 60.0).abs() < 1e-12);
        assert_eq!(bill.usd().to_string(), "9.01 USD");
    }

    #[test]
    fn an_agent_that_does_not_say_its_machine_is_billed_by_its_cpus() {
        let bill = Bill::of_runs(&[run_of("a", None, 96, 1_800)], &prices());
        assert_eq!(bill.usd().to_string(), "2.04 USD");
    }

    #[test]
    fn an_agent_without_a_price_is_not_forgotten() {
        let runs = [
            run_of("a", Some("abacus"), 96, 60),
            run_of("b", None, 3, 60),
        ];
        let bill = Bill::of_runs(&runs, &prices());
        assert!(bill.lines.iter().all(|line| line.usd.is_none()));
        let text = bill.text(&prices(), "2026-11-24".parse().unwrap());
        assert!(text.contains("without 2 agents"), "{text}");
        assert!(text.contains("a: abacus with 96 CPUs"), "{text}");
    }

    #[test]
    fn a_command_costs_the_time_it_ran() {
        let outcome = "{\"wall_nanos\":1800000000000,\"status\":0,\"output\":\"\",\"errors\":\"\"}";
        let ends = |last: &str| Some((head(192, &[]), last.to_owned()));
        let run = |last| SpentRow {
            ends: ends(last),
            ..run_of("a", None, 192, 0)
        };
        let runs = [run(outcome), run(&head(192, &[]))];
        let bill = Bill::of_runs(&runs, &prices());
        assert_eq!(bill.usd().to_string(), "4.50 USD");
        let none = SpentRow {
            ends: None,
            ..run_of("a", None, 192, 0)
        };
        assert!(Bill::of_runs(&[none], &prices()).lines.is_empty());
    }

    #[test]
    fn time_that_an_agent_makes_up_costs_no_more_than_the_time_it_was_heard_of() {
        let run = |agent: &str, span| SpentRow {
            span,
            ..run_of(agent, None, 192, 31_536_000)
        };
        let runs = [
            // An hour; and two runs that were begun at once, half an hour together.
            run("a", (0, 3_600_000)),
            run("b", (0, 900_000)),
            run("b", (0, 1_800_000)),
        ];
        let lines = Bill::of_runs(&runs, &prices()).lines;
        let seconds: Vec<f64> = lines.iter().map(|line| line.seconds).collect();
        assert_eq!(seconds, [3_600.0, 1_800.0]);
    }

    #[test]
    fn lines_that_are_none_neither_end_the_bill_nor_overflow_it() {
        let lines = |first: String, last: &str| SpentRow {
            ends: Some((first, last.to_owned())),
            ..run_of("a", None, 96, 0)
        };
        let endless = format!("{{\"spent_millis\":{}}}", u64::MAX);
        let experiments = [Experiment::new("X", "x")];
        let runs = [
            lines("garbage".to_owned(), "{}"),
            lines(head(96, &experiments), "garbage"),
            lines(head(96, &experiments), &endless),
            lines(head(96, &experiments), &endless),
        ];
        let bill = Bill::of_runs(&runs, &prices());
        assert_eq!((bill.lines.len(), bill.lines[0].runs), (1, 2));
    }
}
