//! Worker processes on this machine: the same program again, each on one end of a pair of sockets.
//!
//! The worker's end is its standard input. Nobody else can connect, nothing is left behind in the file system, and when
//! either process ends, however it does, the other one sees the end of the connection.

use super::{Carrier, hub::Input};
use crate::{
    ClusterError, build_id,
    cluster::VARIABLE,
    driver::WorkerId,
    wire::{self, ToWorker},
    worker::process::{ROLE, role_of},
};
use std::{
    collections::HashMap,
    fmt,
    io::{self, BufReader},
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
};

/// The workers that were started, and how they are reached.
pub(crate) struct Processes {
    /// For each worker's own pool.
    threads: usize,
    made: u64,
    to_hub: Sender<Input>,
    running: HashMap<WorkerId, Process>,
}

struct Process {
    stream: UnixStream,
    outbox: Sender<Vec<ToWorker>>,
    threads: [JoinHandle<()>; 2],
}

impl Processes {
    pub(crate) fn start(count: usize, to_hub: Sender<Input>) -> Result<Self, ClusterError> {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let mut processes = Self {
            threads: (cpus / count.max(1)).max(1),
            made: 0,
            to_hub,
            running: HashMap::new(),
        };
        for _ in 0..count {
            if let Err(error) = processes.add() {
                processes.end();
                let reason = error.to_string();
                return Err(ClusterError::Start { reason });
            }
        }
        Ok(processes)
    }

    fn add(&mut self) -> io::Result<()> {
        let id = WorkerId(self.made);
        self.made += 1;
        let (stream, theirs) = UnixStream::pair()?;
        let child = command(self.threads, theirs)?.spawn()?;
        let mut child = Reaped(child);
        let (reading, writing) = (stream.try_clone()?, stream.try_clone()?);
        let (outbox, messages) = mpsc::channel();
        let to_hub = self.to_hub.clone();
        let reader = thread::Builder::new().name(format!("cluster reads {}", id.0));
        let reader = reader.spawn(move || {
            read(id, &reading, &to_hub);
            child.end();
            // Without a hub nobody waits for this.
            let _ = to_hub.send(Input::Left(id));
        })?;
        let writer = thread::Builder::new().name(format!("cluster writes {}", id.0));
        let writer = writer.spawn(move || write(writing, &messages))?;
        let process = Process {
            stream,
            outbox,
            threads: [reader, writer],
        };
        self.running.insert(id, process);
        Ok(())
    }
}

impl Carrier for Processes {
    fn send(&mut self, worker: WorkerId, messages: Vec<ToWorker>) {
        if let Some(process) = self.running.get(&worker) {
            // If its writer has ended, its reader will report that it left.
            let _ = process.outbox.send(messages);
        }
    }

    /// Starts another one in its place, but for one that never got so far: the next one would not either.
    fn left(&mut self, worker: WorkerId, was_known: bool) {
        if let Some(process) = self.running.remove(&worker) {
            process.end();
        }
        if was_known {
            // If the system refuses, the others go on.
            let _ = self.add();
        }
    }

    fn end(&mut self) {
        for process in self.running.values() {
            // It fails only if the connection has ended by itself.
            let _ = process.stream.shutdown(Shutdown::Both);
        }
        for (_, process) in self.running.drain() {
            process.end();
        }
    }
}

impl Process {
    fn end(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        // The writer ends with its channel, the reader with the connection.
        drop(self.outbox);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running.keys();
        formatter.debug_set().entries(running).finish()
    }
}

/// A child that does not outlive this value.
struct Reaped(Child);

impl Reaped {
    /// It keeps nothing that is worth waiting for.
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        self.end();
    }
}

/// This program as a worker.
fn command(threads: usize, connection: UnixStream) -> io::Result<Command> {
    let mut command = build_id::again()?;
    command
        .env(ROLE, role_of(threads, &connection)?)
        // Programs that its bodies start are not to start as many workers again.
        .env_remove(VARIABLE)
        .stdin(Stdio::from(OwnedFd::from(connection)))
        // What bodies print must not get among what the driver prints for other programs.
        .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?))
        // Ctrl-C is for the driver; its workers end with it.
        .process_group(0);
    Ok(command)
}

fn read(id: WorkerId, connection: &UnixStream, to_hub: &Sender<Input>) {
    let mut buffered = BufReader::new(connection);
    // A worker that says what nobody understands is dropped as one that has died.
    while let Ok(Some(message)) = wire::read(&mut buffered) {
        if to_hub.send(Input::Heard(id, message)).is_err() {
            return;
        }
    }
}

fn write(mut connection: UnixStream, messages: &Receiver<Vec<ToWorker>>) {
    for together in messages {
        if wire::write(&mut connection, &together).is_err() {
            // The reader sees the end of the connection then.
            let _ = connection.shutdown(Shutdown::Both);
            return;
        }
    }
}
