//! A plan as its author writes it, and the jobs it means.

use crate::{
    FleetError, Name,
    wire::{Cpus, Job, Seconds, Text, Within, Work, new_ticket},
};
use manyhands_lab::{
    Experiment,
    record::{Scale, Settings},
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

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
    pub(crate) launches: Option<Within<3, 64>>,
    /// Every case once for each of these, on an agent with exactly this number of CPUs; empty: once, on any.
    #[serde(default)]
    pub(crate) cpus: Vec<Cpus>,
    /// How often a job may fail before nobody tries it any more.
    #[serde(default = "attempts")]
    pub(crate) attempts: Within<1, 1_000>,
    /// Minutes for each job: the budget of a case, which is measured as far as it fits, and the end of a command. A plan
    /// without them has no estimate of what it costs.
    pub(crate) minutes: Option<Within<1, MINUTES_MAX>>,
}

/// A command line that agents run if their own list has its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Name in the agents' lists.
    pub name: Name,
    /// What stands in the holes of the line, by their names.
    #[serde(default)]
    pub(crate) holes: BTreeMap<Name, Text>,
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
        let sizes: BTreeSet<Cpus> = plan.cpus.iter().copied().collect();
        if sizes.len() < plan.cpus.len() || sizes.len() > SIZES_MAX {
            return Err(wrong(format!("cpus are at most {SIZES_MAX}, each once")));
        }
        let holes = plan.commands.iter().map(|command| command.holes.len());
        if holes.max().is_some_and(|holes| holes > HOLES_MAX) {
            return Err(wrong(format!("a command has at most {HOLES_MAX} holes")));
        }
        Ok(plan)
    }

    /// The jobs of this plan, given what can be measured.
    ///
    /// # Errors
    /// [`FleetError::Plan`] if an experiment is not there.
    pub(crate) fn jobs(
        &self,
        id: &Name,
        experiments: &[Experiment],
    ) -> Result<Vec<Job>, FleetError> {
        let wrong = |reason: String| FleetError::Plan { reason };
        let work = self.work(experiments)?;
        let sizes: Vec<Option<Cpus>> = match self.cpus.as_slice() {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        if work.len().saturating_mul(sizes.len()) > JOBS_MAX {
            return Err(wrong(format!("it has more than {JOBS_MAX} jobs")));
        }
        let bytes: usize = work.iter().map(|work| work.title().len()).sum();
        if bytes.saturating_mul(sizes.len()) > BYTES_MAX {
            let reason = format!("its jobs have more than {} MiB", BYTES_MAX >> 20);
            return Err(wrong(reason));
        }
        let each = sizes
            .into_iter()
            .flat_map(|cpus| work.iter().map(move |work| (cpus, work)));
        let job = |(number, (cpus, work)): (usize, (Option<Cpus>, &Work))| {
            let id = format!("{id}.{number}").try_into();
            Ok(Job {
                id: id.map_err(|_| wrong(format!("its id has more than {ID_MAX} letters")))?,
                ticket: new_ticket(),
                work: work.clone(),
                cpus,
            })
        };
        each.enumerate().map(job).collect()
    }

    /// What is done once for each size of machine.
    fn work(&self, experiments: &[Experiment]) -> Result<Vec<Work>, FleetError> {
        let defaults = Settings::new(self.scale, self.seed);
        let usual = Within::nearest(defaults.launches.into());
        let launches = self.launches.unwrap_or(usual);
        let seconds = |minutes: Within<1, MINUTES_MAX>| Seconds::nearest(60 * minutes.get());
        let seconds_max = self.minutes.map(seconds);
        let mut work = Vec::new();
        for wanted in &self.experiments {
            for experiment in selected(wanted, experiments)? {
                let cases = experiment.card(self.scale).cases.into_iter();
                work.extend(cases.map(|case| Work::Case {
                    experiment: Text::of(experiment.id()),
                    case: Text::of(&case.name),
                    scale: self.scale,
                    seed: self.seed,
                    launches,
                    seconds_max,
                }));
            }
            if work.len() > JOBS_MAX {
                break;
            }
        }
        work.extend(self.commands.iter().map(|command| Work::Command {
            name: command.name.clone(),
            holes: command.holes.clone(),
            seconds_max,
        }));
        Ok(work)
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

fn attempts() -> Within<1, 1_000> {
    Within::nearest(5)
}

/// So that one plan cannot fill a server's memory and disk.
const JOBS_MAX: usize = 10_000;
/// The same, of all that its jobs say.
const BYTES_MAX: usize = 8 << 20;
/// Sizes of machines.
const SIZES_MAX: usize = 64;
const HOLES_MAX: usize = 16;
/// A year.
const MINUTES_MAX: u64 = 525_600;
/// What a plan's id may have, so that those of its jobs are names too.
const ID_MAX: usize = 90;

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

    fn p() -> Name {
        "p".parse().unwrap()
    }

    #[test]
    fn the_newcomer_s_plan_names_experiments_of_the_laboratory() {
        let plan = Plan::parse(include_str!("../plans/first.toml")).unwrap();
        let jobs = plan.jobs(&p(), &manyhands_lab::registry::experiments());
        assert!(jobs.unwrap().len() >= plan.experiments.len());
        assert_eq!(plan.scale, Scale::Quick);
    }

    #[test]
    fn a_plan_has_a_job_for_each_case_on_each_size_of_machine() {
        let plan = Plan::parse("name = 'x'\nexperiments = ['x1']\ncpus = [2, 8]").unwrap();
        let jobs = plan.jobs(&p(), &experiments()).unwrap();
        let seen: Vec<_> = jobs
            .iter()
            .map(|job| (job.cpus.map(Within::get), job.work.title()))
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
        check(
            "name = 'x'\nexperiments = ['E3']\nlaunches = 2",
            "line 3: 2 is not within 3 and 64",
        );
        check(
            "name = 'x'\nexperiments = ['E3']\ncpus = [0]",
            "line 3: 0 is not",
        );
        check("name = 'x'\nexperiments = ['E3']\ncpus = [2, 2]", "cpus");
        let cpus: Vec<String> = (1..=65).map(|cpus| cpus.to_string()).collect();
        let cpus = format!(
            "name = 'x'\nexperiments = ['E3']\ncpus = [{}]",
            cpus.join(",")
        );
        check(&cpus, "cpus");
        let holes: Vec<String> = (0..17).map(|hole| format!("h{hole} = 'x'")).collect();
        let holes = format!(
            "name = 'x'\n[[commands]]\nname = 'x'\n[commands.holes]\n{}",
            holes.join("\n")
        );
        check(&holes, "holes");
        check(
            "name = 'x'\nexperiments = ['E3']\nminutes = 0",
            "line 3: 0 is not",
        );
        check("name = 'x'\nexperiments = ['E3']\nscale = 'huge'", "huge");
        check(
            "name = 'x'\nexperiments = ['E3']\nattempts = 1001",
            "line 3: 1001 is not within 1 and 1000",
        );
        check("name = 'x'\n[[commands]]\nname = '../x'", "name");
        check(
            "name = 'x'\n[[commands]]\nname = 'x'\narguments = ['x']",
            "arguments",
        );
    }

    #[test]
    fn a_plan_of_too_many_jobs_is_refused() {
        let many = |what: &str, count| vec![what; count].join(",");
        let experiments_twice = format!("name = 'x'\nexperiments = [{}]", many("'x1'", 4_000));
        let cpus: Vec<String> = (1..=64).map(|cpus| cpus.to_string()).collect();
        let cpus = format!("name = 'x'\ncpus = [{}]", cpus.join(","));
        let times = format!("{cpus}\nexperiments = [{}]", many("'x1'", 100));
        let command = format!(
            "{{ name = 'x', holes = {{ a = '{}' }} }}",
            "x".repeat(1_000)
        );
        let bytes = format!("{cpus}\ncommands = [{}]", many(&command, 150));
        for (text, culprit) in [
            (experiments_twice, "10000 jobs"),
            (times, "10000 jobs"),
            (bytes, "8 MiB"),
        ] {
            let plan = Plan::parse(&text).unwrap();
            let error = plan.jobs(&p(), &experiments()).unwrap_err().to_string();
            assert!(error.contains(culprit), "{error}");
        }
    }

    #[test]
    fn an_experiment_that_is_not_there_is_named() {
        let plan = Plan::parse("name = 'x'\nexperiments = ['E99']").unwrap();
        let error = plan.jobs(&p(), &experiments()).unwrap_err();
        assert!(error.to_string().contains("'E99'"), "{error}");
    }
}
