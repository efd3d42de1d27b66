//! What a plan will cost, from the minutes that it gives each job.

use super::{Prices, Usd};
use crate::{
    FleetError,
    plan::Plan,
    wire::{Cpus, new_id},
};
use jiff::civil::Date;
use manyhands_lab::Experiment;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write};

/// What a plan costs if each of its jobs is carried out once and takes all of its minutes, with one machine of each size.
///
/// More machines take less time for the same money. A job that is handed out again costs its time again, and a machine
/// costs money while it starts and while it waits: the most that a fleet can cost is its machines' `--max-hours`.
///
/// # Examples
/// ```
/// use manyhands_fleet::{plan::Plan, price::{Estimate, Prices}};
/// use manyhands_lab::{Case, Experiment};
///
/// let plan = Plan::parse("name = 'x'\nexperiments = ['X']\ncpus = [8, 192]\nminutes = 20")?;
/// let case = Case::returning("sum").full_sizes([100]).arm("a", |n| n).arm("b", |n| n);
/// let experiments = [Experiment::new("X", "one case").case(case)];
/// let estimate = Estimate::of(&plan, &experiments, &Prices::parse(Prices::EXAMPLE)?)?;
/// // A third of an hour at 0.34 $ and at 9 $.
/// assert!((estimate.usd().most - 9.34 / 3.0).abs() < 1e-9);
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// One for each size of machine.
    pub lines: Vec<EstimateLine>,
}

/// The jobs for one size of machine.
///
/// Example: see [`Estimate`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EstimateLine {
    /// CPUs; `None` for jobs that any agent may take.
    pub cpus: Option<usize>,
    /// Jobs.
    pub jobs: usize,
    /// Seconds that they take, one after the other.
    pub seconds: u64,
    /// The machines of this size in the table, each with the dollars that it would cost.
    pub choices: Vec<(String, f64)>,
}

impl Estimate {
    /// Estimates a plan.
    ///
    /// # Errors
    /// [`FleetError::Plan`] if an experiment is not there or the plan gives its jobs no minutes, [`FleetError::Prices`] if
    /// the table has no machine of a size that the plan asks for.
    pub fn of(
        plan: &Plan,
        experiments: &[Experiment],
        prices: &Prices,
    ) -> Result<Self, FleetError> {
        let minutes = plan.minutes.ok_or_else(|| FleetError::Plan {
            reason: "it gives its jobs no 'minutes', so nobody knows what it costs".to_owned(),
        })?;
        let mut counts = BTreeMap::new();
        for job in plan.jobs(&new_id(), experiments)? {
            let cpus = job.cpus.map(Cpus::size);
            *counts.entry(cpus).or_insert(0) += 1;
        }
        let lines = counts.into_iter().map(|(cpus, jobs)| {
            let seconds = jobs as u64 * 60 * minutes.get();
            let fits = |cpus: Option<usize>, offered| cpus.is_none_or(|cpus| cpus == offered);
            let machines = prices.machines().iter();
            let choices: Vec<(String, f64)> = machines
                .filter(|one| fits(cpus, one.cpus))
                .map(|one| (one.name.clone(), one.usd(seconds as f64)))
                .collect();
            match (choices.is_empty(), cpus) {
                (true, Some(cpus)) => Err(FleetError::Prices {
                    reason: format!("it has no machine with {cpus} CPUs"),
                }),
                _ => Ok(EstimateLine {
                    cpus,
                    jobs,
                    seconds,
                    choices,
                }),
            }
        });
        let lines: Result<Vec<_>, _> = lines.collect();
        Ok(Self { lines: lines? })
    }

    /// All sizes together: with the cheapest, and with the dearest machines that the table has for them.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.lines
            .iter()
            .filter_map(|line| Usd::range(line.choices.iter().map(|choice| choice.1)))
            .fold(Usd::default(), Usd::plus)
    }

    /// Refuses a plan that may cost more than this.
    ///
    /// # Errors
    /// [`FleetError::TooDear`].
    pub fn allow(&self, usd_max: f64) -> Result<(), FleetError> {
        let usd = self.usd().most;
        if usd > usd_max {
            return Err(FleetError::TooDear { usd, usd_max });
        }
        Ok(())
    }

    /// A line for each size of machine, the sum, and what is not in it.
    pub(crate) fn text(&self, prices: &Prices, today: Date) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        for line in &self.lines {
            let size = line
                .cpus
                .map_or("any machine".to_owned(), |cpus| format!("{cpus} CPUs"));
            let hours = line.seconds as f64 / super::SECONDS_PER_HOUR;
            let choices = line.choices.iter();
            let choices: Vec<String> = choices
                .map(|(name, usd)| format!("{name} {usd:.2} USD"))
                .collect();
            let _ = writeln!(
                text,
                "{size}: {} jobs, {hours:.2} h: {}",
                line.jobs,
                choices.join(", or ")
            );
        }
        let _ = write!(
            text,
            "Together {}, if each job is carried out once and takes all its minutes. Machines that start, wait or are \
             forgotten cost more: --max-hours of the agents is the limit of that.\n{}",
            self.usd(),
            prices.age(today)
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_lab::Case;

    fn experiments() -> Vec<Experiment> {
        let case = |name: &'static str| {
            let case = Case::returning(name).full_sizes([1]);
            case.arm("one", |n| n).arm("two", |n| n)
        };
        let three = Experiment::new("X", "x").case(case("a")).case(case("b"));
        vec![three.case(case("c"))]
    }

    fn prices() -> Prices {
        let machine = |name: &str, cpus: usize, usd: f64, seconds_min: u64| {
            format!(
                "[[machine]]\nname = '{name}'\nprovider = 'p'\nregion = 'r'\ncpus = {cpus}\n\
                 usd_per_hour = {usd}\nseconds_min = {seconds_min}\ndate = '2026-11-23'\nsource = 's'\n"
            )
        };
        let table = [
            machine("small", 2, 0.1, 60),
            machine("other", 2, 0.16, 3_600),
            machine("huge", 192, 9.0, 60),
        ];
        Prices::parse(&table.concat()).unwrap()
    }

    fn estimate(plan: &str) -> Result<Estimate, FleetError> {
        let plan = format!("name = 'x'\nexperiments = ['X']\n{plan}");
        Estimate::of(&Plan::parse(&plan).unwrap(), &experiments(), &prices())
    }

    #[test]
    fn jobs_times_minutes_times_price() {
        // Three cases of 20 minutes are an hour.
        let huge = estimate("cpus = [192]\nminutes = 20").unwrap();
        assert_eq!(huge.lines[0].seconds, 3_600);
        assert_eq!(huge.usd().to_string(), "9.00 USD");
        // On two sizes: an hour each, and two machines to choose from for the small one.
        let both = estimate("cpus = [2, 192]\nminutes = 20").unwrap();
        let choices = [("small".to_owned(), 0.1), ("other".to_owned(), 0.16)];
        assert_eq!(both.lines[0].choices, choices);
        assert_eq!(both.usd().to_string(), "9.10 to 9.16 USD");
        let any = estimate("minutes = 20").unwrap();
        assert_eq!(any.usd().to_string(), "0.10 to 9.00 USD");
    }

    #[test]
    fn the_least_that_is_paid_counts() {
        // Three minutes: 0.005 $ of the one, an hour of the other.
        let short = estimate("cpus = [2]\nminutes = 1").unwrap();
        let usd: Vec<f64> = short.lines[0].choices.iter().map(|one| one.1).collect();
        assert!((usd[0] - 0.005).abs() < 1e-12 && (usd[1] - 0.16).abs() < 1e-12);
    }

    #[test]
    fn a_plan_that_may_cost_more_than_allowed_is_refused() {
        let both = estimate("cpus = [2, 192]\nminutes = 20").unwrap();
        assert!(both.allow(9.16).is_ok());
        let refused = both.allow(9.15).unwrap_err();
        assert!(matches!(refused, FleetError::TooDear { .. }));
        let says = refused.to_string();
        assert!(says.contains("9.16") && says.contains("9.15"), "{says}");
    }

    #[test]
    fn what_nobody_can_know_is_an_error_and_not_a_figure() {
        let unknown = estimate("cpus = [2]").unwrap_err().to_string();
        assert!(unknown.contains("minutes"), "{unknown}");
        let unknown = estimate("cpus = [7]\nminutes = 1").unwrap_err().to_string();
        assert!(unknown.contains("7 CPUs"), "{unknown}");
    }
}
