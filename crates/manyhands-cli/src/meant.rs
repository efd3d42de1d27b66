//! Arguments as meant: defaults filled in, values checked, nothing left to decide.

use crate::comparison::Comparison;
#[cfg(feature = "top")]
use crate::typed::TypedTop;
use crate::typed::{Typed, TypedCommand, TypedInspect, TypedLab, TypedProgram, TypedTour};
use crate::whole_commands::WholeCommands;
use clap_complete::Shell;
use manyhands_inspect::stacks::Frames;
use manyhands_lab::{
    Experiment,
    console::{Options, Printing, Screen},
    paper,
    record::{Scale, Settings},
    registry,
    self_test::Extent,
    store::{Damage, Existing},
};
use std::{path::PathBuf, time::Duration};

/// What to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// The tour.
    Tour(Run),
    /// Show what a running program does.
    Inspect(Inspect),
    /// List the experiments; of these also the arms, sizes and times.
    List(Vec<String>, Form),
    /// Run experiments.
    Run {
        /// Their ids, at least one.
        ids: Vec<String>,
        /// How.
        run: Run,
    },
    /// Go on with the run in this folder.
    Resume(PathBuf, Damage),
    /// Make the reports of the run in this folder again.
    Report {
        /// The folder.
        folder: PathBuf,
        /// What to do with damaged lines.
        damage: Damage,
        /// Whose published figures to show; `None`: as the run was asked.
        published: Option<String>,
    },
    /// Compare the runs in these folders.
    Compare(Comparison),
    /// Check the laboratory itself.
    SelfTest(SelfTest),
    /// Compute until the standard input ends.
    Busy,
    /// Print the completions of a shell.
    Completions(Shell),
    /// Write the manual into this folder.
    Man(PathBuf),
    /// A command of the fleet.
    #[cfg(feature = "fleet")]
    Fleet(manyhands_fleet::commands::Fleet),
    /// Time whole commands side by side.
    WholeCommands(WholeCommands, Run),
}

impl Command {
    /// Whether a signal may end it at any time.
    pub(crate) fn may_end_at_any_time(&self) -> bool {
        match self {
            // The terminal must be put back, which it does for the key.
            #[cfg(feature = "top")]
            Self::Inspect(inspect) => !matches!(inspect.view, View::Top(_)),
            #[cfg(not(feature = "top"))]
            Self::Inspect(_) => true,
            Self::List(..) | Self::Report { .. } | Self::Compare(..) => true,
            #[cfg(feature = "fleet")]
            Self::Fleet(command) => command.may_end_at_any_time(),
            _ => false,
        }
    }
}

/// How the laboratory checks itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelfTest {
    pub(crate) extent: Extent,
    /// Fixes the trials.
    pub(crate) seed: u64,
    /// Processes that compute meanwhile.
    pub(crate) load: u16,
}

/// Which program to look at, and how.
#[derive(Debug, PartialEq)]
pub(crate) struct Inspect {
    /// Where it listens; `None`: it is the only one.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) tasks_max: usize,
    pub(crate) view: View,
}

/// How a program is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// Once, in this form.
    Once(Form),
    /// The stacks of its threads, once, in this form.
    Stacks(Frames, Form),
    /// A task of this number, which is polled once for that, in this form.
    PolledTask(String, Frames, Form),
    /// For a while, as a timeline in a file.
    Timeline {
        /// The file, which is replaced.
        file: PathBuf,
        /// How long to look.
        length: Duration,
    },
    /// On a page in the browser.
    #[cfg(feature = "page")]
    Page {
        /// On the loopback address; 0 for any that is free.
        port: u16,
        /// How often the program is asked.
        every: Duration,
        /// Whether it may be held, and have tasks of the program polled.
        control: bool,
    },
    /// In the terminal, asked as often as this says.
    #[cfg(feature = "top")]
    Top(Duration),
}

/// In which form an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How to measure and where to put it.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) settings: Settings,
    pub(crate) out: PathBuf,
    pub(crate) existing: Existing,
    pub(crate) force: bool,
    pub(crate) screen: Screen,
    pub(crate) printing: Printing,
}

/// Works out what was meant, or says in one line why nothing sensible was.
pub(crate) fn mean(typed: Typed) -> Result<Command, String> {
    let printing = typed.printing;
    let command = typed
        .command
        .unwrap_or_else(|| TypedCommand::Tour(TypedTour::default()));
    if printing.json && !has_answer(&command) {
        return Err("'--json': this command has no answer that could be JSON".to_owned());
    }
    match command {
        TypedCommand::Tour(tour) => mean_tour(tour, printing).map(Command::Tour),
        TypedCommand::Inspect(inspect) => mean_inspect(inspect, printing).map(Command::Inspect),
        #[cfg(feature = "top")]
        TypedCommand::Top(top) => mean_top(top).map(Command::Inspect),
        #[cfg(not(feature = "top"))]
        TypedCommand::Top(_) => Err(absent("top")),
        TypedCommand::Lab(lab) => mean_lab(lab, printing),
        TypedCommand::Completions { shell } => Ok(Command::Completions(shell)),
        TypedCommand::Man { folder } => Ok(Command::Man(folder)),
        #[cfg(feature = "fleet")]
        TypedCommand::Fleet(fleet) => Ok(Command::Fleet(fleet)),
        #[cfg(not(feature = "fleet"))]
        TypedCommand::Fleet(_) => Err(absent("fleet")),
    }
}

/// Whether a command prints what was asked for, and does not only show it or go on.
fn has_answer(command: &TypedCommand) -> bool {
    match command {
        TypedCommand::Completions { .. } | TypedCommand::Man { .. } => false,
        TypedCommand::Inspect(inspect) => inspect.timeline.is_none(),
        #[cfg(feature = "top")]
        TypedCommand::Top(_) => false,
        #[cfg(feature = "fleet")]
        TypedCommand::Fleet(fleet) => fleet.has_answer(),
        _ => true,
    }
}

/// What to say of something that this build lacks.
#[cfg(not(all(feature = "fleet", feature = "page", feature = "top")))]
fn absent(feature: &str) -> String {
    format!(
        "this build of manyhands lacks the feature '{feature}'; in a clone, 'cargo install --path crates/manyhands-cli \
         --features {feature}' has it"
    )
}

fn mean_inspect(typed: TypedInspect, printing: Printing) -> Result<Inspect, String> {
    if let Some(file) = typed.timeline {
        let length = Duration::from_secs(typed.seconds.into());
        return mean_program(typed.program, View::Timeline { file, length });
    }
    if typed.stacks.stacks || typed.stacks.poll.is_some() {
        let has_stacks = cfg!(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ));
        if !has_stacks {
            return Err("stacks need Linux on x86-64 or aarch64".to_owned());
        }
        let frames = if typed.stacks.all_frames {
            Frames::All
        } else {
            Frames::OfProgram
        };
        let form = form(printing.json);
        let view = match typed.stacks.poll {
            Some(task) => View::PolledTask(task, frames, form),
            None => View::Stacks(frames, form),
        };
        return mean_program(typed.program, view);
    }
    let view = match (typed.text, printing.json) {
        (_, true) => View::Once(Form::Json),
        (true, _) => View::Once(Form::Text),
        #[cfg(feature = "page")]
        (false, false) => View::Page {
            port: typed.page.port,
            every: every(typed.page.per_second),
            control: typed.page.control,
        },
        #[cfg(not(feature = "page"))]
        (false, false) => {
            return Err(format!("{}; or choose --text or --json", absent("page")));
        }
    };
    mean_program(typed.program, view)
}

#[cfg(feature = "top")]
fn mean_top(typed: TypedTop) -> Result<Inspect, String> {
    mean_program(typed.program, View::Top(every(typed.per_second)))
}

#[cfg(any(feature = "page", feature = "top"))]
fn every(per_second: u8) -> Duration {
    Duration::from_secs(1) / u32::from(per_second)
}

#[cfg(unix)]
fn mean_program(typed: TypedProgram, view: View) -> Result<Inspect, String> {
    let of_process = typed.process.map(manyhands_inspect::default_path);
    Ok(Inspect {
        socket: typed.socket.or(of_process),
        tasks_max: typed.tasks,
        view,
    })
}

#[cfg(not(unix))]
fn mean_program(_: TypedProgram, _: View) -> Result<Inspect, String> {
    Err("looking at a program needs Unix".to_owned())
}

fn mean_lab(typed: TypedLab, printing: Printing) -> Result<Command, String> {
    Ok(match typed {
        TypedLab::List { ids } => Command::List(ids, form(printing.json)),
        TypedLab::Run {
            ids,
            published,
            options,
        } => {
            let mut run = mean_run(&options, LAB_OUT, printing)?;
            run.settings.published = mean_published(published)?;
            Command::Run { ids, run }
        }
        TypedLab::Resume {
            skip_damaged,
            folder,
        } => Command::Resume(folder, damage(skip_damaged)),
        TypedLab::Report {
            skip_damaged,
            published,
            folder,
        } => Command::Report {
            folder,
            damage: damage(skip_damaged),
            published: mean_published(published)?,
        },
        TypedLab::Compare {
            skip_damaged,
            first,
            second,
            json,
            fail_if_slower,
        } => Command::Compare(Comparison {
            before: first,
            after: second,
            damage: damage(skip_damaged),
            form: form(json),
            fail_if_slower,
        }),
        TypedLab::SelfTest { quick, seed, load } => Command::SelfTest(SelfTest {
            extent: if quick { Extent::Quick } else { Extent::Whole },
            seed: seed.unwrap_or_else(Settings::drawn_seed),
            load,
        }),
        TypedLab::Busy => Command::Busy,
        TypedLab::Command {
            sizes,
            options,
            words,
        } => {
            let asked = WholeCommands::split(&words, sizes)?;
            Command::WholeCommands(asked, mean_run(&options, COMMAND_OUT, printing)?)
        }
    })
}

/// A part of the name of a machine or a runtime that something was published of.
fn mean_published(typed: Option<String>) -> Result<Option<String>, String> {
    let Some(text) = typed else {
        return Ok(None);
    };
    let experiments = registry::experiments();
    let is_known = |experiment: &Experiment| !paper::matching(experiment.id(), &text).is_empty();
    if experiments.iter().any(is_known) {
        return Ok(Some(text));
    }
    Err(format!(
        "'--published {text}' is in the name of no machine and no runtime; 'lab list ID' names those of an \
         experiment"
    ))
}

fn damage(skip_damaged: bool) -> Damage {
    if skip_damaged {
        Damage::Skip
    } else {
        Damage::Refuse
    }
}

fn form(json: bool) -> Form {
    if json { Form::Json } else { Form::Text }
}

fn mean_run(options: &Options, default_out: &str, printing: Printing) -> Result<Run, String> {
    Ok(Run {
        settings: options.settings()?,
        out: options.folder(default_out)?,
        existing: options.existing(),
        force: options.force,
        screen: printing.screen(Screen::Tables),
        printing,
    })
}

/// The tour is a run of a few experiments in a fixed time.
fn mean_tour(typed: TypedTour, printing: Printing) -> Result<Run, String> {
    let options = Options {
        quick: typed.quick,
        out: typed.out,
        seed: typed.seed,
        replace: typed.replace,
        ..Options::default()
    };
    let mut run = mean_run(&options, TOUR_OUT, printing)?;
    let default_budget = match run.settings.scale {
        Scale::Quick => TOUR_QUICK,
        Scale::Standard | Scale::Full => TOUR,
    };
    run.settings.budget = typed.budget.or(Some(default_budget));
    run.settings.cores = true;
    run.force = true;
    run.screen = printing.screen(Screen::Answer);
    Ok(run)
}

const LAB_OUT: &str = "manyhands-lab";
const COMMAND_OUT: &str = "manyhands-commands";
const TOUR_OUT: &str = "manyhands-tour";
/// Leaves a third of the promised minute for slow machines and the charts.
const TOUR: Duration = Duration::from_secs(35);
const TOUR_QUICK: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
