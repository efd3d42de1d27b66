//! Starts this program again as processes that measure, and talks to them.
//!
//! Not here: what the processes do (`child`) and when they are asked (`director`).

mod error;
mod live;
pub(crate) mod process;

pub use error::ChildError;
pub use live::Live;
pub(crate) use live::TRACE;

use crate::child::{self, Batch, protocol::Reply};
use process::{Process, read_reply};
use std::{
    env,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// How processes are started.
///
/// # Examples
/// ```
/// use manyhands_lab::launcher::Launcher;
/// use std::time::Duration;
///
/// let launcher = Launcher::this_program()?.deadline(Duration::from_secs(60));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Launcher {
    program: PathBuf,
    arguments: Vec<OsString>,
    build_arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    deadline: Duration,
    batch: Batch,
}

impl Launcher {
    /// Starts the program that runs now with the arguments it has. It must call
    /// [`child::serve`] where [`child::is_wanted`].
    ///
    /// # Errors
    /// If the system does not say which program this is.
    pub fn this_program() -> io::Result<Self> {
        Ok(Self::new(this_program()?, env::args_os().skip(1)))
    }

    /// Starts another program.
    pub fn new(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            build_arguments: Vec::new(),
            environment: Vec::new(),
            deadline: DEADLINE,
            batch: Batch::default(),
        }
    }

    /// Adds a variable to the processes' environment.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets how long a process may take for one answer before it counts as hung. An answer takes
    /// as long as all arms together, some three calls of each.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets how long a sample should take.
    #[must_use]
    pub fn batch(mut self, batch: Batch) -> Self {
        self.batch = batch;
        self
    }

    /// The same for another build of this program, whose processes need no arguments of a run.
    fn of_build(&self, program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            arguments: self.build_arguments.clone(),
            ..self.clone()
        }
    }

    /// Sets the arguments of other builds of this program, of which they are asked for no run.
    #[must_use]
    pub fn build_arguments(
        mut self,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        self.build_arguments = arguments.into_iter().map(Into::into).collect();
        self
    }

    fn launch(&self) -> Result<Process<Reply>, ChildError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(child::VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        set_apart(&mut command);
        Process::start(&mut command, self.deadline, read_reply)
    }
}

/// On Linux the running program itself, also if its file was replaced by a newer one meanwhile.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        return Ok(PathBuf::from("/proc/self/exe"));
    }
    env::current_exe()
}

/// Ctrl-C is for the parent alone: it ends a run between two blocks.
fn set_apart(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}

#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
/// The longest published case calls its ten arms for 20 s each.
const DEADLINE: Duration = Duration::from_secs(30 * 60);
