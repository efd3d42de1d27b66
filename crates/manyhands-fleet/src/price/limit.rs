//! What a plan may cost: which of its jobs may be handed out, and when it ends for want of money.

use super::{Bill, Price, Prices, Usd};
use crate::{
    FleetError,
    server::SpentRow,
    wire::{Cpus, Job},
};
use serde::{Deserialize, Serialize};

/// A number of dollars that a plan may cost, by a table of prices.
///
/// A job is handed out if the bill so far, all minutes of the jobs that are out, and all minutes of this one are within
/// the limit. Of several machines that it may be, the dearest counts; a machine that is not in the table counts as the
/// dearest of all. What a bill does not have in it, the limit does not either: machines that start or wait.
///
/// # Examples
/// ```
/// use manyhands_fleet::price::{Limit, Prices};
///
/// let limit = Limit::new(20.0, Prices::parse(Prices::EXAMPLE)?);
/// assert_eq!(limit.usd_max(), 20.0);
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    usd_max: f64,
    prices: Prices,
}

/// What is next for a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// The first of the jobs that wait may be handed out, this number; the others wait for those that are out.
    HandOut(usize),
    /// It ends.
    End {
        /// Why, in one line.
        reason: String,
    },
}

impl Limit {
    /// A limit, in dollars.
    #[must_use]
    pub fn new(usd_max: f64, prices: Prices) -> Self {
        Self { usd_max, prices }
    }

    /// The dollars.
    #[must_use]
    pub fn usd_max(&self) -> f64 {
        self.usd_max
    }

    /// What to do with the jobs that wait, given the runs so far and the jobs that are out.
    ///
    /// # Errors
    /// [`FleetError::Plan`] if a job has no minutes, [`FleetError::Prices`] if the table has no machine for one.
    pub(crate) fn next(
        &self,
        runs: &[SpentRow],
        out: &[Job],
        waiting: &[Job],
    ) -> Result<Next, FleetError> {
        let spent = self.spent(runs);
        let of_all = format!("{spent:.2} of {:.2} USD are spent", self.usd_max);
        if spent > self.usd_max {
            return Ok(Next::End { reason: of_all });
        }
        let mut bound = spent;
        for job in out {
            bound += self.usd(job)?;
        }
        let mut count = 0;
        let mut next = None;
        for job in waiting {
            let usd = self.usd(job)?;
            if next.is_none() && bound + usd <= self.usd_max {
                bound += usd;
                count += 1;
            } else {
                next = next.or(Some(usd));
            }
        }
        Ok(match next {
            Some(usd) if count == 0 && out.is_empty() => Next::End {
                reason: format!("{of_all}, and the next job may cost {usd:.2}"),
            },
            _ => Next::HandOut(count),
        })
    }

    /// The bill so far, at most.
    fn spent(&self, runs: &[SpentRow]) -> f64 {
        let bill = Bill::of_runs(runs, &self.prices);
        let dearest = |seconds: f64| {
            let usd = self.prices.machines().iter().map(|one| one.usd(seconds));
            Usd::range(usd).unwrap_or_default()
        };
        let lines = bill.lines.iter();
        let usd = lines.map(|line| line.usd.unwrap_or_else(|| dearest(line.seconds)).most);
        usd.sum()
    }

    /// What a job costs if it takes all its minutes, at most.
    fn usd(&self, job: &Job) -> Result<f64, FleetError> {
        let seconds = job.work.seconds_max().ok_or_else(|| FleetError::Plan {
            reason: "it gives its jobs no 'minutes', so nobody knows what they cost".to_owned(),
        })?;
        let cpus = job.cpus.map(Cpus::size);
        let fits = |price: &&Price| cpus.is_none_or(|cpus| cpus == price.cpus);
        let machines = self.prices.machines().iter().filter(fits);
        let usd = Usd::range(machines.map(|one| one.usd(seconds as f64)));
        usd.map(|usd| usd.most).ok_or_else(|| FleetError::Prices {
            reason: match cpus {
                Some(cpus) => format!("it has no machine with {cpus} CPUs"),
                None => "it has no machine".to_owned(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Seconds, Work, a_job};
    use manyhands_lab::{Experiment, Scale, machine::Machine, record::Settings, run};

    /// Machines for a dollar and two dollars an hour.
    fn limit(usd_max: f64) -> Limit {
        let machine = |name: &str, cpus: usize, usd: f64| {
            format!(
                "[[machine]]\nname = '{name}'\nprovider = 'p'\nregion = 'r'\ncpus = {cpus}\nusd_per_hour = {usd}\n\
                 date = '2026-11-23'\nsource = 's'\n"
            )
        };
        let table = machine("small", 2, 1.0) + &machine("large", 8, 2.0);
        Limit::new(usd_max, Prices::parse(&table).unwrap())
    }

    /// A job of half an hour, or of any time.
    fn job(cpus: Option<u64>, seconds_max: Option<u64>) -> Job {
        let job = a_job();
        let Work::Command { name, holes, .. } = job.work else {
            unreachable!("it is a command")
        };
        Job {
            work: Work::Command {
                name,
                holes,
                seconds_max: seconds_max.map(Seconds::nearest),
            },
            cpus: cpus.map(Cpus::nearest),
            ..a_job()
        }
    }

    /// A run of this time on a machine of this name.
    fn run_of(machine: &str, cpus: usize, seconds: u64, is_accepted: bool) -> SpentRow {
        let here = Machine {
            cpus,
            ..Machine::default()
        };
        let settings = Settings::new(Scale::Quick, 1);
        let head = run::head(&[Experiment::new("X", "x")], settings, here, "now");
        let head = serde_json::to_string(&head).unwrap();
        SpentRow {
            agent: format!("of-{seconds}"),
            machine: Some(machine.to_owned()),
            is_accepted,
            span: (0, seconds as i64 * 1_000),
            ends: Some((head, format!("{{\"spent_millis\":{}}}", seconds * 1_000))),
        }
    }

    #[test]
    fn as_many_jobs_are_out_as_can_all_take_their_minutes() {
        // Half an hour of the small machine is half a dollar.
        let jobs = vec![job(Some(2), Some(1_800)); 5];
        let next = limit(1.6).next(&[], &[], &jobs).unwrap();
        assert_eq!(next, Next::HandOut(3));
        let next = limit(1.6).next(&[], &jobs[..3], &jobs[3..]).unwrap();
        assert_eq!(next, Next::HandOut(0), "the others wait");
        // One of the three has taken six minutes only, which leaves 0.5 $ for another.
        let runs = [run_of("small", 2, 360, true)];
        let next = limit(1.6).next(&runs, &jobs[..2], &jobs[3..]).unwrap();
        assert_eq!(next, Next::HandOut(1));
    }

    #[test]
    fn a_plan_ends_when_nothing_is_out_and_the_next_job_could_cost_too_much() {
        let runs = [
            run_of("large", 8, 1_800, true),
            run_of("large", 8, 900, false),
        ];
        let waiting = [job(Some(8), Some(1_800)), job(Some(2), Some(1_800))];
        let next = limit(2.0).next(&runs, &[], &waiting).unwrap();
        let reason = "1.50 of 2.00 USD are spent, and the next job may cost 1.00".to_owned();
        assert_eq!(next, Next::End { reason });
        let next = limit(2.5).next(&runs, &[], &waiting).unwrap();
        assert_eq!(next, Next::HandOut(1));
        let next = limit(2.0).next(&runs, &[], &[]).unwrap();
        assert_eq!(next, Next::HandOut(0), "all jobs are done");
    }

    #[test]
    fn a_plan_whose_jobs_had_to_be_repeated_ends_when_its_money_is_spent() {
        let runs = [run_of("small", 2, 7_200, false)];
        let next = limit(1.9)
            .next(&runs, &[job(Some(2), Some(1_800))], &[])
            .unwrap();
        let reason = "2.00 of 1.90 USD are spent".to_owned();
        assert_eq!(next, Next::End { reason });
    }

    #[test]
    fn what_is_not_known_counts_as_the_dearest() {
        // An hour of a machine that the table does not have, and any machine for the job.
        let runs = [run_of("abacus", 3, 3_600, true)];
        let next = |usd_max| {
            limit(usd_max)
                .next(&runs, &[], &[job(None, Some(1_800))])
                .unwrap()
        };
        assert_eq!(next(3.0), Next::HandOut(1));
        assert!(matches!(next(2.99), Next::End { .. }));
    }

    #[test]
    fn what_nobody_can_know_is_an_error() {
        let refused = limit(9.0)
            .next(&[], &[], &[job(Some(7), Some(1_800))])
            .unwrap_err();
        assert!(refused.to_string().contains("7 CPUs"), "{refused}");
        let endless = job(Some(2), None);
        let refused = limit(9.0).next(&[], &[], &[endless]).unwrap_err();
        assert!(refused.to_string().contains("minutes"), "{refused}");
    }
}
