//! Arguments as typed. What they mean is decided in `meant`.

use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use manyhands_lab::{
    console::{Options, Printing},
    plain::plain,
};
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
    #[command(flatten)]
    pub(crate) printing: Printing,

    /// When to colour help, errors and `top` [default: auto, which minds NO_COLOR]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: ColorChoice,

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
    /// Needs the feature `top`
    #[cfg(not(feature = "top"))]
    #[command(hide = true, disable_help_flag = true)]
    Top(Absent),
    /// The laboratory: when does parallel pay, with confidence
    #[command(subcommand)]
    Lab(TypedLab),
    /// Print what lets a shell complete commands and options
    Completions {
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the manual, a page for each command
    Man {
        /// Folder for the pages
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Experiments on many machines: one server, agents that pull, results exactly once
    #[cfg(feature = "fleet")]
    #[command(subcommand)]
    Fleet(manyhands_fleet::commands::Fleet),
    /// Needs the feature `fleet`
    #[cfg(not(feature = "fleet"))]
    #[command(hide = true, disable_help_flag = true)]
    Fleet(Absent),
}

/// What is typed for a command that this build does not have.
#[cfg(not(all(feature = "fleet", feature = "top")))]
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Absent {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
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

/// Which program to look at, and how. With --json it prints what the program answers, a line for each runtime, task, loop,
/// channel and deadlock; with --stacks or --poll, one object.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct TypedInspect {
    #[command(flatten)]
    pub(crate) program: TypedProgram,

    /// Print tables, once, and serve no page
    #[arg(long, conflicts_with = "json")]
    pub(crate) text: bool,

    #[command(flatten)]
    pub(crate) stacks: TypedStacks,

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

    /// Give the page buttons that change something: one holds all pages, so that the program is not asked until they are
    /// released; in programs that allow it, such as those started with MANYHANDS_INSPECT=control, another polls a single task
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
        /// Leave out blocks whose lines are damaged
        #[arg(long)]
        skip_damaged: bool,
        /// Its folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Make the tables, charts and reports of a run again from its raw measurements
    Report {
        /// Leave out blocks whose lines are damaged
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
        /// Leave out blocks whose lines are damaged
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
        #[arg(long, help = format!("Only {}", manyhands_lab::self_test::Extent::Quick.words()))]
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
    /// Time whole commands side by side: manyhands lab command -- A ... --vs B ...
    Command {
        /// Sizes, each of which stands in the place of every n in braces in the commands
        #[arg(long, value_name = "N,N", value_delimiter = ',')]
        sizes: Vec<usize>,
        #[command(flatten)]
        options: Options,
        /// The commands with their arguments, '--vs' between them; the first is the baseline
        #[arg(last = true, required = true, value_name = "A --vs B")]
        words: Vec<OsString>,
    },
}

/// Reads a command line, program name first.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Typed, clap::Error> {
    Typed::try_parse_from(arguments).map_err(|error| {
        // Errors repeat what was typed: once more, with what steers a terminal shown and not done.
        let shown = arguments.iter().map(plain_word);
        Typed::try_parse_from(shown).err().unwrap_or(error)
    })
}

fn plain_word(word: &OsString) -> String {
    plain(&word.to_string_lossy()).into_owned()
}

/// What `--color` says, also where the rest of a command line makes no sense.
pub(crate) fn color(arguments: &[OsString]) -> ColorChoice {
    let words = arguments.iter().take_while(|word| *word != "--");
    let words: Vec<_> = words.filter_map(|word| word.to_str()).collect();
    let joined = words.iter().find_map(|word| word.strip_prefix("--color="));
    let apart = || words.windows(2).find(|two| two[0] == "--color");
    let said = joined.or_else(|| apart().map(|two| two[1]));
    said.and_then(|said| said.parse().ok()).unwrap_or_default()
}

/// The command that a command line names, with its full name.
pub(crate) fn command(arguments: &[OsString]) -> clap::Command {
    let mut command = Typed::command().bin_name("manyhands");
    command.build();
    for word in arguments.iter().skip(1) {
        if let Some(named) = command.find_subcommand(word) {
            command = named.clone();
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Typed, clap::Error> {
        parse(&words(line))
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_table_of_arguments_is_consistent() {
        Typed::command().debug_assert();
    }

    #[test]
    fn no_help_has_the_braces_that_clap_takes_for_a_line_break() {
        let mut commands = vec![Typed::command()];
        while let Some(command) = commands.pop() {
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string);
                assert!(!help.unwrap_or_default().contains("{n}"), "{argument}");
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn no_command_is_none() {
        assert_eq!(parsed("manyhands").unwrap().command, None);
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
        assert_eq!(typed.unwrap().command, command);
    }

    #[test]
    fn what_is_said_of_colours_is_known_without_the_rest() {
        for (line, choice) in [
            ("manyhands", ColorChoice::Auto),
            ("manyhands detour --color never", ColorChoice::Never),
            ("manyhands --color=always detour", ColorChoice::Always),
            ("manyhands --color sometimes", ColorChoice::Auto),
            (
                "manyhands lab command -- ls --color=never",
                ColorChoice::Auto,
            ),
        ] {
            assert_eq!(color(&words(line)), choice, "{line}");
        }
    }

    #[test]
    fn the_command_that_was_typed_has_its_full_name() {
        for (line, name) in [
            ("manyhands --frobnicate", "manyhands"),
            ("manyhands lab --frobnicate", "manyhands lab"),
            ("manyhands lab run E3 --out tour", "manyhands lab run"),
        ] {
            assert_eq!(command(&words(line)).get_bin_name(), Some(name), "{line}");
        }
    }
}
