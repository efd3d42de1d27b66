//! Arguments as typed. What they mean is decided in `meant`.

use clap::{Args, Parser, Subcommand, error::ErrorKind};
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
}

/// Options of the tour.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct TypedTour {
    /// Folder for the chart, the raw measurements and the summary; files of an earlier tour in
    /// it are replaced [default: manyhands-tour]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Number that fixes the order of the arms and the bootstrap [default: drawn and printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Time for all measurements together, 1 to 3600 [default: 40, or 10 with --quick]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,

    /// Small sizes, only to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,
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
        let typed = parsed("manyhands tour --out a/b --seed 7 --budget 2.5 --quick");
        let tour = TypedTour {
            out: Some("a/b".into()),
            seed: Some(7),
            budget: Some(2.5),
            quick: true,
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
