//! One process that measures, as its parent sees it.
//!
//! # Threads
//! A thread reads what the process says, so that waiting for an answer can end at a deadline. It
//! sleeps while something is measured and ends with the process.

use super::ChildError;
use crate::child::{
    protocol::{Reply, Request},
    sequence::{self, Received},
};
use std::{
    io::{self, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

/// A running process; it is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    replies: Receiver<Received<Reply>>,
    deadline: Duration,
}

impl Process {
    pub(super) fn start(command: &mut Command, deadline: Duration) -> Result<Self, ChildError> {
        let mut child = command.spawn().map_err(ChildError::Start)?;
        let input = child.stdin.take().expect("the command pipes its input");
        let output = child.stdout.take().expect("the command pipes its output");
        match read_replies(output) {
            Ok(replies) => Ok(Self {
                child,
                input,
                replies,
                deadline,
            }),
            Err(error) => {
                end(&mut child);
                Err(ChildError::Start(error))
            }
        }
    }

    /// Asks and waits for the answer.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Reply, ChildError> {
        if sequence::write(&mut self.input, request).is_err() {
            return Err(self.ended());
        }
        match self.replies.recv_timeout(self.deadline) {
            Ok(Received::Message(Reply::Failed { message })) => Err(ChildError::Failed { message }),
            Ok(Received::Message(reply)) => Ok(reply),
            Ok(Received::Nonsense(said)) => Err(ChildError::Nonsense { said }),
            Ok(Received::End) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => Err(ChildError::Hung {
                deadline: self.deadline,
            }),
        }
    }

    /// Its streams are closed, so it has ended or is about to.
    fn ended(&mut self) -> ChildError {
        // A process that closed its streams and lives on would keep us waiting; if it has ended
        // by itself, killing it changes nothing.
        let status = match self.child.try_wait() {
            Ok(Some(status)) => Ok(status),
            _ => self.child.kill().and_then(|()| self.child.wait()),
        };
        ChildError::Ended {
            status: status.map_or_else(|error| error.to_string(), |status| status.to_string()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A process that measures has nothing to tidy up, and may be in the middle of a long call.
fn end(child: &mut Child) {
    // Both fail only for a process that has ended.
    let _ = child.kill();
    let _ = child.wait();
}

fn read_replies(output: ChildStdout) -> io::Result<Receiver<Received<Reply>>> {
    let (sender, replies) = mpsc::channel();
    let listen = move || {
        let mut output = BufReader::new(output);
        while let Ok(received) = sequence::read(&mut output, &mut io::stderr()) {
            let is_last = received == Received::End;
            if sender.send(received).is_err() || is_last {
                break;
            }
        }
    };
    thread::Builder::new()
        .name("lab replies".to_owned())
        .spawn(listen)?;
    Ok(replies)
}
