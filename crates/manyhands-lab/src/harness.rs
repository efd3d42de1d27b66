//! The main function of a benchmark of one's own: everything the laboratory does, for one's own functions.
//!
//! `cargo bench` measures; options come after `--`, as in `cargo bench --bench roots -- --quick`. Run without `--bench`, as
//! `cargo test --benches` does, it only calls every arm at the smallest size and compares what they give.

use crate::{
    Experiment, LabError, child,
    console::{self, Ending, Job, Options, Printing, Program, Screen},
    experiment::agreement::Agreement,
    findings::{self, Findings},
    record::Scale,
    report,
    run::Interrupt,
    store::{self, Damage, Existing},
};
use clap::Parser;
use serde_json::Value;
use std::{
    env,
    ffi::OsStr,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

/// Options of a benchmark.
#[derive(Debug, Parser)]
#[command(about = "Measures from which size on one way is faster than another")]
struct Typed {
    /// Experiments to run, by id [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    options: Options,

    #[command(flatten)]
    printing: Printing,

    /// Keep the results as the baseline of this name, in place of an earlier one
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    save_baseline: Option<String>,

    /// Compare the results with the baseline of this name; as JSON, in `since_baseline` of the summary
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    baseline: Option<String>,

    /// Go on with the interrupted run in the folder for the results
    #[arg(long, conflicts_with_all = ["quick", "full", "budget", "seed", "replace"])]
    resume: bool,

    /// Measure; cargo bench gives this
    #[arg(long, hide = true)]
    bench: bool,
}

/// Runs a benchmark made of these experiments. Call it first thing in `main`: the program is
/// started again for every process that measures.
///
/// The exit code is 0 if all is well, 1 if arms differ or something cannot be written, 2 for bad
/// arguments, 3 if the machine was not quiet enough, 130 if interrupted.
///
/// Example: a whole file stands at the head of [this crate](crate).
#[must_use]
pub fn main(experiments: Vec<Experiment>) -> ExitCode {
    let typed = match Typed::try_parse() {
        Ok(typed) => typed,
        Err(error) => {
            // Standard error is the last resort: nobody is left to tell if it fails.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { BAD_ARGUMENTS } else { 0 });
        }
    };
    let ended = if child::is_wanted() {
        child::serve(&experiments).map(|()| Ending::Good)
    } else if typed.bench {
        measure(&typed, experiments)
    } else {
        compare(&experiments).map(|()| Ending::Good)
    };
    match ended {
        Ok(ending) => ending.into(),
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            match error {
                LabError::Arguments { .. } => ExitCode::from(BAD_ARGUMENTS),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn measure(typed: &Typed, mut experiments: Vec<Experiment>) -> Result<Ending, LabError> {
    let wrong = |reason| LabError::Arguments { reason };
    let name = experiments.first().map_or("results", Experiment::id);
    let folder = typed.options.folder(&format!("target/lab/{name}"));
    let folder = folder.map_err(wrong)?;
    let saved = |name: &String| folder.join(BASELINES).join(name);
    if let Some(name) = typed.baseline.as_ref().filter(|name| !saved(name).exists()) {
        return Err(wrong(format!("no baseline was saved as '{name}'")));
    }
    let before = typed.baseline.as_ref().map(|name| found_in(&saved(name)));
    let before = before.transpose()?;
    let (folder, existing) = match &typed.save_baseline {
        Some(name) => (saved(name), Existing::Replace),
        None => (folder, typed.options.existing()),
    };
    let is_it = |one: &Experiment, id: &String| one.id().eq_ignore_ascii_case(id);
    let is_unknown = |id: &&String| !experiments.iter().any(|one| is_it(one, id));
    if let Some(id) = typed.ids.iter().find(is_unknown) {
        return Err(wrong(format!("there is no experiment '{id}'")));
    }
    let program = program(typed.printing, before.is_some());
    let interrupt = Interrupt::on_signal()?;
    let ending = if typed.resume {
        let launcher = console::launcher()?;
        console::resume(&folder, Damage::Refuse, launcher, program, &interrupt)?
    } else {
        if !typed.ids.is_empty() {
            experiments.retain(|one| typed.ids.iter().any(|id| is_it(one, id)));
        }
        let job = Job {
            experiments,
            settings: typed.options.settings().map_err(wrong)?,
            folder: folder.clone(),
            existing,
            force: typed.options.force,
            program,
        };
        console::begin(job, &interrupt)?
    };
    if let Some(before) = before {
        let after = found_in(&folder)?;
        let text = match (typed.printing.json, ending) {
            (true, _) => as_one_document(&before, &after),
            (false, Ending::Interrupted) => String::new(),
            (false, _) => format!("\n{}", report::compare(&before, &after, console::width())),
        };
        let written = io::stdout().lock().write_all(text.as_bytes());
        written.map_err(LabError::Output)?;
    }
    Ok(ending)
}

/// What the run in a folder has found.
fn found_in(folder: &Path) -> Result<Findings, LabError> {
    let recording = store::read(folder, Damage::Refuse)?;
    Ok(findings::analyse(&recording.head, &recording.events))
}

/// The summary of a run as JSON, and in it what has changed since a baseline.
fn as_one_document(before: &Findings, after: &Findings) -> String {
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("it was made as JSON") };
    let mut summary = read(&report::summary_json(after, &console::alone(after)));
    summary["since_baseline"] = read(&report::compare_json(before, after));
    format!("{summary:#}\n")
}

/// Reads the name of a baseline, which is that of a folder.
fn parse_name(text: &str) -> Result<String, String> {
    match Path::new(text).file_name() == Some(OsStr::new(text)) {
        true => Ok(text.to_owned()),
        false => Err("a baseline needs the name of a folder".to_owned()),
    }
}

/// Calls every arm once at the smallest size.
fn compare(experiments: &[Experiment]) -> Result<(), LabError> {
    for experiment in experiments {
        for case in experiment.cases() {
            let Some(n) = case.sizes(Scale::Quick).first().copied() else {
                continue;
            };
            let title = format!("{} {}", experiment.id(), case.name());
            let mut agreement = Agreement::new(title, n);
            let mut trial = case.open(n);
            for (arm, name) in case.arms().iter().enumerate() {
                agreement.check(name, trial.called(arm))?;
            }
        }
    }
    Ok(())
}

/// As JSON a run that is compared is printed at the end, with what has changed.
fn program(printing: Printing, is_compared: bool) -> Program {
    let screen = match printing.json && is_compared {
        true => Screen::Nothing,
        false => printing.screen(Screen::Tables),
    };
    Program {
        companion: console::alone,
        going_on,
        screen,
        printing,
        build_arguments: &[],
    }
}

/// Cargo names the program after the benchmark, with a hash behind it.
fn going_on(folder: &Path) -> String {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    let folder = folder.display();
    format!("cargo bench --bench {name} -- --resume --out {folder}")
}

const BAD_ARGUMENTS: u8 = 2;
/// Folder of the baselines, in that of the results.
const BASELINES: &str = "baselines";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn typed(words: &[&str]) -> Result<Typed, clap::Error> {
        Typed::try_parse_from(["roots", "--bench"].iter().chain(words))
    }

    #[test]
    fn a_baseline_has_the_name_of_a_folder() {
        let parsed = typed(&["--save-baseline", "2.0 main", "--baseline=1.0"]).unwrap();
        assert_eq!(parsed.save_baseline.as_deref(), Some("2.0 main"));
        assert_eq!(parsed.baseline.as_deref(), Some("1.0"));
        for name in ["", ".", "..", "a/b", "/a", "a/"] {
            assert!(typed(&["--baseline", name]).is_err(), "{name}");
        }
    }

    #[test]
    fn a_run_and_what_has_changed_since_are_one_json_document() {
        let printing = |words: &[&str]| typed(words).unwrap().printing;
        let screen = |is_compared| program(printing(&["--json"]), is_compared).screen;
        let expected = [Screen::Nothing, Screen::Json];
        assert_eq!([screen(true), screen(false)], expected);
        assert_eq!(program(printing(&[]), true).screen, Screen::Tables);
        let (before, after) = (fixture::findings(), fixture::other_findings());
        let document: Value = serde_json::from_str(&as_one_document(&before, &after)).unwrap();
        assert_eq!(document["experiments"][0]["id"], "E3");
        let changes = &document["since_baseline"]["cases"][0]["changes"];
        assert!(changes[0]["speed_up_ratio"]["low"].is_f64(), "{changes}");
    }

    #[test]
    fn a_baseline_that_was_not_saved_is_refused_before_anything_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        let typed = typed(&["--baseline", "before", "--out", out]).unwrap();
        let error = measure(&typed, vec![Experiment::new("X", "nothing")]).unwrap_err();
        assert_eq!(error.to_string(), "no baseline was saved as 'before'");
    }
}
