//! Whole commands as an experiment, each of them an arm.
//!
//! A run of a command includes starting it. What it prints is thrown away and not compared; a
//! command that ends with an error fails the run.

use crate::{lab, meant::Run, output::Failure};
use manyhands_lab::{
    Case, Experiment,
    console::{self, Ending},
    launcher::Launcher,
    plain::is_harmful,
    record::Head,
};
use std::{
    env,
    ffi::OsString,
    process::{Command, Stdio},
};

/// What is typed: commands, of which the first is the baseline, and the sizes that stand in the
/// place of `{n}`; none if it has none.
#[derive(Debug, PartialEq)]
pub(crate) struct WholeCommands {
    pub(crate) commands: Vec<Vec<OsString>>,
    pub(crate) sizes: Vec<usize>,
}

impl WholeCommands {
    /// Commands with the separator between them.
    pub(crate) fn split(words: &[OsString], mut sizes: Vec<usize>) -> Result<Self, String> {
        let commands: Vec<Vec<OsString>> = words
            .split(|word| word == SEPARATOR)
            .map(<[OsString]>::to_vec)
            .collect();
        if commands.len() < 2 || commands.iter().any(Vec::is_empty) {
            return Err(format!(
                "at least two commands are needed, with '{SEPARATOR}' between them"
            ));
        }
        let has_size = |word: &OsString| word.to_string_lossy().contains(SIZE);
        if !sizes.is_empty() && !words.iter().any(has_size) {
            return Err(format!(
                "'--sizes' needs a command with '{SIZE}' where the size is to stand"
            ));
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self { commands, sizes })
    }

    /// Measures them side by side.
    pub(crate) fn run(&self, run: Run) -> Result<Ending, Failure> {
        for command in &self.commands {
            // The run is resumed by what stands in its report, so an escape would not do.
            let is_shown = |word: &str| !word.chars().any(is_harmful);
            if !command
                .iter()
                .all(|word| word.to_str().is_some_and(is_shown))
            {
                return Err(Failure::Arguments(
                    "a command has control characters, others that nobody sees, or is no UTF-8, which cannot \
                     stand in a report: put it in a script"
                        .to_owned(),
                ));
            }
            let smallest = self.sizes.first().copied();
            start(&with_size(command, smallest)).map_err(Failure::Arguments)?;
        }
        lab::begin(vec![self.experiment()], run, console::alone)
    }

    /// The experiment of which each arm is one command.
    pub(crate) fn experiment(&self) -> Experiment {
        let sized = !self.sizes.is_empty();
        let case = match sized {
            true => Case::returning(CASE).full_sizes(self.sizes.iter().copied()),
            false => Case::returning(CASE).full_sizes([1]).unit("run"),
        };
        let case = self.commands.iter().fold(case, |case, command| {
            let words = command.clone();
            case.arm(line(command), move |n| {
                if let Err(message) = start(&with_size(&words, sized.then_some(n))) {
                    panic!("{message}");
                }
            })
        });
        Experiment::new(ID, "Whole commands, from start to end").case(case)
    }

    /// What one would type for it.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["lab".into(), "command".into()];
        if !self.sizes.is_empty() {
            let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
            words.extend(["--sizes".into(), sizes.join(",").into()]);
        }
        words.push("--".into());
        let separator = OsString::from(SEPARATOR);
        words.extend(self.commands.join(&separator));
        words
    }
}

/// How to start the processes of an earlier run of commands; `None` if it was not one.
pub(crate) fn launcher(head: &Head) -> Result<Option<Launcher>, Failure> {
    let [experiment] = head.experiments.as_slice() else {
        return Ok(None);
    };
    if experiment.id != ID {
        return Ok(None);
    }
    let unreadable = || Failure::Arguments("the run's commands cannot be read back".to_owned());
    let case = experiment.cases.first().ok_or_else(unreadable)?;
    let words = |arm: &String| Some(shlex::split(arm)?.into_iter().map(OsString::from).collect());
    let commands: Option<Vec<Vec<OsString>>> = case.arms.iter().map(words).collect();
    let asked = WholeCommands {
        commands: commands.ok_or_else(unreadable)?,
        sizes: match case.unit.as_str() {
            "run" => Vec::new(),
            _ => case.sizes.clone(),
        },
    };
    Ok(Some(Launcher::new(env::current_exe()?, asked.words())))
}

/// The command with the size in its places.
fn with_size(words: &[OsString], size: Option<usize>) -> Vec<OsString> {
    let Some(size) = size else {
        return words.to_vec();
    };
    let size = size.to_string();
    let replaced = |word: &OsString| match word.to_str() {
        Some(word) => word.replace(SIZE, &size).into(),
        None => word.clone(),
    };
    words.iter().map(replaced).collect()
}

/// Runs a command to its end.
fn start(words: &[OsString]) -> Result<(), String> {
    let name = words[0].display();
    let status = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("'{name}' cannot be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("'{name}' ended with {status}"))
    }
}

/// A command as one would type it.
fn line(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy());
    let words: Vec<String> = words.map(|word| word.into_owned()).collect();
    let joined = shlex::try_join(words.iter().map(String::as_str));
    joined.unwrap_or_else(|_| words.join(" "))
}

const ID: &str = "commands";
const CASE: &str = "start to end";
const SEPARATOR: &str = "--vs";
const SIZE: &str = "{n}";

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn a_command_is_named_as_one_would_type_it() {
        assert_eq!(line(&words("sort -u file")), "sort -u file");
        let spaced = [OsString::from("echo"), OsString::from("two words")];
        assert_eq!(line(&spaced), "echo 'two words'");
        assert_eq!(line(&[OsString::from("true")]), "true");
    }

    #[test]
    fn the_size_stands_in_its_places_where_sizes_were_given() {
        let command = words("head -c {n} data-{n}");
        assert_eq!(with_size(&command, Some(20)), words("head -c 20 data-20"));
        assert_eq!(with_size(&command, None), command);
    }

    #[test]
    fn commands_are_split_where_the_separator_stands() {
        let split =
            |line: &str, sizes: &[usize]| WholeCommands::split(&words(line), sizes.to_vec());
        let asked = split("sort -u a --vs sort b --vs true", &[]).unwrap();
        let commands = ["sort -u a", "sort b", "true"].map(words);
        assert_eq!(asked.commands, commands);
        for line in ["sort a", "--vs sort", "sort --vs", "a --vs --vs b"] {
            assert!(split(line, &[]).unwrap_err().contains("--vs"), "{line}");
        }
        let complaint = split("a --vs b", &[1, 2]).unwrap_err();
        assert!(complaint.contains("{n}"), "{complaint}");
    }

    #[test]
    fn what_a_child_is_given_means_the_same() {
        for (line, sizes) in [("a 1 --vs b --vs c", vec![]), ("a {n} --vs b", vec![30, 4])] {
            let asked = WholeCommands::split(&words(line), sizes).unwrap();
            let typed = asked.words();
            let from = typed.iter().position(|word| word == "--").unwrap();
            let sizes = typed[..from].get(3).map(|sizes| sizes.to_string_lossy());
            let sizes = sizes.map(|sizes| sizes.split(',').map(|n| n.parse().unwrap()).collect());
            let again = WholeCommands::split(&typed[from + 1..], sizes.unwrap_or_default());
            assert_eq!(again, Ok(asked));
        }
    }

    #[test]
    fn a_command_that_cannot_be_started_or_fails_is_named() {
        for line in ["no-such-program-here", "false"] {
            let message = start(&words(line)).unwrap_err();
            assert!(message.contains(line), "{message}");
        }
        assert_eq!(start(&words("true")), Ok(()));
    }
}
