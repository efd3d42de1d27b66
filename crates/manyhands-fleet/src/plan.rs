//! A plan as its author writes it, and the jobs it means.

use crate::{
    FleetError,
    wire::{Job, Work},
};
use manyhands_lab::{
    Experiment,
    record::{Scale, Settings},
};
use serde::Deserialize;
use std::time::Duration;

/// What to measure, on which machines: the contents of a `plan.toml`.
///
/// # Examples
/// ```
/// use manyhands_fleet::plan::Plan;
///
/// let plan = Plan::parse(
///     r#"
///     name = "loops"
///     experiments = ["E3", "E9"]
///     scale = "quick"
///     cpus = [2, 8]
///     "#,
/// )?;
/// assert_eq!(plan.name, "loops");
/// assert!(Plan::parse("name = 'nothing to do'").is_err());
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// For people.
    pub name: String,
    /// Experiments by id, as `manyhands lab run` takes them; `all` for all.
    #[serde(default)]
    pub experiments: Vec<String>,
    /// Commands that agents may have in their lists.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// Which sizes, and how many blocks.
    #[serde(default = "quick")]
    pub scale: Scale,
    /// Fixes the order of the arms and the resamples.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Fresh processes for each case, 3 to 64.
    pub launches: Option<u32>,
    /// Every case once for each of these, on an agent with exactly this number of CPUs; empty: once, on any.
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// How often a job may be handed out before it counts as failed.
    #[serde(default = "attempts")]
    pub attempts: u64,
    /// Minutes for each job: the budget of a case, which is measured as far as it fits, and the end of a command. A plan
    /// without them has no estimate of what it costs.
    pub minutes: Option<u32>,
}

/// A program that agents run if their own list has its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Name in the agents' lists.
    pub name: String,
    /// Arguments, each as it is.
    #[serde(default)]
    pub arguments: Vec<String>,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`FleetError::Plan`] if it is no TOML, has an unknown field, or a value that makes no sense.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let wrong = |reason: String| FleetError::Plan { reason };
        let plan: Self = toml::from_str(text).map_err(|error| {
            let message = error.message().to_owned();
            let line = error.span().map(|span| text[..span.start].lines().count());
            wrong(line.map_or(message.clone(), |line| {
                format!("line {}: {message}", line.max(1))
            }))
        })?;
        if plan.experiments.is_empty() && plan.commands.is_empty() {
            return Err(wrong(
                "it names neither experiments nor commands".to_owned(),
            ));
        }
        if plan
            .launches
            .is_some_and(|launches| !(3..=64).contains(&launches))
        {
            return Err(wrong("launches lie between 3 and 64".to_owned()));
        }
        if plan.attempts == 0 || plan.cpus.contains(&0) {
            return Err(wrong("attempts and cpus are at least 1".to_owned()));
        }
        if plan.minutes == Some(0) {
            return Err(wrong("minutes are at least 1".to_owned()));
        }
        Ok(plan)
    }

    /// The jobs of this plan, given what can be measured.
    ///
    /// # Errors
    /// [`FleetError::Plan`] if an experiment is not there.
    pub(crate) fn jobs(
        &self,
        id: &str,
        experiments: &[Experiment],
    ) -> Result<Vec<Job>, FleetError> {
        let mut settings = Settings::new(self.scale, self.seed);
        settings.launches = self.launches.unwrap_or(settings.launches);
        let budget = self.minutes.map(|minutes| 60 * u64::from(minutes));
        settings.budget = budget.map(Duration::from_secs);
        let mut work = Vec::new();
        for wanted in &self.experiments {
            for experiment in selected(wanted, experiments)? {
                work.extend(
                    experiment
                        .card(self.scale)
                        .cases
                        .into_iter()
                        .map(|case| Work::Case {
                            experiment: experiment.id().to_owned(),
                            case: case.name,
                            settings: settings.clone(),
                        }),
                );
            }
        }
        work.extend(self.commands.iter().map(|command| Work::Command {
            name: command.name.clone(),
            arguments: command.arguments.clone(),
            seconds_max: budget,
        }));
        let sizes: Vec<Option<usize>> = match self.cpus.as_slice() {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        let each = sizes
            .into_iter()
            .flat_map(|cpus| work.iter().map(move |work| (cpus, work)));
        let job = |(number, (cpus, work)): (usize, (Option<usize>, &Work))| Job {
            id: format!("{id}.{number}"),
            plan: id.to_owned(),
            work: work.clone(),
            attempts: self.attempts,
            cpus,
        };
        Ok(each.enumerate().map(job).collect())
    }
}

/// The experiment with this id, or its parts: "E1" selects E1a and E1b.
fn selected<'all>(
    id: &str,
    experiments: &'all [Experiment],
) -> Result<Vec<&'all Experiment>, FleetError> {
    let is_selected = |experiment: &&Experiment| {
        let whole = experiment
            .id()
            .trim_end_matches(|part: char| part.is_ascii_lowercase());
        let names = ["all", experiment.id(), whole];
        names.iter().any(|name| name.eq_ignore_ascii_case(id))
    };
    let selected: Vec<&Experiment> = experiments.iter().filter(is_selected).collect();
    if selected.is_empty() {
        let reason = format!("no experiment is called '{id}'");
        return Err(FleetError::Plan { reason });
    }
    Ok(selected)
}

fn quick() -> Scale {
    Scale::Quick
}

/// The same for every plan that says none, so that two plans measure in the same order.
fn seed() -> u64 {
    1
}

fn attempts() -> u64 {
    5
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
        vec![
            Experiment::new("X1a", "x")
                .case(case("first"))
                .case(case("second")),
            Experiment::new("X1b", "x").case(case("third")),
        ]
    }

    #[test]
    fn the_newcomer_s_plan_names_experiments_of_the_laboratory() {
        let plan = Plan::parse(include_str!("../plans/first.toml")).unwrap();
        let jobs = plan.jobs("p", &manyhands_lab::registry::experiments());
        assert!(jobs.unwrap().len() >= plan.experiments.len());
        assert_eq!(plan.scale, Scale::Quick);
    }

    #[test]
    fn a_plan_has_a_job_for_each_case_on_each_size_of_machine() {
        let plan = Plan::parse("name = 'x'\nexperiments = ['x1']\ncpus = [2, 8]").unwrap();
        let jobs = plan.jobs("p", &experiments()).unwrap();
        let seen: Vec<_> = jobs
            .iter()
            .map(|job| (job.cpus, job.work.title()))
            .collect();
        let cases = ["X1a first", "X1a second", "X1b third"];
        let expected: Vec<_> = [2, 8]
            .into_iter()
            .flat_map(|cpus| cases.map(|case| (Some(cpus), case.to_owned())))
            .collect();
        assert_eq!(seen, expected);
        let ids: std::collections::HashSet<_> = jobs.iter().map(|job| &job.id).collect();
        assert_eq!(ids.len(), jobs.len());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_one_line() {
        fn check(text: &str, culprit: &str) {
            let complaint = Plan::parse(text).unwrap_err().to_string();
            assert!(complaint.contains(culprit), "{complaint}");
            assert!(!complaint.contains('\n'), "{complaint}");
        }
        check("", "name");
        check("name = 'x'", "experiments");
        check("name = 'x'\nexperiments = ['E3']\nshell = 'rm'", "shell");
        check("name = 'x'\nexperiments = ['E3']\nlaunches = 2", "launches");
        check("name = 'x'\nexperiments = ['E3']\ncpus = [0]", "cpus");
        check("name = 'x'\nexperiments = ['E3']\nminutes = 0", "minutes");
        check("name = 'x'\nexperiments = ['E3']\nscale = 'huge'", "huge");
    }

    #[test]
    fn an_experiment_that_is_not_there_is_named() {
        let plan = Plan::parse("name = 'x'\nexperiments = ['E99']").unwrap();
        let error = plan.jobs("p", &experiments()).unwrap_err();
        assert!(error.to_string().contains("'E99'"), "{error}");
    }
}
