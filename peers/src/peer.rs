//! A child process that holds one contender, from its parent's side.
//!
//! The child runs only while it has a request: after its answer the parent stops it with SIGSTOP,
//! so that a pool which burns CPU while idle takes none from the next contender, and continues it
//! with SIGCONT before the next request.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::protocol::{self, Request, Sample};

/// One contender's process.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a process of `program`, or of this one, and waits until it is ready; the error says why it
    /// is not.
    pub(crate) fn start(
        program: Option<&Path>,
        problem: &str,
        contender: &str,
    ) -> Result<Self, String> {
        let mut peer = Self::spawn(program, problem, contender)
            .map_err(|error| format!("the process could not be started: {error}"))?;
        let line = peer.read_line()?;
        match line.trim().strip_prefix("absent ") {
            Some(reason) => Err(reason.to_owned()),
            None => {
                peer.signal(libc::SIGSTOP);
                Ok(peer)
            }
        }
    }

    fn spawn(program: Option<&Path>, problem: &str, contender: &str) -> io::Result<Self> {
        let program = program.map_or_else(env::current_exe, |other| Ok(other.to_owned()))?;
        let mut child = Command::new(program)
            .args(["child", problem, contender])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    /// Asks and waits for the answer; the child runs during this call only.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Sample, String> {
        self.send(request)?;
        let answer = self.receive();
        self.signal(libc::SIGSTOP);
        answer
    }

    /// Continues the child and hands it the request.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), String> {
        self.signal(libc::SIGCONT);
        // Writing to a process that died fails, or the read of its answer will.
        writeln!(self.input, "{}", request.to_line()).map_err(|_| "the process died".to_owned())
    }

    /// Waits for the answer to the last request and leaves the child running.
    pub(crate) fn receive(&mut self) -> Result<Sample, String> {
        protocol::parse_answer(&self.read_line()?)
    }

    /// Whether the process has ended.
    fn is_dead(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn read_line(&mut self) -> Result<String, String> {
        let mut ready = libc::pollfd {
            fd: self.output.get_ref().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `ready` is one valid, exclusively borrowed pollfd.
        let count = unsafe { libc::poll(&raw mut ready, 1, ANSWER_MAX_MILLIS) };
        if count == 0 {
            // A stuck process is of no further use; killing it makes `is_dead` say so.
            let _ = self.child.kill();
            let _ = self.child.wait();
            return Err(format!("no answer within {} s", ANSWER_MAX_MILLIS / 1_000));
        }
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(len) if len > 0 => Ok(line),
            _ => {
                // The end of its output is the end of the process; collect it so that it shows.
                let _ = self.child.kill();
                let _ = self.child.wait();
                Err("the process died".to_owned())
            }
        }
    }

    fn signal(&mut self, signal: libc::c_int) {
        if self.is_dead() {
            // Its id may already be another process's.
            return;
        }
        if let Ok(id) = libc::pid_t::try_from(self.child.id()) {
            // SAFETY: plain system call; the child was not collected, so the id is still its own.
            unsafe { libc::kill(id, signal) };
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SIGKILL also ends a stopped process; one that has ended by itself is only collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Called by the child: asks the kernel to end it with its parent, which could not continue or
/// kill a stopped child any more.
pub(crate) fn die_with_parent() {
    // SAFETY: plain system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// No single window, set-up included, comes near this.
const ANSWER_MAX_MILLIS: libc::c_int = 180_000;
