//! A worker that is a process: its connection to the driver is its standard input.
//!
//! # Threads
//! The main thread owns the worker's state. A reader reports messages, and ends the process with the connection: when the
//! driver has ended, however it did, nobody wants what runs here. A third thread runs one chunk after the other on the pool.

use super::{Chunk, Step, Worker};
use crate::{
    build_id,
    clock::Stopwatch,
    run::Stop,
    wire::{self, Attempt, FromWorker, Hello, PROTOCOL, ToWorker, WireError},
};
use manyhands::{Runtime, cancel};
use std::{
    fs::File,
    io::{self, BufReader},
    os::{fd::AsFd, unix::net::UnixStream},
    process,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

/// Set for a worker process: how many threads its pool has.
pub(crate) const ROLE: &str = "MANYHANDS_CLUSTER_WORKER";

/// Works until the driver has gone.
#[expect(
    clippy::exit,
    clippy::print_stderr,
    reason = "a worker is a process of its own; the rest of the program's main function is not for it"
)]
pub(crate) fn serve(threads: &str) -> ! {
    match serve_driver(threads.parse().unwrap_or(1)) {
        End::DriverGone => process::exit(0),
        End::Failed(reason) => {
            eprintln!("manyhands-cluster worker: {reason}");
            process::exit(1)
        }
    }
}

/// Why a worker ends.
#[derive(Debug)]
enum End {
    DriverGone,
    Failed(String),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// What comes to the main thread.
enum Input {
    Heard(ToWorker),
    Ran(Attempt, Result<Vec<u8>, Stop>, Duration),
}

fn serve_driver(threads: usize) -> End {
    match begin(threads) {
        Ok((main, from)) => main.serve(&from),
        Err(end) => end,
    }
}

fn begin(threads: usize) -> Result<(Main, Receiver<Input>), End> {
    let connection = connection()?;
    let pool = Runtime::builder().workers(threads.max(1)).build_default();
    pool.map_err(|error| End::Failed(error.to_string()))?;
    let hello = Hello {
        protocol: PROTOCOL,
        build: build_id::of_this_program()?,
        host: host(),
    };
    let (to, from) = mpsc::channel();
    let (chunks, to_run) = mpsc::channel();
    let reading = connection.try_clone()?;
    let to_main = to.clone();
    let reader = thread::Builder::new().name("cluster reads".to_owned());
    reader.spawn(move || read(reading, &to_main))?;
    let runner = thread::Builder::new().name("cluster runs".to_owned());
    runner.spawn(move || run(&to_run, &to))?;
    let main = Main {
        worker: Worker::new(hello),
        connection,
        chunks,
        running: None,
    };
    Ok((main, from))
}

/// The connection; what this program reads from its standard input from now on is nothing.
fn connection() -> io::Result<UnixStream> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(UnixStream::from(stdin))
}

/// The name of this machine and the number of this process.
pub(crate) fn host() -> String {
    let name = nix::unistd::gethostname().ok();
    let name = name.and_then(|name| name.into_string().ok());
    let name = name.unwrap_or_else(|| "unnamed".to_owned());
    format!("{name}/{}", process::id())
}

#[expect(clippy::exit, reason = "what runs here is for a driver that has gone")]
fn read(connection: UnixStream, to_main: &Sender<Input>) {
    let mut buffered = BufReader::new(connection);
    while let Ok(Some(message)) = wire::read(&mut buffered) {
        if to_main.send(Input::Heard(message)).is_err() {
            break;
        }
    }
    process::exit(0)
}

fn run(chunks: &Receiver<(Chunk, cancel::Token)>, to_main: &Sender<Input>) {
    for (chunk, token) in chunks {
        let watch = Stopwatch::start();
        let outcome = chunk.function.run(chunk.range, &token);
        let ran = Input::Ran(chunk.attempt, outcome, watch.elapsed());
        if to_main.send(ran).is_err() {
            return;
        }
    }
}

struct Main {
    worker: Worker,
    connection: UnixStream,
    chunks: Sender<(Chunk, cancel::Token)>,
    running: Option<cancel::Source>,
}

impl Main {
    fn serve(mut self, from: &Receiver<Input>) -> End {
        match self.work(from) {
            Ok(()) => End::DriverGone,
            Err(end) => end,
        }
    }

    fn work(&mut self, from: &Receiver<Input>) -> Result<(), End> {
        self.beat()?;
        let mut since_beat = Stopwatch::start();
        loop {
            let left = BEAT.saturating_sub(since_beat.elapsed());
            let steps = match from.recv_timeout(left) {
                Ok(Input::Heard(message)) => self.worker.hear(message),
                Ok(Input::Ran(attempt, outcome, took)) => {
                    self.running = None;
                    self.worker.ran(attempt, outcome, took)
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.beat()?;
                    since_beat = Stopwatch::start();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for step in steps {
                self.take(step)?;
            }
        }
    }

    fn take(&mut self, step: Step) -> Result<(), End> {
        match step {
            Step::Say(message) => self.say(&message),
            Step::Run(chunk) => {
                let source = cancel::Source::new();
                let token = source.token();
                self.running = Some(source);
                let ended = "the thread that runs chunks has ended";
                let sent = self.chunks.send((chunk, token));
                sent.map_err(|_| End::Failed(ended.to_owned()))
            }
            Step::Stop => {
                if let Some(running) = &self.running {
                    running.cancel();
                }
                Ok(())
            }
            Step::Leave { reason } => Err(End::Failed(reason)),
        }
    }

    fn beat(&mut self) -> Result<(), End> {
        for message in self.worker.beat() {
            self.say(&message)?;
        }
        Ok(())
    }

    fn say(&mut self, message: &FromWorker) -> Result<(), End> {
        wire::write(&mut self.connection, message).map_err(|error| match error {
            WireError::Connection(_) => End::DriverGone,
            error => End::Failed(error.to_string()),
        })
    }
}

/// How often the worker says what it holds.
const BEAT: Duration = Duration::from_millis(500);
