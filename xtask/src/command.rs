//! Starting another program: the line is printed, standard input is closed, and a failing
//! exit code becomes an error.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use wait_timeout::ChildExt;

use crate::workspace;

/// A command line, run at the root of the workspace or in a folder.
#[derive(Debug)]
#[must_use = "an invocation does nothing until it is run"]
pub(crate) struct Invocation {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(&'static str, String)>,
    folder: Option<PathBuf>,
    limit: Option<Duration>,
    accepted: Option<i32>,
}

impl Invocation {
    /// A program and its arguments as one line, split at spaces.
    pub(crate) fn new(line: &str) -> Self {
        let mut words = line.split_whitespace().map(OsString::from);
        Self {
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            env: Vec::new(),
            folder: None,
            limit: None,
            accepted: None,
        }
    }

    /// The cargo that started us, so that every step uses the same toolchain.
    pub(crate) fn cargo(line: &str) -> Self {
        let mut invocation = Self::new(&format!("cargo {line}"));
        if let Some(cargo) = std::env::var_os("CARGO") {
            invocation.program = cargo;
        }
        invocation
    }

    /// A program by its path, without arguments.
    pub(crate) fn program(path: impl AsRef<OsStr>) -> Self {
        Self {
            program: path.as_ref().to_owned(),
            ..Self::new("")
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args(self, args: &[impl AsRef<OsStr>]) -> Self {
        args.iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Runs it in this folder.
    pub(crate) fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
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
    pub(crate) fn run(&self) -> Result<()> {
        println!("$ {self}");
        let mut child = self.spawn(Stdio::inherit())?;
        self.wait(&mut child)
    }

    /// Runs it and returns what it wrote to standard output.
    pub(crate) fn stdout(&self) -> Result<String> {
        let (text, result) = self.stdout_even_if_it_fails()?;
        result.map(|()| text)
    }

    /// Runs it and returns what it wrote to standard output, and whether it failed.
    pub(crate) fn stdout_even_if_it_fails(&self) -> Result<(String, Result<()>)> {
        println!("$ {self}");
        let mut child = self.spawn(Stdio::piped())?;
        let mut stdout = child.stdout.take();
        // Beside the wait, because a full pipe would stop the program.
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.as_mut().map(|stdout| stdout.read_to_end(&mut bytes));
            read.transpose().map(|_| bytes)
        });
        let outcome = self.wait(&mut child);
        let bytes = reader
            .join()
            .unwrap_or_else(|_| Ok(Vec::new()))
            .with_context(|| self.cannot("read"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok((text, outcome))
    }

    fn spawn(&self, stdout: Stdio) -> Result<Child> {
        Command::new(&self.program)
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.clone().unwrap_or_else(workspace::root))
            .stdin(Stdio::null())
            .stdout(stdout)
            .spawn()
            .with_context(|| self.cannot("start"))
    }

    fn wait(&self, child: &mut Child) -> Result<()> {
        let waited = match self.limit {
            None => child.wait().map(Some),
            Some(limit) => child.wait_timeout(limit),
        };
        match waited.with_context(|| self.cannot("wait for"))? {
            Some(status) if status.success() => Ok(()),
            Some(status) if self.accepted.is_some() && status.code() == self.accepted => Ok(()),
            Some(status) => bail!("`{self}` failed: {status}"),
            None => {
                let ended = child.kill().and_then(|()| child.wait());
                ended.with_context(|| self.cannot("stop"))?;
                let limit = self.limit.unwrap_or_default();
                bail!("`{self}` still ran after {limit:?} and was stopped")
            }
        }
    }

    fn cannot(&self, verb: &str) -> String {
        format!("cannot {verb} `{self}`")
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
        for (name, value) in &self.env {
            match value.contains(' ') {
                true => write!(f, "{name}=\"{value}\" ")?,
                false => write!(f, "{name}={value} ")?,
            }
        }
        let program = std::path::Path::new(&self.program);
        let name = program.file_stem().unwrap_or(&self.program);
        f.write_str(&name.to_string_lossy())?;
        for arg in &self.args {
            write!(f, " {}", arg.to_string_lossy())?;
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
        assert_eq!(
            invocation.to_string(),
            "RUSTFLAGS=\"--cfg loom\" cargo test --lib models"
        );
    }

    #[test]
    fn output_is_captured() {
        let version = Invocation::cargo("--version").stdout().unwrap();
        assert!(version.starts_with("cargo "));
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
