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
pub(crate) struct Process<R> {
    child: Child,
    input: ChildStdin,
    replies: Receiver<Received<R>>,
    deadline: Duration,
}

impl<R: Send + PartialEq + 'static> Process<R> {
    /// Starts a command whose input and output are pipes; `read` takes one reply from its output.
    pub(crate) fn start(
        command: &mut Command,
        deadline: Duration,
        read: fn(&mut BufReader<ChildStdout>) -> io::Result<Received<R>>,
    ) -> Result<Self, ChildError> {
        let mut child = command.spawn().map_err(ChildError::Start)?;
        let input = child.stdin.take().expect("the command pipes its input");
        let output = child.stdout.take().expect("the command pipes its output");
        match read_replies(output, read) {
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

    /// Writes a request.
    pub(crate) fn send(
        &mut self,
        write: impl FnOnce(&mut ChildStdin) -> io::Result<()>,
    ) -> Result<(), ChildError> {
        write(&mut self.input).map_err(|_| self.ended())
    }

    /// Waits for the next reply.
    pub(crate) fn receive(&mut self) -> Result<R, ChildError> {
        match self.replies.recv_timeout(self.deadline) {
            Ok(Received::Message(reply)) => Ok(reply),
            Ok(Received::Nonsense(said)) => Err(ChildError::Nonsense { said }),
            Ok(Received::End) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
            Err(RecvTimeoutError::Timeout) => Err(ChildError::Hung {
                deadline: self.deadline,
            }),
        }
    }

    /// The id of the process; `None` if it has ended, as its id may then be another one's.
    pub(crate) fn id_if_alive(&mut self) -> Option<u32> {
        let lives = matches!(self.child.try_wait(), Ok(None));
        lives.then(|| self.child.id())
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

impl Process<Reply> {
    /// Asks and waits for the answer.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Reply, ChildError> {
        self.send(|input| sequence::write(input, request))?;
        match self.receive()? {
            Reply::Failed { message } => Err(ChildError::Failed { message }),
            reply => Ok(reply),
        }
    }
}

/// Takes one reply; what else the process prints goes to the standard error stream.
pub(super) fn read_reply(output: &mut BufReader<ChildStdout>) -> io::Result<Received<Reply>> {
    sequence::read(output, &mut io::stderr())
}

impl<R> Drop for Process<R> {
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

fn read_replies<R: Send + PartialEq + 'static>(
    output: ChildStdout,
    read: fn(&mut BufReader<ChildStdout>) -> io::Result<Received<R>>,
) -> io::Result<Receiver<Received<R>>> {
    let (sender, replies) = mpsc::channel();
    let listen = move || {
        let mut output = BufReader::new(output);
        while let Ok(received) = read(&mut output) {
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
