//! One run from its settings to its reports: what is printed when, and which files it leaves.

use super::{
    Printing,
    progress::Progress,
    reports::{self, Companion},
    screen::{self, Screen, print},
};
use crate::{
    Experiment, LabError,
    clock::utc,
    director::{Director, Plan, Statistics, Step},
    findings::{self, Findings},
    launcher::{Launcher, Live},
    machine::{Machine, NOISE_PROBE, Noise},
    record::{Event, Head, Settings},
    report::{self, Width},
    run::{self, Interrupt, Observer, Outcome},
    store::{Damage, Existing, Store},
};
use std::{
    io::ErrorKind::BrokenPipe,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// A run that is about to begin.
#[derive(Debug)]
pub struct Job {
    /// What to measure, in order.
    pub experiments: Vec<Experiment>,
    /// How.
    pub settings: Settings,
    /// Where results go.
    pub folder: PathBuf,
    /// What to do with results that are there already.
    pub existing: Existing,
    /// Whether to measure also where the machine objects, as on battery.
    pub force: bool,
    /// The program that runs it.
    pub program: Program,
}

/// What is different in each program that runs experiments.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// What stands beside the findings.
    pub companion: Companion,
    /// The command that goes on with the interrupted run in this folder.
    pub going_on: fn(&Path) -> String,
    /// What is printed for people.
    pub screen: Screen,
    /// What was asked about what is printed.
    pub printing: Printing,
    /// Arguments with which another build of this program serves its experiments.
    pub build_arguments: &'static [&'static str],
}

impl Program {
    fn warn(self, text: &str) -> Result<(), LabError> {
        self.printing.warn(text).map_err(LabError::Output)
    }
}

/// How a run ended, for an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All is measured, on a machine that was quiet enough.
    Good,
    /// Some points failed: arms with different results, a process that died.
    Failed,
    /// All is measured, but the machine was not quiet enough to rely on it.
    NotQuiet,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

impl Ending {
    /// How a run with these findings ended that was not interrupted.
    #[must_use]
    pub fn of(findings: &Findings) -> Self {
        match (findings.failures.is_empty(), findings.quiet) {
            (false, _) => Self::Failed,
            (true, true) => Self::Good,
            (true, false) => Self::NotQuiet,
        }
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Good => Self::SUCCESS,
            Ending::Failed => Self::FAILURE,
            Ending::NotQuiet => Self::from(NOT_QUIET),
            Ending::Interrupted => Self::from(INTERRUPTED),
        }
    }
}

/// Begins a run and takes it to its end.
///
/// # Errors
/// Those of the store, and [`LabError::Objection`] if the machine should not measure now.
pub fn begin(job: Job, interrupt: &Interrupt) -> Result<Ending, LabError> {
    let machine = Machine::here();
    if let Some(objection) = machine.objection().filter(|_| !job.force) {
        return Err(LabError::Objection {
            reason: objection.to_owned(),
        });
    }
    let head = run::head(&job.experiments, job.settings, machine, utc());
    let store = Store::create(&job.folder, &head, job.existing)?;
    introduce(&head, job.program)?;
    let director = Director::new(&head, Box::new(Statistics::new(&head)));
    let session = Session::new(head, Vec::new(), store, job.program);
    let launcher = launcher()?.build_arguments(session.program.build_arguments);
    session.run(director, launcher, interrupt)
}

/// Goes on with the run in a folder. The program must serve the same experiments as before.
///
/// # Errors
/// Those of [`Store::resume`] and [`Director::resume`].
pub fn resume(
    folder: &Path,
    damage: Damage,
    launcher: Launcher,
    program: Program,
    interrupt: &Interrupt,
) -> Result<Ending, LabError> {
    let (store, recording) = Store::resume(folder, damage)?;
    let judge = Box::new(Statistics::new(&recording.head));
    let director = Director::resume(&recording.head, judge, &recording.events, recording.spent)?;
    introduce(&recording.head, program)?;
    let session = Session::new(recording.head, recording.events, store, program);
    let launcher = launcher.build_arguments(program.build_arguments);
    session.run(director, launcher, interrupt)
}

/// Starts this program again as the processes that measure.
///
/// # Errors
/// [`LabError::Stream`] if the system does not say which program this is.
pub fn launcher() -> Result<Launcher, LabError> {
    Launcher::this_program().map_err(LabError::Stream)
}

/// A run with what it has found so far.
struct Session {
    head: Head,
    events: Vec<Event>,
    store: Store,
    program: Program,
}

impl Session {
    fn new(head: Head, events: Vec<Event>, store: Store, program: Program) -> Self {
        Self {
            head,
            events,
            store,
            program,
        }
    }

    fn run(
        mut self,
        mut director: Director,
        launcher: Launcher,
        interrupt: &Interrupt,
    ) -> Result<Ending, LabError> {
        let mut executor = Live::new(launcher, &self.head.settings);
        let mut host = Host {
            head: &self.head,
            events: &mut self.events,
            program: self.program,
            width: screen::width(),
            progress: Progress::new(self.program.printing),
            current: None,
        };
        let outcome = run::execute(
            &mut director,
            &mut executor,
            &mut self.store,
            &mut host,
            interrupt,
        );
        host.progress.finish();
        let outcome = outcome?;
        host.section_ends()?;
        let findings = findings::analyse(&self.head, &self.events);
        let (screen, width) = (self.program.screen, screen::width());
        if outcome == Outcome::Finished && screen == Screen::Tables {
            print(&reports::not_begun(&findings, width))?;
        }
        let companion = self.program.companion;
        let said = reports::write(&mut self.store, &findings, &self.events, companion, width)?;
        self.program.warn(&said)?;
        self.conclude(&findings, outcome, width)
    }

    fn conclude(
        &self,
        findings: &Findings,
        outcome: Outcome,
        width: Width,
    ) -> Result<Ending, LabError> {
        let (folder, screen) = (self.store.folder(), self.program.screen);
        let listing = match self.program.printing.quiet {
            true => String::new(),
            false => reports::listing(findings, &folder.display().to_string(), screen),
        };
        let mut printed = print(&match screen {
            Screen::Tables => report::closing(findings, width) + &listing,
            Screen::Answer => report::answer_text(findings, width) + &listing,
            Screen::Json => {
                let published = (self.program.companion)(findings);
                report::summary_json(findings, &published) + "\n"
            }
            Screen::Nothing => String::new(),
        });
        let mut ending = Ending::of(findings);
        if outcome == Outcome::Interrupted {
            ending = Ending::Interrupted;
            let again = (self.program.going_on)(folder);
            let said = "Interrupted; every finished block is kept. To go on";
            printed = printed.and_then(|()| self.program.warn(&format!("\n{said}: {again}\n")));
        }
        match printed {
            // All is kept; the reader of the output has seen enough.
            Err(LabError::Output(error)) if error.kind() == BrokenPipe => Ok(ending),
            printed => printed.map(|()| ending),
        }
    }
}

/// Prints each experiment when the next one begins.
struct Host<'run> {
    head: &'run Head,
    events: &'run mut Vec<Event>,
    program: Program,
    width: Width,
    progress: Progress,
    /// The experiment that is being measured.
    current: Option<String>,
}

impl Host<'_> {
    fn section_ends(&mut self) -> Result<(), LabError> {
        let Some(id) = self.current.take() else {
            return Ok(());
        };
        if self.program.screen != Screen::Tables {
            return Ok(());
        }
        let companion = self.program.companion;
        let text = reports::section(self.head, self.events, &id, companion, self.width);
        self.progress.aside(|| print(&format!("\n{text}")))
    }
}

impl Observer for Host<'_> {
    fn begins(&mut self, step: &Step, progress: &run::Progress) {
        self.progress.show(step, progress);
    }

    fn planned(&mut self, plan: &Plan) -> Result<(), LabError> {
        if self.program.screen == Screen::Answer {
            // What was left out is said with the answer.
            return Ok(());
        }
        let text = reports::plan_words(plan, self.width);
        self.progress.aside(|| self.program.warn(&text))
    }

    fn happened(&mut self, event: &Event, _: &run::Progress) -> Result<(), LabError> {
        if let Event::Piloted { .. } = event {
            self.events.push(event.clone());
            return Ok(());
        }
        let (id, _) = event.subject();
        if self.current.as_deref() != Some(id) {
            let id = id.to_owned();
            self.section_ends()?;
            self.current = Some(id);
        }
        self.events.push(event.clone());
        Ok(())
    }
}

/// Says where and how it measures, and how quiet the machine is.
fn introduce(head: &Head, program: Program) -> Result<(), LabError> {
    let Program {
        screen, printing, ..
    } = program;
    if printing.json || printing.quiet {
        return Ok(());
    }
    let noise = Noise::probe(NOISE_PROBE);
    let mut lines = vec![head.machine.line()];
    if cfg!(debug_assertions) {
        lines
            .push("Built without optimisation: these times mean little, use --release.".to_owned());
    }
    let settings = &head.settings;
    if screen == Screen::Tables {
        lines.push(format!(
            "{} fresh processes per case take turns; every block has every arm once, in shuffled \
             order, and the baseline twice; seed {}.",
            settings.launches, settings.seed
        ));
    }
    lines.push(noise.sentence());
    if screen == Screen::Answer {
        let time = settings.budget.map_or_else(String::new, |budget| {
            format!(" for about {:.0} s", budget.as_secs_f64())
        });
        lines.push(format!("Measuring{time}, seed {}.", settings.seed));
    }
    let width = screen::width();
    for line in lines {
        print(&width.wrapped(&line))?;
    }
    Ok(())
}

const NOT_QUIET: u8 = 3;
/// The exit code of [`Ending::Interrupted`]: as shells count a program that the interrupt signal has ended.
pub const INTERRUPTED: u8 = 130;
