//! What leaves the program: text, complaints, exit codes.

use clap::{ColorChoice, builder::Styles, error::ErrorKind};
use manyhands_lab::{LabError, console::Ending, plain::plain};
use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

/// Decides about colours, for all that this program prints.
pub(crate) fn color(choice: ColorChoice) {
    use anstream::ColorChoice as Everywhere;
    let everywhere = match choice {
        ColorChoice::Auto => Everywhere::Auto,
        ColorChoice::Always => Everywhere::Always,
        ColorChoice::Never => Everywhere::Never,
    };
    everywhere.write_global();
}

/// Prints a text as it is.
pub(crate) fn print(text: &str) -> io::Result<()> {
    write!(io::stdout(), "{text}")
}

/// How a command ends that has printed its answer: a reader who has seen enough of it does not change that.
pub(crate) fn end(printed: io::Result<()>, ending: Ending) -> Result<Ending, Failure> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(ending),
    }
}

/// Tells people something on standard error, beside an answer that is for programs.
pub(crate) fn remark(text: &str) {
    // Standard error is the last resort: nobody is left to tell if it fails.
    let _ = write!(io::stderr(), "{text}");
}

/// Why the program ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are none, or help was asked for.
    Typed(clap::Error),
    /// The arguments make no sense.
    Arguments(String),
    /// A result is wrong, or a file cannot be written.
    Lab(LabError),
    /// A program cannot be looked at.
    Inspect(manyhands_inspect::Error),
    /// A command of the fleet ends without having done what it should.
    #[cfg(feature = "fleet")]
    Fleet(manyhands_fleet::FleetError),
    /// A file cannot be written, or files into a folder.
    Files { path: PathBuf, source: io::Error },
    /// The terminal or pipe that reads the output is gone or broken.
    Output(io::Error),
}

/// Reports a failure of the command that was typed; the exit code says of which kind it was.
pub(crate) fn fail(failure: Failure, command: impl FnOnce() -> clap::Command) -> ExitCode {
    let said = match failure {
        Failure::Typed(error) if !error.use_stderr() => match error.print() {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => return fail(Failure::Output(error), command),
        },
        Failure::Typed(error) => return refuse(&error, &command()),
        Failure::Arguments(text) => {
            let mut command = command();
            let error = command.error(ErrorKind::ValueValidation, plain(&text));
            return refuse(&error, &command);
        }
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            // The reader of the output has seen enough, as with `| head`.
            return ExitCode::SUCCESS;
        }
        Failure::Lab(error) => error.to_string(),
        Failure::Inspect(error) => error.to_string(),
        #[cfg(feature = "fleet")]
        Failure::Fleet(error) => error.to_string(),
        Failure::Files { path, source } => {
            format!("cannot write into '{}': {source}", path.display())
        }
        Failure::Output(error) => format!("cannot write the output: {error}"),
    };
    let styles = Styles::styled();
    let red = styles.get_error();
    // It may hold what another machine has sent: what steers a terminal is shown and not done.
    say(&format!("{red}error:{red:#} {}\n", plain(&said)));
    ExitCode::FAILURE
}

/// Says what is wrong with the arguments, and how to get the help of their command.
fn refuse(error: &clap::Error, command: &clap::Command) -> ExitCode {
    let text = error.render().ansi().to_string();
    let name = command.get_bin_name().unwrap_or_default();
    say(&match text.rsplit_once("--help") {
        Some((before, after)) if error.kind() != HELP_INSTEAD => {
            format!("{before}{name} --help{after}")
        }
        _ => text,
    });
    ExitCode::from(BAD_ARGUMENTS)
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

impl From<manyhands_inspect::Error> for Failure {
    fn from(error: manyhands_inspect::Error) -> Self {
        Self::Inspect(error)
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

/// Says something styled, without the styles where nobody sees them.
fn say(text: &str) {
    // Standard error is the last resort: nobody is left to tell if it fails.
    let _ = write!(anstream::stderr(), "{text}");
}

/// Of an error that is the help itself.
const HELP_INSTEAD: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
const BAD_ARGUMENTS: u8 = 2;
