//! The laboratory's commands.

use crate::{
    meant::Run,
    output::{self, Failure},
    pair, tour,
};
use manyhands_lab::{
    Experiment, Scale, Workload,
    console::{self, Companion, Ending, Job, Program},
    findings,
    machine::Machine,
    published,
    record::Settings,
    registry, report,
    run::Interrupt,
    self_test::{self, Criterion, Extent},
    store::{self, Damage, Recording, Store},
};
use std::path::Path;

/// Lists the experiments; of those that are named, also the cases, and how long they take.
pub(crate) fn list(ids: &[String]) -> Result<Ending, Failure> {
    if ids.is_empty() {
        for experiment in registry::experiments() {
            output::print(&headline(&experiment))?;
        }
    }
    for id in ids {
        for experiment in selected(id)? {
            output::print(&headline(&experiment))?;
            for case in experiment.cases() {
                output::print(&details(case.as_ref()))?;
            }
            let time = |scale| {
                let settings = Settings::new(scale, 1);
                let only = std::slice::from_ref(&experiment);
                console::needed(only, &settings, console::launcher()?)
            };
            let (quick, standard) = (time(Scale::Quick)?, time(Scale::Standard)?);
            output::print(&format!(
                "      takes about {:.0} s here, with --quick {:.0} s\n",
                standard.as_secs_f64().ceil(),
                quick.as_secs_f64().ceil()
            ))?;
        }
    }
    Ok(Ending::Good)
}

fn headline(experiment: &Experiment) -> String {
    let mut text = format!("{:5} {}\n", experiment.id(), experiment.title());
    for line in experiment.claimed().into_iter().chain(experiment.origin()) {
        text += &format!("      {line}\n");
    }
    text
}

fn details(case: &dyn Workload) -> String {
    let sizes: Vec<String> = case
        .sizes(Scale::Standard)
        .into_iter()
        .map(report::count)
        .collect();
    format!(
        "      {}: {}; n = {}\n",
        case.name(),
        case.arms().join(", "),
        sizes.join(" · ")
    )
}

/// Runs experiments by id.
pub(crate) fn run(ids: &[String], run: Run) -> Result<Ending, Failure> {
    let mut experiments: Vec<Experiment> = Vec::new();
    for id in ids {
        for experiment in selected(id)? {
            if !experiments.iter().any(|one| one.id() == experiment.id()) {
                experiments.push(experiment);
            }
        }
    }
    begin(experiments, run, published::companion)
}

fn selected(id: &str) -> Result<Vec<Experiment>, Failure> {
    if id.eq_ignore_ascii_case("all") {
        return Ok(registry::experiments());
    }
    // An unknown experiment is a mistake in the arguments.
    registry::select(id).map_err(|error| Failure::Arguments(error.to_string()))
}

/// Runs these experiments.
pub(crate) fn begin(
    experiments: Vec<Experiment>,
    run: Run,
    companion: Companion,
) -> Result<Ending, Failure> {
    let job = Job {
        experiments,
        settings: run.settings,
        folder: run.out,
        existing: run.existing,
        force: run.force,
        program: program(companion),
    };
    Ok(console::begin(job, &Interrupt::on_signal()?)?)
}

/// Goes on with an interrupted run.
pub(crate) fn resume(folder: &Path, damage: Damage) -> Result<Ending, Failure> {
    let recording = store::read(folder, damage)?;
    say_skipped(folder, &recording)?;
    let head = recording.head;
    let (launcher, companion): (_, Companion) = match pair::launcher(&head)? {
        Some(launcher) => (launcher, console::alone),
        None if tour::took(&head)? => (tour::launcher()?, published::companion),
        None => (console::launcher()?, published::companion),
    };
    Ok(console::resume(
        folder,
        damage,
        launcher,
        program(companion),
        &Interrupt::on_signal()?,
    )?)
}

fn program(companion: Companion) -> Program {
    Program {
        companion,
        going_on: |folder| format!("manyhands lab resume {}", folder.display()),
    }
}

/// Makes the reports of a run again.
pub(crate) fn report(folder: &Path, damage: Damage) -> Result<Ending, Failure> {
    let (mut store, recording) = Store::resume(folder, damage)?;
    say_skipped(folder, &recording)?;
    let findings = findings::analyse(&recording.head, &recording.events);
    let companion = published::companion;
    let said = console::write(&mut store, &findings, &recording.events, companion)?;
    output::print(&console::text(&findings, companion))?;
    output::print(&said)?;
    Ok(Ending::Good)
}

/// Compares two runs.
pub(crate) fn compare(first: &Path, second: &Path, damage: Damage) -> Result<Ending, Failure> {
    let findings = |folder: &Path| -> Result<_, Failure> {
        let recording = store::read(folder, damage)?;
        say_skipped(folder, &recording)?;
        Ok(findings::analyse(&recording.head, &recording.events))
    };
    output::print(&report::compare(&findings(first)?, &findings(second)?))?;
    Ok(Ending::Good)
}

/// Says which lines of a run were skipped, if any.
fn say_skipped(folder: &Path, recording: &Recording) -> Result<(), Failure> {
    if recording.skipped.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = recording.skipped.iter().map(usize::to_string).collect();
    output::print(&format!(
        "Skipped in '{}', as they are damaged: lines {} of its events.\n",
        folder.display(),
        lines.join(", ")
    ))?;
    Ok(())
}

/// Checks the laboratory itself.
pub(crate) fn self_test(quick: bool, seed: u64) -> Result<Ending, Failure> {
    let extent = if quick { Extent::Quick } else { Extent::Whole };
    output::print(&format!(
        "{}\nseed {seed}; {}\n\n",
        Machine::here().line(),
        match extent {
            Extent::Quick => "a quarter of the comparisons, about a minute",
            Extent::Whole => "all comparisons, some minutes",
        }
    ))?;
    let interrupt = Interrupt::on_signal()?;
    let mut printed = Ok(());
    let criteria = self_test::run(extent, seed, &interrupt, &mut |criterion| {
        if printed.is_ok() {
            printed = output::print(&format!("{criterion}\n"));
        }
    })?;
    printed?;
    Ok(if interrupt.is_set() {
        Ending::Interrupted
    } else if criteria.iter().all(Criterion::holds) {
        Ending::Good
    } else {
        Ending::Failed
    })
}
