//! A contender's process, from its parent's side.
//!
//! The process runs only while it has a request: after its answer it is stopped, so that a pool
//! that burns CPU time while idle takes none from the next contender, and it is continued before
//! the next request. Systems without such signals leave it running.

use super::protocol::{self, ABSENT, READY, Request, Sample};
use crate::{
    child::sequence::Received,
    launcher::{ChildError, process::Process},
    system::{self, Signal},
};
use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    time::Duration,
};

/// One contender's process; it is ended when this is dropped.
#[derive(Debug)]
pub struct Peer {
    process: Process<String>,
}

impl Peer {
    /// Starts a process of `program`, or of the program that runs, and waits until it is ready.
    ///
    /// # Errors
    /// Why there is no such contender here.
    pub fn start(program: Option<&Path>, problem: &str, contender: &str) -> Result<Self, String> {
        let program = program.map_or_else(env::current_exe, |other| Ok(other.to_owned()));
        let program = program.map_err(|error| ChildError::Start(error).to_string())?;
        let mut command = Command::new(program);
        command
            .args(["child", problem, contender])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let process = Process::start(&mut command, DEADLINE, read_line);
        let process = process.map_err(|error| error.to_string())?;
        let mut peer = Self { process };
        let line = peer.read()?;
        match (line.strip_prefix(ABSENT), line.as_str()) {
            (Some(reason), _) => Err(reason.to_owned()),
            (None, READY) => {
                peer.signal(Signal::Stop);
                Ok(peer)
            }
            (None, other) => Err(format!("unclear greeting '{other}'")),
        }
    }

    /// Asks and waits for the answer; the process runs during this call only.
    ///
    /// # Errors
    /// The contender's own message, or how its process failed.
    pub fn ask(&mut self, request: &Request) -> Result<Sample, String> {
        self.send(request)?;
        let answer = self.receive();
        self.signal(Signal::Stop);
        answer
    }

    /// Continues the process and hands it the request.
    ///
    /// # Errors
    /// How the process ended.
    pub fn send(&mut self, request: &Request) -> Result<(), String> {
        self.signal(Signal::Continue);
        let line = request.to_line();
        let sent = self.process.send(|input| writeln!(input, "{line}"));
        sent.map_err(|error| error.to_string())
    }

    /// Waits for the answer to the last request and leaves the process running.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub fn receive(&mut self) -> Result<Sample, String> {
        protocol::parse_answer(&self.read()?)
    }

    fn read(&mut self) -> Result<String, String> {
        self.process.receive().map_err(|error| error.to_string())
    }

    fn signal(&mut self, signal: Signal) {
        // The id of a process that has ended may already be another one's.
        if let Some(id) = self.process.id_if_alive() {
            system::send_signal(id, signal);
        }
    }
}

fn read_line(output: &mut BufReader<ChildStdout>) -> io::Result<Received<String>> {
    let mut line = String::new();
    Ok(match output.read_line(&mut line)? {
        0 => Received::End,
        _ => Received::Message(line.trim_end().to_owned()),
    })
}

/// No single window, with its preparation, comes near this.
const DEADLINE: Duration = Duration::from_secs(180);
