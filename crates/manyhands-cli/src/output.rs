//! What leaves the program: text, complaints, exit codes.

use crate::typed::Answer;
use manyhands_lab::{LabError, plain::plain};
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> io::Result<()> {
    write!(io::stdout(), "{text}")
}

/// Tells people something on standard error, beside an answer that is for programs.
pub(crate) fn remark(text: &str) {
    // Standard error is the last resort: nobody is left to tell if it fails.
    let _ = write!(io::stderr(), "{text}");
}

/// Why the program ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense.
    Arguments(String),
    /// A result is wrong, or a file cannot be written.
    Lab(LabError),
    /// A program cannot be looked at.
    Inspect(manyhands_inspect::Error),
    /// A command of the fleet ends without having done what it should.
    #[cfg(feature = "fleet")]
    Fleet(manyhands_fleet::FleetError),
    /// The terminal or pipe that reads the output is gone or broken.
    Output(io::Error),
}

/// Prints help, or a complaint about the arguments.
pub(crate) fn answer(answer: &Answer) -> ExitCode {
    match answer {
        Answer::Text(text) => match write!(io::stdout(), "{text}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&Failure::Output(error)),
        },
        Answer::Complaint(text) => complain(text),
    }
}

/// Reports a failure on standard error; the exit code says of which kind it was.
pub(crate) fn fail(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Arguments(text) => complain(text),
        Failure::Lab(LabError::Output(error)) | Failure::Output(error)
            if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            // The reader of the output has seen enough, as with `| head`.
            ExitCode::SUCCESS
        }
        Failure::Lab(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
        Failure::Inspect(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
        #[cfg(feature = "fleet")]
        Failure::Fleet(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
        Failure::Output(error) => {
            say(&format!("error: cannot write the output: {error}"));
            ExitCode::FAILURE
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

#[cfg(feature = "fleet")]
impl From<manyhands_fleet::FleetError> for Failure {
    fn from(error: manyhands_fleet::FleetError) -> Self {
        use manyhands_fleet::FleetError;
        match error {
            FleetError::Arguments { reason } => Self::Arguments(reason),
            FleetError::Output(error) => Self::Output(error),
            other => Self::Fleet(other),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn complain(text: &str) -> ExitCode {
    say(&format!("error: {text} (see 'manyhands --help')"));
    ExitCode::from(BAD_ARGUMENTS)
}

/// Says something that may hold what was typed, or what another machine has sent: what steers a terminal is shown and not
/// done.
fn say(line: &str) {
    // Standard error is the last resort: nobody is left to tell if it fails.
    let _ = writeln!(io::stderr(), "{}", plain(line));
}

const BAD_ARGUMENTS: u8 = 2;
