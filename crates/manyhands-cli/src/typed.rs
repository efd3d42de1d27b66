//! Arguments as typed. What they mean is decided in `meant`.

use clap::{Args, Parser, Subcommand, error::ErrorKind};
use manyhands_lab::console::Options;
use std::{ffi::OsString, path::PathBuf};

/// The whole command line.
#[derive(Debug, PartialEq, Parser)]
#[command(
    name = "manyhands",
    version,
    about = "Measures where parallel pays on this machine",
    after_help = "Without a command, manyhands takes the tour. 'manyhands tour --help' has its options."
)]
pub(crate) struct Typed {
    #[command(subcommand)]
    pub(crate) command: Option<TypedCommand>,
}

#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum TypedCommand {
    /// Measure sequential loops against ours, find the break-even, draw a chart; under a minute
    Tour(TypedTour),
    /// Show what a running program does that uses manyhands with the feature `inspect`: a page in the browser, or tables
    Inspect(TypedInspect),
    /// The same in this terminal, while the program runs
    #[cfg(feature = "top")]
    Top(TypedTop),
    /// The laboratory: when does parallel pay, with confidence
    #[command(subcommand)]
    Lab(TypedLab),
    /// Experiments on many machines: one server, agents that pull, results exactly once
    #[cfg(feature = "fleet")]
    #[command(subcommand)]
    Fleet(manyhands_fleet::commands::Fleet),
}

/// Options of the tour.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct TypedTour {
    /// Folder for the report, the charts and the raw measurements [default: manyhands-tour]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Replace an earlier run in that folder, with all files that were made of it
    #[arg(long)]
    pub(crate) replace: bool,

    /// Number that fixes the order of the arms and the resamples [default: drawn and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Time for all measurements together, such as 40s or 2m [default: 35s, or 10s with --quick]
    #[arg(long, value_name = "TIME", value_parser = manyhands_lab::console::parse_budget, allow_negative_numbers = true)]
    pub(crate) budget: Option<std::time::Duration>,

    /// Small sizes, only to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Which program to look at.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedProgram {
    /// Number of the process; needed if several programs listen
    #[arg(value_name = "PID", conflicts_with = "socket")]
    pub(crate) process: Option<u32>,

    /// Socket of the program, if it listens at a path of its own
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// At most this number of tasks, and of channels
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) tasks: usize,
}

/// Which program to look at, and how.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedInspect {
    #[command(flatten)]
    pub(crate) program: TypedProgram,

    /// Print tables, once, and serve no page
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,

    #[command(flatten)]
    pub(crate) stacks: TypedStacks,

    /// Print what the program answers, a line of JSON for each runtime, task, loop, channel and deadlock; with --stacks or
    /// --poll, one object
    #[arg(long)]
    pub(crate) json: bool,

    /// Look at the program for a while and write a timeline to this file, as a trace for Perfetto
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "text"])]
    pub(crate) timeline: Option<PathBuf>,

    /// How many seconds the timeline has
    #[arg(long, value_name = "N", default_value_t = 5, requires = "timeline", value_parser = clap::value_parser!(u16).range(1..=3600))]
    pub(crate) seconds: u16,

    #[cfg(feature = "page")]
    #[command(flatten)]
    pub(crate) page: TypedPage,
}

/// How a page is served.
#[cfg(feature = "page")]
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedPage {
    /// Port of the page on the loopback address [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, conflicts_with_all = ["json", "text"])]
    pub(crate) port: u16,

    /// How often the program is asked in a second while somebody looks at the page, at most 60
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["json", "text"], value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) per_second: u8,

    /// Let who looks at the page freeze it: all pages hold still, and the program is not asked, until it is released; and,
    /// in programs that allow it, such as those started with MANYHANDS_INSPECT=control, have single tasks polled, frozen and
    /// thawed
    #[arg(long, conflicts_with_all = ["json", "text", "timeline", "stacks", "poll"])]
    pub(crate) control: bool,
}

/// Which program to show in the terminal, and how often to ask it.
#[cfg(feature = "top")]
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedTop {
    #[command(flatten)]
    pub(crate) program: TypedProgram,

    /// How often the program is asked in a second, at most 60
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub(crate) per_second: u8,
}

/// Whether stacks are shown, and how.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedStacks {
    /// Show the stacks of the threads that run its tasks, and these stacks merged (needs Linux)
    #[arg(long, conflicts_with = "timeline", group = "shows_stacks")]
    pub(crate) stacks: bool,

    /// Have the program poll this task once more, if it waits, and show the stacks of the places where it waits then; for
    /// programs that allow it, such as those started with MANYHANDS_INSPECT=control (needs Linux)
    #[arg(long, value_name = "TASK", conflicts_with_all = ["timeline", "text"], group = "shows_stacks")]
    pub(crate) poll: Option<String>,

    /// In stacks, show the functions of manyhands and of the system too
    #[arg(long, requires = "shows_stacks")]
    pub(crate) all_frames: bool,
}

/// Commands of the laboratory.
#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum TypedLab {
    /// List the experiments
    List {
        /// Also the arms and sizes of these, and how long they take here
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// Print them as JSON and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Run experiments: tables, break-evens, charts and a report in a folder
    Run {
        /// Experiments, such as E3 or E1b; 'all' for all of them
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Whose published figures to show beside the results: part of the name of a machine or a runtime,
        /// such as '96 CPUs' or NativeAOT, or 'all'; 'lab list ID' names them
        #[arg(long, value_name = "SOURCE")]
        published: Option<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Go on with a run that was interrupted
    Resume {
        /// Do without blocks whose lines are damaged
        #[arg(long)]
        skip_damaged: bool,
        /// Its folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Make the tables, charts and reports of a run again from its raw measurements
    Report {
        /// Do without blocks whose lines are damaged
        #[arg(long)]
        skip_damaged: bool,
        /// Whose published figures to show beside the results, as in 'lab run' [default: as the run was
        /// asked]
        #[arg(long, value_name = "SOURCE")]
        published: Option<String>,
        /// Its folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Compare the results of two runs
    Compare {
        /// Do without blocks whose lines are damaged
        #[arg(long)]
        skip_damaged: bool,
        /// Folder of the first run
        #[arg(value_name = "A")]
        first: PathBuf,
        /// Folder of the second run
        #[arg(value_name = "B")]
        second: PathBuf,
        /// Print the comparison as JSON and nothing else
        #[arg(long)]
        json: bool,
        /// End with exit code 1 if an arm is slower than in the first run by more than this share, by the
        /// whole of its interval: 5% or 0.05
        #[arg(long, value_name = "SHARE", value_parser = crate::comparison::parse_share)]
        fail_if_slower: Option<f64>,
    },
    /// Check the laboratory itself on this machine: false verdicts, known differences, known
    /// break-evens
    SelfTest {
        /// A quarter of the comparisons, about a minute
        #[arg(long)]
        quick: bool,
        /// Number that fixes the trials [default: drawn and printed]
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Make the machine busy: this many other processes compute meanwhile
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=256))]
        load: u16,
    },
    /// Compute until the standard input ends: one of the processes that make a machine busy
    #[command(hide = true)]
    Busy,
    /// Time two whole commands side by side: manyhands lab command -- A ... --vs B ...
    Command {
        #[command(flatten)]
        options: Options,
        /// The two commands with their arguments, '--vs' between them
        #[arg(last = true, required = true, value_name = "A --vs B")]
        words: Vec<OsString>,
    },
}

/// What to say instead of running.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    /// Help or version, asked for.
    Text(String),
    /// One line about what is wrong.
    Complaint(String),
}

/// Reads a command line, program name first.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Typed, Answer> {
    Typed::try_parse_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Answer::Text(error.to_string()),
        _ => Answer::Complaint(one_line(&error.to_string())),
    })
}

/// The first paragraph of a report, which says what is wrong, as one line.
fn one_line(report: &str) -> String {
    let first: Vec<&str> = report
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let text = first.join(" ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parsed(line: &str) -> Result<Typed, Answer> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_table_of_arguments_is_consistent() {
        Typed::command().debug_assert();
    }

    #[test]
    fn no_command_is_none() {
        assert_eq!(parsed("manyhands"), Ok(Typed { command: None }));
    }

    #[test]
    fn every_option_arrives() {
        let typed = parsed("manyhands tour --out a/b --seed 7 --budget 2.5 --quick --replace");
        let tour = TypedTour {
            out: Some("a/b".into()),
            seed: Some(7),
            budget: Some(std::time::Duration::from_millis(2_500)),
            quick: true,
            replace: true,
        };
        let command = Some(TypedCommand::Tour(tour));
        assert_eq!(typed, Ok(Typed { command }));
    }

    #[test]
    fn a_complaint_is_one_line_and_names_the_culprit() {
        fn check(line: &str, culprit: &str) {
            let Err(Answer::Complaint(text)) = parsed(line) else {
                panic!("'{line}' was accepted");
            };
            assert!(text.contains(culprit), "'{culprit}' is missing in: {text}");
            assert!(!text.contains('\n') && !text.starts_with("error"), "{text}");
        }
        check("manyhands --frobnicate", "--frobnicate");
        check("manyhands detour", "detour");
        check("manyhands tour extra", "extra");
        check("manyhands tour --seed", "--seed");
        check("manyhands tour --seed -3", "-3");
        check("manyhands tour --seed many", "many");
        check("manyhands tour --budget soon", "soon");
        check("manyhands tour --quick --quick", "--quick");
    }

    #[test]
    fn help_and_version_are_answers() {
        for line in ["manyhands --help", "manyhands tour --help", "manyhands -V"] {
            assert!(matches!(parsed(line), Err(Answer::Text(_))), "{line}");
        }
    }
}
