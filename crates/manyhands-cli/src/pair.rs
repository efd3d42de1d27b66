//! Two whole commands as an experiment.
//!
//! A run of the commands includes starting them. Their output is thrown away and not compared; a
//! command that ends with an error fails the run.

use crate::{lab, meant::Run, output::Failure};
use manyhands_lab::{
    Case, Experiment,
    console::{self, Ending},
    launcher::Launcher,
    record::Head,
};
use std::{
    env,
    ffi::OsString,
    process::{Command, Stdio},
};

/// Times the two commands side by side.
pub(crate) fn run(first: &[OsString], second: &[OsString], run: Run) -> Result<Ending, Failure> {
    for command in [first, second] {
        // The run is resumed by what stands in its report, so an escape would not do.
        if line(command).chars().any(char::is_control) {
            return Err(Failure::Arguments(
                "a command has control characters, which cannot stand in a report: put it in a \
                 script"
                    .to_owned(),
            ));
        }
        start(command).map_err(Failure::Arguments)?;
    }
    lab::begin(vec![experiment(first, second)], run, console::alone)
}

/// The experiment of which each arm is one command.
pub(crate) fn experiment(first: &[OsString], second: &[OsString]) -> Experiment {
    let arm = |words: &[OsString]| {
        let words = words.to_vec();
        move |_| {
            if let Err(message) = start(&words) {
                panic!("{message}");
            }
        }
    };
    let case = Case::returning(CASE)
        .full_sizes([1])
        .unit("run")
        .arm(line(first), arm(first))
        .arm(line(second), arm(second));
    Experiment::new(ID, "Two commands, from start to end").case(case)
}

/// How to start the processes of an earlier run of two commands; `None` if it was not one.
pub(crate) fn launcher(head: &Head) -> Result<Option<Launcher>, Failure> {
    let [experiment] = head.experiments.as_slice() else {
        return Ok(None);
    };
    if experiment.id != ID {
        return Ok(None);
    }
    let arms = experiment.cases.iter().flat_map(|case| &case.arms);
    let commands: Option<Vec<Vec<String>>> = arms.map(|arm| shlex::split(arm)).collect();
    let Some([first, second]) = commands.as_deref() else {
        return Err(Failure::Arguments(
            "the run's commands cannot be read back".to_owned(),
        ));
    };
    let mut words = vec!["lab".to_owned(), "command".to_owned(), "--".to_owned()];
    words.extend(first.iter().cloned());
    words.push("--vs".to_owned());
    words.extend(second.iter().cloned());
    Ok(Some(Launcher::new(env::current_exe()?, words)))
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
    fn a_command_that_cannot_be_started_or_fails_is_named() {
        for line in ["no-such-program-here", "false"] {
            let message = start(&words(line)).unwrap_err();
            assert!(message.contains(line), "{message}");
        }
        assert_eq!(start(&words("true")), Ok(()));
    }
}
