//! The command line: words as typed become a [`Request`].

use crate::step::compile_time::How;
use crate::step::loom::PREEMPTIONS_DEFAULT;
use crate::tidy::Mode;

/// What `cargo xtask help` prints.
pub(crate) const HELP: &str = "\
usage: cargo xtask <command>

  ci                      everything below except `sanitize`, `compile-time` and `against`, and also formatting,
                          lints, tests, a smoke run of the tour and a check of the peers
  loom [--preemptions N]  model-checks the protocols (default 2 preemptions)
  tidy [--write]          checks the rules of this code base; --write renews UNSAFE.md
  docs                    builds the documentation with warnings denied
  examples                builds and runs every example of the library
  sanitize                stress test under ThreadSanitizer and AddressSanitizer (nightly)
  compile-time [--build]  how long a query of twelve operators takes to check, or to build,
                          beside the same chain as an iterator
  against REVISION <peers command>
                          measures this library and that of an earlier revision by turns,
                          such as `against v0.1.0 joins --rounds 9`
";

/// One thing to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Ci,
    Loom {
        preemptions_max: u32,
    },
    Tidy(Mode),
    Docs,
    Examples,
    Sanitize,
    CompileTime(How),
    Against {
        revision: String,
        words: Vec<String>,
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
            ["loom"] => Ok(Self::Loom {
                preemptions_max: PREEMPTIONS_DEFAULT,
            }),
            ["loom", "--preemptions", count] => match count.parse() {
                Ok(preemptions_max) => Ok(Self::Loom { preemptions_max }),
                Err(_) => Err(format!("`--preemptions` wants a number, not `{count}`")),
            },
            ["tidy"] => Ok(Self::Tidy(Mode::Check)),
            ["tidy", "--write"] => Ok(Self::Tidy(Mode::Write)),
            ["docs"] => Ok(Self::Docs),
            ["examples"] => Ok(Self::Examples),
            ["sanitize"] => Ok(Self::Sanitize),
            ["compile-time"] => Ok(Self::CompileTime(How::Check)),
            ["compile-time", "--build"] => Ok(Self::CompileTime(How::Build)),
            ["against", revision, words @ ..] if !words.is_empty() => Ok(Self::Against {
                revision: (*revision).to_owned(),
                words: words.iter().map(|&word| word.to_owned()).collect(),
            }),
            [] => Err("no command given".to_owned()),
            words => Err(format!("cannot read `{}`", words.join(" "))),
        }
    }
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
                "tidy",
                "docs",
                "examples",
                "sanitize",
                "compile-time",
                "against"
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
        assert_eq!(parse("tidy --write"), Ok(Request::Tidy(Mode::Write)));
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
            "against HEAD",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
