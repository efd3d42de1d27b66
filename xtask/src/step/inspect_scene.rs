//! A program of the library that can be looked at, and the server of its page, `manyhands inspect`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::workspace;

/// Both, running. They end when this is dropped.
pub(in crate::step) struct Scene {
    program: Child,
    server: Child,
    /// What to open in a browser.
    pub(in crate::step) address: String,
}

impl Scene {
    /// Starts a program with these arguments, and `manyhands`; both have been built. The program is asked so often in a
    /// second while somebody looks.
    pub(in crate::step) fn start(
        program: &Path,
        arguments: &[&str],
        folder: &Path,
        per_second: u8,
    ) -> Result<Self> {
        let name = program.display().to_string();
        let mut program = Command::new(program)
            .args(arguments)
            // Its tasks may be polled, too.
            .env("MANYHANDS_INSPECT", "control")
            .env("XDG_RUNTIME_DIR", folder)
            // Some go on until this is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        // Its first line says that it runs.
        let began = first_line(&mut program, &name);
        let server = began.and_then(|_| {
            let number = program.id().to_string();
            Command::new(workspace::target_subdir("release").join("manyhands"))
                .args(["inspect", &number, "--control", "--per-second"])
                .arg(per_second.to_string())
                .env("XDG_RUNTIME_DIR", folder)
                .stdout(Stdio::piped())
                .spawn()
                .context("cannot start manyhands")
        });
        let server = match server {
            Ok(server) => server,
            Err(failure) => {
                end(&mut program);
                return Err(failure);
            }
        };
        let mut scene = Self {
            program,
            server,
            address: String::new(),
        };
        scene.address = address(&mut scene.server)?;
        Ok(scene)
    }

    /// The number of the program's process.
    pub(in crate::step) fn process(&self) -> u32 {
        self.program.id()
    }

    /// `127.0.0.1:PORT`, and what a request to it has to know.
    pub(in crate::step) fn host_and_token(&self) -> Result<(&str, &str)> {
        let parts = self.address.strip_prefix("http://");
        let parts = parts.and_then(|parts| parts.split_once("/#"));
        parts.with_context(|| format!("`{}` has no token", self.address))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        end(&mut self.server);
        end(&mut self.program);
    }
}

/// Ends a process that has nothing to save.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The address that the server prints, after what else it has to say.
fn address(server: &mut Child) -> Result<String> {
    let wanted = |line: &str| line.strip_prefix("open ").map(str::to_owned);
    find_line(server, "manyhands inspect", wanted)
}

fn first_line(program: &mut Child, name: &str) -> Result<String> {
    find_line(program, name, |line| Some(line.to_owned()))
}

/// What `find` makes of the first line of the output that it wants. The rest of the output is read and forgotten.
fn find_line(
    child: &mut Child,
    name: &str,
    find: impl Fn(&str) -> Option<String> + Send + 'static,
) -> Result<String> {
    let output = child.stdout.take();
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

const LINE_LIMIT: Duration = Duration::from_secs(30);
