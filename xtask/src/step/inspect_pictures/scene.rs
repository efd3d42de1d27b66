//! A program of the library that can be looked at, and the server of its page, `manyhands inspect`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::Running;
use crate::workspace;

/// Both, running. They end when this is dropped.
pub(super) struct Scene {
    _server: Running,
    program: Running,
    /// What to open in a browser.
    pub(super) address: String,
}

impl Scene {
    /// Starts a program with these arguments, and `manyhands`; both have been built.
    pub(super) fn start(program: &Path, arguments: &[&str], folder: &Path) -> Result<Self> {
        let name = program.display().to_string();
        let program = Command::new(program)
            .args(arguments)
            // Its tasks may be polled, too.
            .env("MANYHANDS_INSPECT", "control")
            .env("XDG_RUNTIME_DIR", folder)
            // Some go on until this is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut program = Running(program.with_context(|| format!("cannot start {name}"))?);
        // Its first line says that it runs.
        find_line(&mut program, &name, |line| Some(line.to_owned()))?;
        let server = Command::new(workspace::target_subdir("release").join("manyhands"))
            .args(["inspect", &program.0.id().to_string(), "--control"])
            .args(["--per-second", PER_SECOND])
            .env("XDG_RUNTIME_DIR", folder)
            .stdout(Stdio::piped())
            .spawn();
        let mut server = Running(server.context("cannot start manyhands")?);
        // Printed after what else it has to say.
        let wanted = |line: &str| line.strip_prefix("open ").map(str::to_owned);
        let address = find_line(&mut server, "manyhands inspect", wanted)?;
        Ok(Self {
            _server: server,
            program,
            address,
        })
    }

    /// The number of the program's process.
    pub(super) fn process(&self) -> u32 {
        self.program.0.id()
    }

    /// `127.0.0.1:PORT`, and what a request to it has to know.
    pub(super) fn host_and_token(&self) -> Result<(&str, &str)> {
        let parts = self.address.strip_prefix("http://");
        let parts = parts.and_then(|parts| parts.split_once("/#"));
        parts.with_context(|| format!("`{}` has no token", self.address))
    }
}

/// What `find` makes of the first line of the output that it wants. The rest of the output is read and forgotten.
fn find_line(
    process: &mut Running,
    name: &str,
    find: impl Fn(&str) -> Option<String> + Send + 'static,
) -> Result<String> {
    let output = process.0.stdout.take();
    let output = output.with_context(|| format!("{name} has no output"))?;
    let (say, said) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(found) = find(&line) {
                // Only the first one is waited for.
                let _ = say.send(found);
            }
        }
    });
    said.recv_timeout(LINE_LIMIT)
        .with_context(|| format!("{name} did not say what it should"))
}

/// How often the program is asked while somebody looks.
const PER_SECOND: &str = "4";
const LINE_LIMIT: Duration = Duration::from_secs(30);
