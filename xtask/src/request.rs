//! The command line: each command with its options, and what it runs.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::step::{self, compat, loom, miri};
use crate::{ci, tidy};

/// Project automation: every check of this repository is a command here.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Request {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Everything the build server runs: formatting, lints, tests, documentation, models, a check of the peers. What takes
    /// longer or needs more is a command of its own
    Ci {
        /// Only steps that run beside the others, in a process of their own
        #[arg(long, hide = true)]
        lane: Option<String>,
        /// Only says which steps there are
        #[arg(long)]
        list: bool,
    },
    /// Model-checks the protocols
    Loom {
        #[arg(long, default_value_t = loom::PREEMPTIONS_DEFAULT)]
        preemptions: u32,
    },
    /// Runs programs on the whole library in 10,000 random schedules each
    Explore(step::explore::Extent),
    /// Unit tests and whole pools under Miri (nightly)
    Miri {
        /// Schedules of each program
        #[arg(long, default_value_t = miri::SEEDS_DEFAULT)]
        seeds: u32,
    },
    /// Checks the rules of this code base
    Tidy {
        /// Renews the table of results in README.md first, and has older tables say so
        #[arg(long)]
        write: bool,
    },
    /// Builds the documentation with warnings denied, and the book, whose links are checked
    Docs,
    /// Compares the library's public surface with crates/manyhands/surface.txt, and checks that it is documented
    Surface {
        /// Renews that file, beside a changed changelog
        #[arg(long)]
        write: bool,
    },
    /// Checks each crate as its archive has it
    Package,
    /// Builds and runs every example of the library, and those of the cluster
    Examples,
    /// What is published, with the façade in compat; renews its tables
    Compat {
        /// All but the short one where none is named
        parts: Vec<compat::Part>,
    },
    /// Lints and tests for aarch64 under an emulator, which has to be installed, with a linker
    Aarch64,
    /// Tests under ThreadSanitizer and AddressSanitizer (nightly)
    Sanitize,
    /// Random programs over the whole library under random delays
    Soak(step::soak::Plan),
    /// Instructions and time of spawns, channels and loops without the feature `inspect`, with it closed, and with it
    /// open (needs valgrind)
    InspectCosts,
    /// What empty bodies and bodies of 20 ms cost in workers through NATS and in worker processes, beside threads (needs
    /// nats-server)
    ClusterCosts,
    /// Looks at examples on the page of `manyhands inspect` in a headless browser, checks what it shows and renews the
    /// pictures of its README (needs chromium)
    InspectPictures,
    /// Measures this library and that of an earlier revision by turns, such as `against v0.1.0 joins --rounds 9`
    Against {
        revision: String,
        /// A comparison and its options, as for the peers
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Measures this library beside its peers, and renews the sections of peers/RESULTS.md for this kind of processor
    #[command(disable_help_flag = true)]
    Results {
        /// Problems and options, as for the peers; `--help` names them. `--short` takes about half an hour for all
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Measures experiments of the laboratory, and renews its page of results and the tour in the README of its command
    LabResults {
        /// Only these, each in the time that it has in all
        #[arg(value_parser = step::lab_results::PARTS)]
        parts: Vec<String>,
        /// For all of them
        #[arg(long, default_value_t = step::lab_results::MINUTES_DEFAULT,
              value_parser = clap::value_parser!(u32).range(1..=600))]
        minutes: u32,
        /// Measure nothing, and put what is kept on the page again
        #[arg(long)]
        render: bool,
    },
}

impl Request {
    pub(crate) fn run(self) -> Result<()> {
        match self.command {
            Command::Ci { list: true, .. } => ci::list(),
            Command::Ci { lane: None, .. } => ci::run(),
            Command::Ci {
                lane: Some(lane), ..
            } => ci::run_lane(&lane),
            Command::Loom { preemptions } => loom::run(preemptions),
            Command::Explore(extent) => step::explore::run(&extent),
            Command::Miri { seeds } => miri::run(seeds),
            Command::Tidy { write: false } => tidy::run(),
            Command::Tidy { write: true } => tidy::write().and_then(|()| tidy::run()),
            Command::Docs => step::commands::docs(),
            Command::Surface { write: false } => step::surface::run(),
            Command::Surface { write: true } => step::surface::write(),
            Command::Package => step::package::run(),
            Command::Examples => {
                step::examples::run().and_then(|()| step::examples::run_of_cluster())
            }
            Command::Compat { parts } => compat::run(&parts),
            Command::Aarch64 => step::aarch64::run(),
            Command::Sanitize => step::sanitize::run(),
            Command::Soak(plan) => step::soak::run(plan),
            Command::InspectCosts => step::inspect_costs::run(),
            Command::ClusterCosts => step::commands::cluster_costs(),
            Command::InspectPictures => step::inspect_pictures::run(),
            Command::Against { revision, words } => step::against::run(&revision, &words),
            Command::Results { words } => step::results::run(&words),
            Command::LabResults {
                parts,
                minutes,
                render,
            } => step::lab_results::run(&parts, minutes, render),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Command, clap::Error> {
        let words = ["xtask"].into_iter().chain(line.split_whitespace());
        Request::try_parse_from(words).map(|request| request.command)
    }

    #[test]
    fn the_commands_are_well_formed() {
        Request::command().debug_assert();
    }

    #[test]
    fn words_for_another_program_are_passed_on() {
        let given = |line: &str| match parse(line) {
            Ok(Command::Against { words, .. } | Command::Results { words }) => words,
            other => panic!("{line}: {other:?}"),
        };
        let words = given("against v0.1.0 joins --rounds 9");
        assert_eq!(words, ["joins", "--rounds", "9"]);
        assert_eq!(given("results --help"), ["--help"]);
        assert_eq!(given("results keys --rounds 9"), ["keys", "--rounds", "9"]);
    }

    #[test]
    fn wrong_words_are_refused() {
        for line in [
            "",
            "frobnicate",
            "loom --preemptions many",
            "explore --minutes",
            "explore --program timers",
            "explore --minutes 1 --program timers --seed 1",
            "compat long",
            "against v0.1.0",
            "lab-results E3",
            "lab-results --minutes 0",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
