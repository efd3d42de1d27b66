//! The laboratory's commands.

use crate::{
    load::Load,
    meant::{Form, Run, SelfTest},
    output::{self, Failure},
    tour, whole_commands,
};
use manyhands_lab::{
    Experiment, Scale, Workload,
    console::{self, Companion, Ending, Job, Printing, Program, Screen},
    findings,
    machine::Machine,
    paper, published,
    record::{Head, Settings},
    registry,
    report::{self, Listed, Width},
    run::Interrupt,
    self_test::{self, Criterion},
    store::{self, Damage, Recording, Store},
};
use std::{path::Path, time::Duration};

/// Lists the experiments; of those that are named, also the cases, and how long they take.
pub(crate) fn list(ids: &[String], form: Form) -> Result<Ending, Failure> {
    let mut listed = Vec::new();
    if ids.is_empty() {
        let all = registry::experiments().into_iter();
        listed.extend(all.map(|experiment| Listed {
            experiment,
            takes: None,
        }));
    }
    for id in ids {
        for experiment in selected(id)? {
            let takes = Some((
                needed(&experiment, Scale::Quick)?,
                needed(&experiment, Scale::Standard)?,
            ));
            listed.push(Listed { experiment, takes });
        }
    }
    output::print(&match form {
        Form::Json => report::experiments_json(&listed) + "\n",
        Form::Text => {
            let width = console::width();
            listed.iter().map(|listed| entry(listed, width)).collect()
        }
    })?;
    Ok(Ending::Good)
}

fn needed(experiment: &Experiment, scale: Scale) -> Result<Duration, Failure> {
    let only = std::slice::from_ref(experiment);
    let settings = Settings::new(scale, 1);
    Ok(console::needed(only, &settings, console::launcher()?)?)
}

/// An experiment in the list: with its cases if it was named.
fn entry(listed: &Listed, width: Width) -> String {
    let experiment = &listed.experiment;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(experiment.claimed().map(str::to_owned));
    lines.extend(experiment.origin().map(str::to_owned));
    if let Some((quick, standard)) = listed.takes {
        let cases = experiment.cases().iter();
        lines.extend(cases.map(|case| details(case.as_ref())));
        let papers = paper::all(experiment.id());
        lines.extend(
            papers
                .iter()
                .map(|paper| format!("published: {}", paper.source)),
        );
        lines.push(format!(
            "takes about {:.0} s here, with --quick {:.0} s",
            standard.as_secs_f64().ceil(),
            quick.as_secs_f64().ceil()
        ));
    }
    let id = format!("{:INDENT$}", experiment.id());
    let indent = " ".repeat(INDENT);
    let first = width.paragraph(&id, experiment.title(), &indent);
    lines.iter().fold(first, |text, line| {
        text + &width.paragraph(&indent, line, &indent)
    })
}

/// Columns of an experiment's name in the list.
const INDENT: usize = 6;

fn details(case: &dyn Workload) -> String {
    let sizes: Vec<String> = case
        .sizes(Scale::Standard)
        .into_iter()
        .map(report::count)
        .collect();
    format!(
        "{}: {}; n = {}",
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
        program: program(companion, run.screen, run.printing),
    };
    Ok(console::begin(job, &Interrupt::on_signal()?)?)
}

/// Goes on with an interrupted run.
pub(crate) fn resume(folder: &Path, damage: Damage, printing: Printing) -> Result<Ending, Failure> {
    let recording = store::read(folder, damage)?;
    printing.warn(&skipped(folder, &recording))?;
    let head = recording.head;
    let (launcher, companion, screen): (_, Companion, _) = match whole_commands::launcher(&head)? {
        Some(launcher) => (launcher, console::alone, Screen::Tables),
        None if tour::took(&head)? => (tour::launcher()?, console::alone, Screen::Answer),
        None => (console::launcher()?, published::companion, Screen::Tables),
    };
    Ok(console::resume(
        folder,
        damage,
        launcher,
        program(companion, printing.screen(screen), printing),
        &Interrupt::on_signal()?,
    )?)
}

fn program(companion: Companion, screen: Screen, printing: Printing) -> Program {
    Program {
        companion,
        screen,
        printing,
        build_arguments: &["lab", "list"],
        going_on,
    }
}

/// As one can type it.
fn going_on(folder: &Path) -> String {
    let folder = folder.display().to_string();
    let quoted = shlex::try_quote(&folder);
    format!(
        "manyhands lab resume {}",
        quoted.as_deref().unwrap_or(&folder)
    )
}

/// Makes the reports of a run again.
pub(crate) fn report(
    folder: &Path,
    damage: Damage,
    published: Option<String>,
    printing: Printing,
) -> Result<Ending, Failure> {
    let (mut store, mut recording) = Store::resume(folder, damage)?;
    printing.warn(&skipped(folder, &recording))?;
    if published.is_some() {
        recording.head.settings.published = published;
    }
    renew_claims(&mut recording.head);
    let findings = findings::analyse(&recording.head, &recording.events);
    let companion: Companion = if tour::took(&recording.head)? {
        console::alone
    } else {
        published::companion
    };
    let width = console::width();
    let said = console::write(&mut store, &findings, &recording.events, companion, width)?;
    let printed = output::print(&match printing.json {
        true => report::summary_json(&findings, &companion(&findings)) + "\n",
        false => console::text(&findings, companion, width),
    });
    let printed = printed.and_then(|()| printing.warn(&said));
    output::end(printed, Ending::of(&findings))
}

/// What was claimed is not measured, so that an older run is judged by the claims as they are told apart now. A run of several
/// builds has none.
fn renew_claims(head: &mut Head) {
    let claimed = head.experiments.iter_mut();
    for recorded in claimed.filter(|one| one.claim.is_some()) {
        let known = registry::find(&recorded.id).map(|one| one.card(Scale::Full));
        if let Some(known) = known.ok().filter(|known| known.title == recorded.title) {
            recorded.claim = known.claim;
        }
    }
}

/// Which lines of a run were skipped; empty if none was.
pub(crate) fn skipped(folder: &Path, recording: &Recording) -> String {
    if recording.skipped.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = recording.skipped.iter().map(usize::to_string).collect();
    format!(
        "Skipped in '{}', as they are damaged: lines {} of its events.\n",
        folder.display(),
        lines.join(", ")
    )
}

/// Checks the laboratory itself.
pub(crate) fn self_test(asked: SelfTest, printing: Printing) -> Result<Ending, Failure> {
    let SelfTest { extent, seed, load } = asked;
    let busy = match load {
        0 => String::new(),
        load => format!("; {load} other processes compute meanwhile"),
    };
    let interrupt = Interrupt::on_signal()?;
    printing.remark(&format!(
        "{}\nseed {seed}; {}{busy}\n\n",
        Machine::here().line(),
        extent.words()
    ))?;
    let _load = Load::start(load)?;
    let mut printed = Ok(());
    let criteria = self_test::run(extent, seed, &interrupt, &mut |criterion| {
        if printed.is_ok() && !printing.json {
            printed = output::print(&format!("{criterion}\n"));
        }
    })?;
    if printing.json {
        let json = serde_json::json!({ "seed": seed, "criteria": criteria });
        printed = output::print(&format!("{json}\n"));
    }
    let ending = if interrupt.is_set() {
        Ending::Interrupted
    } else if criteria.iter().any(|one| one.is_judged() && !one.holds()) {
        Ending::Failed
    } else if criteria.iter().all(Criterion::is_judged) {
        Ending::Good
    } else {
        Ending::NotQuiet
    };
    output::end(printed, ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyhands_lab::run;

    #[test]
    fn a_report_judges_the_claims_of_now_of_the_experiments_that_are_known() {
        let asked = ["E7", "E8", "E9"].map(|id| registry::find(id).unwrap());
        let settings = Settings::new(Scale::Quick, 1);
        let mut head = run::head(&asked, settings, Machine::default(), "");
        let now = head.experiments[0].claim.clone();
        for one in &mut head.experiments {
            one.claim.as_mut().unwrap().parts.clear();
        }
        head.experiments[1].title = "of one's own".to_owned();
        head.experiments[2].claim = None;
        renew_claims(&mut head);
        let [known, other, by_build] = head.experiments.as_slice() else {
            panic!("{head:?}");
        };
        assert_eq!(known.claim, now);
        assert!(other.claim.as_ref().unwrap().parts.is_empty());
        assert_eq!(by_build.claim, None);
    }

    #[test]
    fn the_command_that_goes_on_can_be_typed() {
        let check = |folder: &str, expected: &str| {
            let command = going_on(Path::new(folder));
            assert_eq!(command, format!("manyhands lab resume {expected}"));
        };
        check("a/b", "a/b");
        check("my results", "'my results'");
    }

    #[test]
    fn no_line_of_the_list_is_wider_than_the_narrowest_terminal() {
        for experiment in registry::experiments() {
            let second = Duration::from_secs(1);
            let takes = Some((second, second));
            let text = entry(&Listed { experiment, takes }, Width::NARROWEST);
            let too_wide = text.lines().find(|line| line.chars().count() > 40);
            assert_eq!(too_wide, None, "{text}");
        }
    }
}
