//! Starting another program: the line is printed, standard input is closed, and a failing
//! exit code becomes an error.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use wait_timeout::ChildExt;

use crate::workspace;

/// A command line, run at the root of the workspace or in a folder.
#[derive(Debug)]
#[must_use = "an invocation does nothing until it is run"]
pub(crate) struct Invocation {
    command: Command,
    limit: Option<Duration>,
    accepted: Option<i32>,
}

impl Invocation {
    /// A program and its arguments as one line, split at spaces.
    pub(crate) fn new(line: &str) -> Self {
        let (program, words) = line.split_once(' ').unwrap_or((line, ""));
        Self::program(program).words(words)
    }

    /// The cargo that started us, so that every step uses the same toolchain.
    pub(crate) fn cargo(line: &str) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::program(cargo).words(line)
    }

    /// A program by its path, without arguments.
    pub(crate) fn program(path: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(path);
        command.current_dir(workspace::root()).stdin(Stdio::null());
        Self {
            command,
            limit: None,
            accepted: None,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Arguments as one line, split at spaces.
    pub(crate) fn words(mut self, line: &str) -> Self {
        self.command.args(line.split_whitespace());
        self
    }

    pub(crate) fn args(mut self, args: &[impl AsRef<OsStr>]) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in this folder.
    pub(crate) fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// The manifest that cargo goes by, and where it builds.
    pub(crate) fn build_of(self, manifest: impl AsRef<OsStr>, target: impl AsRef<OsStr>) -> Self {
        let with_manifest = self.arg("--manifest-path").arg(manifest);
        with_manifest.arg("--target-dir").arg(target)
    }

    /// Takes this exit code for success, too.
    pub(crate) fn accept(mut self, code: i32) -> Self {
        self.accepted = Some(code);
        self
    }

    /// Kills the program after this time. Only the program itself: use it for `cargo run` of
    /// something already built, which on Unix *becomes* that program.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Runs it with our output as its output.
    pub(crate) fn run(mut self) -> Result<()> {
        println!("$ {self}");
        let child = self.spawn(Stdio::inherit())?;
        self.wait(child)
    }

    /// Runs it and returns what it wrote to standard output.
    pub(crate) fn stdout(self) -> Result<String> {
        let (text, result) = self.stdout_even_if_it_fails()?;
        result.map(|()| text)
    }

    /// Runs it and returns what it wrote to standard output, and whether it failed.
    pub(crate) fn stdout_even_if_it_fails(mut self) -> Result<(String, Result<()>)> {
        println!("$ {self}");
        let mut child = self.spawn(Stdio::piped())?;
        let mut stdout = child.0.stdout.take();
        // Beside the wait, because a full pipe would stop the program.
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.as_mut().map(|stdout| stdout.read_to_end(&mut bytes));
            read.transpose().map(|_| bytes)
        });
        let outcome = self.wait(child);
        let bytes = reader
            .join()
            .unwrap_or_else(|_| Ok(Vec::new()))
            .with_context(|| self.cannot("read"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok((text, outcome))
    }

    fn spawn(&mut self, stdout: Stdio) -> Result<Running> {
        let spawned = self.command.stdout(stdout).spawn();
        spawned.map(Running).with_context(|| self.cannot("start"))
    }

    fn wait(&self, mut child: Running) -> Result<()> {
        let waited = match self.limit {
            None => child.0.wait().map(Some),
            Some(limit) => child.0.wait_timeout(limit),
        };
        let Some(status) = waited.with_context(|| self.cannot("wait for"))? else {
            let limit = self.limit.unwrap_or_default();
            bail!("`{self}` still ran after {limit:?} and was stopped");
        };
        let is_accepted = self.accepted.is_some() && status.code() == self.accepted;
        ensure!(status.success() || is_accepted, "`{self}` failed: {status}");
        Ok(())
    }

    fn cannot(&self, verb: &str) -> String {
        format!("cannot {verb} `{self}`")
    }
}

/// A process that ends when this is dropped: it has nothing to save, or has ended.
#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether such a program can be started by its name.
pub(crate) fn is_on_the_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The line as a person would type it.
impl std::fmt::Display for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in self.command.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            match value.contains(' ') {
                true => write!(f, "{}=\"{value}\" ", name.display())?,
                false => write!(f, "{}={value} ", name.display())?,
            }
        }
        let program = Path::new(self.command.get_program());
        let name = program.file_stem().unwrap_or(program.as_os_str());
        f.write_str(&name.to_string_lossy())?;
        for arg in self.command.get_args() {
            write!(f, " {}", arg.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_as_it_would_be_typed() {
        let invocation = Invocation::new("cargo test --lib")
            .arg("models")
            .env("RUSTFLAGS", "--cfg loom");
        let typed = "RUSTFLAGS=\"--cfg loom\" cargo test --lib models";
        assert_eq!(invocation.to_string(), typed);
    }

    #[test]
    #[cfg(unix)]
    fn a_program_is_run_in_its_folder() {
        let folder = Invocation::new("pwd").folder("/").stdout();
        assert_eq!(folder.unwrap(), "/\n");
    }

    #[test]
    #[cfg(unix)]
    fn failing_and_missing_programs_are_failures() {
        let failed = Invocation::new("false").run().unwrap_err();
        assert!(failed.to_string().contains("failed"), "{failed}");
        let missing = Invocation::new("no-such-program").run().unwrap_err();
        assert!(missing.to_string().contains("cannot start"), "{missing}");
    }

    #[test]
    #[cfg(unix)]
    fn a_hanging_program_is_stopped_while_its_output_is_read() {
        let hang = Invocation::program("yes").limit(Duration::from_millis(20));
        let (text, ended) = hang.stdout_even_if_it_fails().unwrap();
        assert!(text.starts_with("y\n"), "{text:.9}");
        assert!(ended.unwrap_err().to_string().contains("was stopped"));
    }
}
