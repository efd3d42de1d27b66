//! The arguments as typed, and the one-line refusal of bad ones.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

use crate::against;
use crate::problem::Problem;

/// Compares manyhands with its peers, interleaved in one run: medians and ratios.
#[derive(Debug, Parser)]
#[command(name = "peers", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Compare(Comparison),
    /// Measures problems, all by default, and renews their sections of the page of results
    Results(ResultsArguments),
    /// One contender in a process of its own, driven over its standard streams
    #[command(hide = true)]
    Child { problem: String, contender: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Comparison {
    /// Parallel loops: five bodies, n = 1 … 10⁷, pool hot, parked and busy
    Loops(Settings),
    /// Fork-join without cut-off: fib(32) and the sum of a small and a big tree
    Joins(Settings),
    /// One and ten million empty closures, spawned from outside and from inside the pool
    Items(Settings),
    /// Futures as tasks: spawned, awaited, and yielding, from outside and from inside the pool
    Tasks(Settings),
    /// A million sleeps, each in a task of its own or all in one
    Timers(TimerArguments),
    /// Half a million messages through channels, on threads and in async code
    Channels(Settings),
    /// Twenty thousand round trips over loopback TCP, on one connection and on many
    Io(Settings),
    /// A short task behind closures that block, and how many of these can block at once
    Starvation(Settings),
    /// 2,000 short tasks a second beside an endless loop on every worker
    Mixed(Settings),
    /// Tasks that spin or sleep briefly, without and with hill climbing
    Climbing(Settings),
    /// Loops whose bodies slow each other down, and loops that only look so
    Contended(Settings),
    /// A web service's heavy request, in order and in parallel, asked seldom and by many at once
    Server(Settings),
    /// A service at saturation: heavy requests of eight clients, and cheap ones every 2 ms; and at 10 … 120 % load
    Saturation(Settings),
    /// Keys: counting, joining and sorting, n = 100 … 10⁷ (without polars, which builds for too long)
    Keys(Settings),
    /// Queries: nine chains of operators and five hashes, n = 1 … 10⁶
    Queries(Settings),
    /// Shapes of work, drawn at random: in which manyhands wins and loses
    Shapes(ShapesArguments),
    /// CPU time a pool uses in ten idle seconds after work
    Idle(Settings),
    /// Loops on 2 to 192 workers, by simulation, beside what was published for .NET
    Cores(Settings),
}

impl Comparison {
    /// The name of the problem, and how it is to be compared.
    pub(crate) fn meant(self) -> (&'static str, Settings) {
        match self {
            Self::Loops(settings) => ("loops", settings),
            Self::Joins(settings) => ("joins", settings),
            Self::Items(settings) => ("items", settings),
            Self::Tasks(settings) => ("tasks", settings),
            Self::Timers(TimerArguments { settings, size }) => {
                ("timers", Settings { size, ..settings })
            }
            Self::Channels(settings) => ("channels", settings),
            Self::Io(settings) => ("io", settings),
            Self::Starvation(settings) => ("starvation", settings),
            Self::Mixed(settings) => ("mixed", settings),
            Self::Climbing(settings) => ("climbing", settings),
            Self::Contended(settings) => ("contended", settings),
            Self::Server(settings) => ("server", settings),
            Self::Saturation(settings) => ("saturation", settings),
            Self::Keys(settings) => ("keys", settings),
            Self::Queries(settings) => ("queries", settings),
            Self::Shapes(ShapesArguments { settings, search }) => {
                ("shapes", Settings { search, ..settings })
            }
            Self::Idle(settings) => ("idle", settings),
            Self::Cores(settings) => ("cores", settings),
        }
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct Settings {
    #[command(flatten)]
    pub(crate) extent: Extent,
    /// Only these contenders (the base of the ratios always runs)
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only the cases that have all these words, such as "sha hot"
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub(crate) cases: String,
    /// Rounds per case; in a round every contender measures once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) rounds: Option<u16>,
    /// Seed of the order of contenders within the rounds, and of what is drawn [default: drawn]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Compare this build's manyhands with that of another build of this program
    /// (`cargo xtask against REVISION` makes one)
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) against: Option<PathBuf>,
    /// Also write the tables to this file
    #[arg(long, value_name = "FILE.md")]
    pub(crate) out: Option<PathBuf>,
    /// Of `timers` alone.
    #[arg(skip)]
    pub(crate) size: TimerSize,
    /// Of `shapes` alone.
    #[arg(skip)]
    pub(crate) search: Search,
    /// Whether the page of results gets what is measured.
    #[arg(skip)]
    is_for_results: bool,
}

impl Settings {
    /// Those of one problem of the page of results.
    pub(crate) fn for_results(arguments: &ResultsArguments, problem: &str) -> Self {
        // Where contenders run at the same time there is no order.
        let has_order = problem != "idle";
        Self {
            extent: arguments.extent,
            rounds: arguments.rounds,
            seed: arguments.seed.filter(|_| has_order),
            is_for_results: true,
            ..Self::default()
        }
    }

    /// What to type for the same measurement, with its rounds and the seed of their order if it has one.
    pub(crate) fn command(&self, problem: &str, rounds: usize, seed: Option<u64>) -> String {
        if self.is_for_results {
            let extent = self.extent.option();
            let seed = seed.map(|seed| format!(" --seed {seed}"));
            return format!(
                "cargo xtask results {problem}{extent} --rounds {rounds}{}",
                seed.unwrap_or_default()
            );
        }
        let quoted = |word: String| match word.contains(' ') {
            true => format!("'{word}'"),
            false => word,
        };
        let words: Vec<String> = env::args().skip(1).map(quoted).collect();
        let seed = seed.filter(|_| self.seed.is_none());
        let seed = seed.map(|seed| format!(" --seed {seed}"));
        format!("peers {}{}", words.join(" "), seed.unwrap_or_default())
    }

    /// Whether a contender takes part: those named, else all, or only ours where builds are compared.
    pub(crate) fn selects(&self, contender: &str) -> bool {
        if self.only.is_empty() {
            self.against.is_none() || against::is_ours(contender)
        } else {
            self.only.iter().any(|name| name == contender)
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Extent {
    /// Short windows and few rounds: shows that everything works, not who wins
    #[arg(long)]
    pub(crate) quick: bool,
    /// Short windows, every other size, less of what takes long, and seven rounds: all problems in about half an hour
    #[arg(long, conflicts_with = "quick")]
    pub(crate) short: bool,
}

impl Extent {
    /// Whether nothing is left out.
    pub(crate) fn is_full(self) -> bool {
        !self.quick && !self.short
    }

    /// Whether inputs of this size are measured: where it is to be short, every other power of ten.
    pub(crate) fn has_size(self, len: usize) -> bool {
        let power = len.max(1).ilog10();
        !self.short || (power.is_multiple_of(2) && len == 10_usize.pow(power))
    }

    /// What to type for it, with the space before.
    fn option(self) -> &'static str {
        match (self.quick, self.short) {
            (true, _) => " --quick",
            (_, true) => " --short",
            _ => "",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TimerArguments {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) size: TimerSize,
}

#[derive(Debug, Args)]
pub(crate) struct ResultsArguments {
    /// Problems to measure [default: all]
    #[arg(value_name = "PROBLEM", value_parser = PossibleValuesParser::new(Problem::names()))]
    pub(crate) problems: Vec<String>,
    /// Rounds per case; fewer than seven give no intervals [default: the problem's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) rounds: Option<u16>,
    /// Seed of the order of contenders within the rounds [default: drawn]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) extent: Extent,
    /// The page
    #[arg(long, value_name = "FILE.md", default_value = "peers/RESULTS.md")]
    pub(crate) page: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TimerSize {
    /// How many sleeps [default: a million, or a hundred thousand with --quick and --short]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) count: Option<u32>,
    /// How long each is, in milliseconds [default: 10000, or 500 with --quick and --short]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) millis: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ShapesArguments {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) search: Search,
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Search {
    /// How many shapes [default: 100, or 40 with --short, 10 with --quick; with --seconds, as many as there is time for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: Option<u32>,
    /// Begin no other shape after this time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) seconds: Option<u32>,
    /// Also write all medians to this file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
}

/// Parses the arguments; the error is the process's exit code after the answer was printed.
pub(crate) fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print!("{error}");
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<&str> = Problem::names().collect();
            refuse(&format!(
                "name a comparison: {} (--help says more)",
                names.join(", ")
            ))
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or("bad arguments");
            refuse(first.trim_start_matches("error: "))
        }
    })
}

/// Prints the one line and gives the exit code of bad arguments.
pub(crate) fn refuse(message: &str) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::{Cli, Extent};

    #[test]
    fn the_options_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_comparison_is_full_quick_or_short() {
        let parse = |words: &str| Cli::try_parse_from(words.split(' '));
        assert!(parse("peers results joins --short --rounds 9").is_ok());
        assert!(parse("peers joins --quick").is_ok());
        assert!(parse("peers joins --quick --short").is_err());
        assert!(Extent::default().is_full());
    }

    #[test]
    fn a_short_comparison_has_every_other_size() {
        let short = Extent {
            short: true,
            ..Extent::default()
        };
        let lens = [1, 10, 43, 100, 200, 1_000, 10_000, 1_000_000, 10_000_000];
        let left: Vec<usize> = lens
            .into_iter()
            .filter(|&len| short.has_size(len))
            .collect();
        assert_eq!(left, [1, 100, 10_000, 1_000_000]);
        assert!(lens.iter().all(|&len| Extent::default().has_size(len)));
    }
}
