//! The command line: words as typed become a [`Request`].

use crate::step::compat::{Extent as Published, Part as Compat};
use crate::step::compile_time::How;
use crate::step::explore::Extent;
use crate::step::lab_results::{self, MINUTES_DEFAULT};
use crate::step::loom::PREEMPTIONS_DEFAULT;
use crate::step::miri::SEEDS_DEFAULT;
use crate::step::soak::Plan;
use crate::step::surface::Mode as Surface;
use crate::tidy::Mode;

/// What `cargo xtask help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask <command>

  ci                      everything below except `aarch64`, `sanitize`, `soak`, `compile-time`, `inspect-costs`,
                          `cluster-costs`, `inspect-pictures`, `against`, `results` and `lab-results`, and also
                          formatting, lints, tests, a smoke run of the tour and a check of the peers
  loom [--preemptions N]  model-checks the protocols (default 2 preemptions)
  explore [--minutes N]   runs programs on the whole library in 10,000 random schedules each, or in as many
                          fresh ones as N minutes allow
  explore --program NAME --seed SEED
                          one schedule of one program again, and what each thread did when it failed
  miri [--seeds N]        unit tests and whole pools under Miri (nightly; default 1 schedule of each)
  tidy [--write]          checks the rules of this code base; --write renews UNSAFE.md
  docs                    builds the documentation with warnings denied
  surface [--write]       compares the library's public surface with crates/manyhands/surface.txt; --write renews that,
                          beside a changed changelog
  package                 checks each crate as its archive has it
  examples                builds and runs every example of the library, and those of the cluster
  compat                  all of the following with the façade in compat; renews their tables
  compat --suites | --short
                          the tests that rayon and rayon-core publish; in short, without
                          what takes long and without a table, as in `ci`
  compat --programs       the tests of published programs, with rayon's own core and with ours
  compat --speed          a benchmark of each of these programs, and small ones, with both cores by turns
  aarch64                 lints, unit tests and tests of `inspect` for aarch64 under an emulator; installs what it
                          needs for that (Debian, root)
  sanitize                stress test under ThreadSanitizer and AddressSanitizer (nightly)
  soak [--minutes N] [--seed S] [--jobs J]
                          random programs over the whole library under random delays, for N minutes
                          (default 10) in J processes
  compile-time [--build]  how long a query of twelve operators takes to check, or to build,
                          beside the same chain as an iterator
  inspect-costs           instructions and time of spawns, channels and loops without the feature `inspect`, with it
                          closed, and with it open (needs valgrind)
  inspect-costs --page    the processor time of a program that a page of `manyhands inspect` shows with 60 updates
                          a second, by its number of tasks
  cluster-costs           what empty bodies and bodies of 20 ms cost in workers through NATS and in worker processes,
                          beside threads (needs nats-server)
  inspect-pictures        looks at examples on the page of `manyhands inspect` in a headless browser, checks what it
                          shows and renews the pictures of its README (needs chromium)
  against REVISION <peers command>
                          measures this library and that of an earlier revision by turns,
                          such as `against v0.1.0 joins --rounds 9`
  results [PROBLEM...] [--rounds N] [--short]
                          measures this library beside its peers, problem by problem (default: all), and renews
                          their sections of peers/RESULTS.md for this kind of processor; `results --help` names the
                          problems, --short takes about half an hour for all
  results --older         lists the sections of that page that are older than the code they measure
  lab-results [tour|loops|waits...] [--minutes N]
                          measures experiments of the laboratory for N minutes (default 23) and renews its page
                          of results with the charts, and the tour in the README of its command; or only parts
                          of it, each in the time that it has in all
";

/// One thing to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Ci,
    /// The steps that `Ci` runs in a process of their own.
    CiBeside,
    Loom {
        preemptions_max: u32,
    },
    Explore(Extent),
    Miri {
        seeds: u32,
    },
    Tidy(Mode),
    Docs,
    Surface(Surface),
    Package,
    Examples,
    Compat(Compat),
    Aarch64,
    Sanitize,
    Soak(Plan),
    CompileTime(How),
    InspectCosts,
    InspectPageCosts,
    ClusterCosts,
    InspectPictures,
    Against {
        revision: String,
        words: Vec<String>,
    },
    /// The words go to the peers.
    Results(Vec<String>),
    LabResults {
        parts: Vec<String>,
        minutes: u32,
    },
}

impl Request {
    /// Reads the words after the program's name; the error is a complaint for the user.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["help" | "--help" | "-h"] => Ok(Self::Help),
            ["ci"] => Ok(Self::Ci),
            ["ci", "--beside"] => Ok(Self::CiBeside),
            ["loom"] => Ok(Self::Loom {
                preemptions_max: PREEMPTIONS_DEFAULT,
            }),
            ["loom", "--preemptions", count] => match count.parse() {
                Ok(preemptions_max) => Ok(Self::Loom { preemptions_max }),
                Err(_) => Err(format!("`--preemptions` wants a number, not `{count}`")),
            },
            ["explore", options @ ..] => Extent::parse(options).map(Self::Explore),
            ["miri"] => Ok(Self::Miri {
                seeds: SEEDS_DEFAULT,
            }),
            ["miri", "--seeds", count] => match count.parse() {
                Ok(seeds) => Ok(Self::Miri { seeds }),
                Err(_) => Err(format!("`--seeds` wants a number, not `{count}`")),
            },
            ["tidy"] => Ok(Self::Tidy(Mode::Check)),
            ["tidy", "--write"] => Ok(Self::Tidy(Mode::Write)),
            ["docs"] => Ok(Self::Docs),
            ["surface"] => Ok(Self::Surface(Surface::Check)),
            ["surface", "--write"] => Ok(Self::Surface(Surface::Write)),
            ["package"] => Ok(Self::Package),
            ["examples"] => Ok(Self::Examples),
            ["compat"] => Ok(Self::Compat(Compat::Whole)),
            ["compat", "--suites"] => Ok(Self::Compat(Compat::Suites(Published::Full))),
            ["compat", "--short"] => Ok(Self::Compat(Compat::Suites(Published::Short))),
            ["compat", "--programs"] => Ok(Self::Compat(Compat::Programs)),
            ["compat", "--speed"] => Ok(Self::Compat(Compat::Speed)),
            ["aarch64"] => Ok(Self::Aarch64),
            ["sanitize"] => Ok(Self::Sanitize),
            ["soak", options @ ..] => Ok(Self::Soak(soak_plan(options)?)),
            ["compile-time"] => Ok(Self::CompileTime(How::Check)),
            ["compile-time", "--build"] => Ok(Self::CompileTime(How::Build)),
            ["inspect-costs"] => Ok(Self::InspectCosts),
            ["inspect-costs", "--page"] => Ok(Self::InspectPageCosts),
            ["cluster-costs"] => Ok(Self::ClusterCosts),
            ["inspect-pictures"] => Ok(Self::InspectPictures),
            ["against", revision, words @ ..] if !words.is_empty() => Ok(Self::Against {
                revision: (*revision).to_owned(),
                words: words.iter().map(|&word| word.to_owned()).collect(),
            }),
            ["results", words @ ..] => Ok(Self::Results(
                words.iter().map(|&word| word.to_owned()).collect(),
            )),
            ["lab-results", words @ ..] => lab_results(words),
            [] => Err("no command given".to_owned()),
            words => Err(format!("cannot read `{}`", words.join(" "))),
        }
    }
}

/// Longer runs of the laboratory are made by hand.
const MINUTES_MAX: u32 = 600;

/// Parts of the laboratory's results, and how long all of them take.
fn lab_results(words: &[&str]) -> Result<Request, String> {
    let (parts, minutes) = match words {
        [parts @ .., "--minutes", count] => (parts, count.parse().ok()),
        parts => (parts, Some(MINUTES_DEFAULT)),
    };
    let minutes = minutes.filter(|minutes| (1..=MINUTES_MAX).contains(minutes));
    let minutes = minutes.ok_or(format!(
        "`--minutes` wants a number from 1 to {MINUTES_MAX}"
    ))?;
    if let Some(part) = parts
        .iter()
        .find(|&&part| !lab_results::parts().any(|name| name == part))
    {
        return Err(format!("`{part}` is no part of the laboratory's results"));
    }
    let parts = parts.iter().map(|&part| part.to_owned()).collect();
    Ok(Request::LabResults { parts, minutes })
}

/// Pairs of an option and a number.
fn soak_plan(options: &[&str]) -> Result<Plan, String> {
    let mut plan = Plan::DEFAULT;
    for option in options.chunks(2) {
        let [name, value] = option else {
            return Err(format!("`{}` wants a number", option.concat()));
        };
        let place = match *name {
            "--minutes" => &mut plan.minutes,
            "--seed" => &mut plan.seed,
            "--jobs" => &mut plan.jobs,
            name => return Err(format!("`soak` has no option `{name}`")),
        };
        let number = value.parse();
        *place = number.map_err(|_| format!("`{name}` wants a number, not `{value}`"))?;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_command_of_the_help_text_is_understood() {
        let commands: Vec<&str> = HELP
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(
            commands,
            [
                "ci",
                "loom",
                "explore",
                "explore",
                "miri",
                "tidy",
                "docs",
                "surface",
                "package",
                "examples",
                "compat",
                "compat",
                "compat",
                "compat",
                "aarch64",
                "sanitize",
                "soak",
                "compile-time",
                "inspect-costs",
                "inspect-costs",
                "cluster-costs",
                "inspect-pictures",
                "against",
                "results",
                "results",
                "lab-results"
            ]
        );
        for command in commands {
            let line = match command {
                "against" => "against HEAD joins",
                alone => alone,
            };
            assert!(parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn options_are_read() {
        assert_eq!(
            parse("loom --preemptions 3"),
            Ok(Request::Loom { preemptions_max: 3 })
        );
        assert_eq!(
            parse("explore --minutes 30"),
            Ok(Request::Explore(Extent::Minutes(30)))
        );
        let again = Extent::Again {
            program: "timers".to_owned(),
            seed: "0x1f".to_owned(),
        };
        assert_eq!(
            parse("explore --program timers --seed 0x1f"),
            Ok(Request::Explore(again))
        );
        assert_eq!(parse("miri --seeds 8"), Ok(Request::Miri { seeds: 8 }));
        assert_eq!(parse("tidy --write"), Ok(Request::Tidy(Mode::Write)));
        let plan = Plan {
            minutes: 3,
            jobs: 2,
            ..Plan::DEFAULT
        };
        assert_eq!(parse("soak"), Ok(Request::Soak(Plan::DEFAULT)));
        assert_eq!(parse("soak --jobs 2 --minutes 3"), Ok(Request::Soak(plan)));
        let words = ["joins", "--rounds", "9"].map(str::to_owned);
        assert_eq!(
            parse("results joins --rounds 9"),
            Ok(Request::Results(words.to_vec()))
        );
        for (line, part) in [
            ("compat", Compat::Whole),
            ("compat --suites", Compat::Suites(Published::Full)),
            ("compat --short", Compat::Suites(Published::Short)),
            ("compat --programs", Compat::Programs),
            ("compat --speed", Compat::Speed),
        ] {
            assert_eq!(parse(line), Ok(Request::Compat(part)));
        }
        assert_eq!(parse("results"), Ok(Request::Results(Vec::new())));
        let parts = vec!["tour".to_owned(), "waits".to_owned()];
        assert_eq!(
            parse("lab-results tour waits --minutes 4"),
            Ok(Request::LabResults { parts, minutes: 4 })
        );
        assert_eq!(parse("inspect-costs --page"), Ok(Request::InspectPageCosts));
        let build = Request::CompileTime(How::Build);
        assert_eq!(parse("compile-time --build"), Ok(build));
    }

    #[test]
    fn nonsense_is_refused() {
        for line in [
            "",
            "cii",
            "ci --fast",
            "loom --preemptions",
            "loom --preemptions x",
            "explore --minutes",
            "compat --long",
            "explore --minutes x",
            "explore --program timers",
            "miri --seeds x",
            "against HEAD",
            "soak --minutes",
            "soak --hours 2",
            "lab-results --minutes 0",
            "lab-results --minutes",
            "lab-results E3",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
