//! What carries a worker out: its main loop, whatever connects it to its drivers.
//!
//! # Threads
//! The main thread owns the worker's state for each driver, and says in time what it holds. Readers report messages to it. One
//! thread runs one chunk after the other on the pool, and is the only one that runs code of captured values.

use super::{Chunk, Step, Worker};
use crate::{
    ClusterError, build_id,
    clock::Stopwatch,
    run::Stop,
    wire::{Attempt, FromWorker, Hello, PROTOCOL, ToWorker},
};
use manyhands::cancel;
use std::{
    any::Any,
    collections::HashMap,
    io, process,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

/// What comes to the main thread.
#[derive(Debug)]
pub(crate) enum Input {
    /// A driver is there.
    Driver(String),
    /// A driver says something.
    Heard(String, Vec<ToWorker>),
    /// A driver's chunk has ended.
    Ran(String, Attempt, Result<Vec<u8>, Stop>, Duration),
    /// Nobody is there any more.
    #[cfg(unix)]
    Ended,
}

/// How a worker speaks.
pub(crate) trait Link {
    /// A driver that is silent for longer has gone; `None` if its end is seen otherwise.
    const SILENCE_MAX: Option<Duration>;

    fn say(&mut self, driver: &str, message: &FromWorker) -> Result<(), End>;

    /// The driver has no work for this program.
    fn refused(&mut self, reason: String) -> Result<(), End>;
}

/// Why a worker ends.
#[derive(Debug)]
pub(crate) enum End {
    DriverGone,
    Failed(String),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<ClusterError> for End {
    fn from(error: ClusterError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Ends the process as this says.
#[expect(
    clippy::exit,
    clippy::print_stderr,
    reason = "a worker is a process of its own; the rest of the program's main function is not for it"
)]
pub(crate) fn exit(end: End) -> ! {
    match end {
        End::DriverGone => process::exit(0),
        End::Failed(reason) => {
            eprintln!("manyhands-cluster worker: {reason}");
            process::exit(1)
        }
    }
}

/// A worker's main thread.
pub(crate) struct Serving<L> {
    hello: Hello,
    link: L,
    drivers: HashMap<String, Known>,
    to_runner: Sender<Work>,
}

/// What the thread is to do that runs chunks.
enum Work {
    Run(String, Chunk, cancel::Token),
    Drop(Arc<dyn Any + Send + Sync>),
}

/// What is known of a driver.
struct Known {
    worker: Worker,
    heard: Stopwatch,
    running: Option<cancel::TokenSource>,
}

impl<L: Link> Serving<L> {
    /// Starts the thread that runs chunks; what they return comes to `to`. This worker may be in the place of one that died.
    pub(crate) fn new(link: L, to: Sender<Input>, replaces: Option<String>) -> Result<Self, End> {
        let hello = Hello {
            protocol: PROTOCOL,
            build: build_id::of_this_program()?,
            host: build_id::this_process(),
            replaces,
        };
        let (to_runner, work) = mpsc::channel();
        let runner = thread::Builder::new().name("cluster runs".to_owned());
        runner.spawn(move || run(&work, &to))?;
        Ok(Self {
            hello,
            link,
            drivers: HashMap::new(),
            to_runner,
        })
    }

    /// Works until there is nobody to work for any more.
    pub(crate) fn serve(mut self, from: &Receiver<Input>) -> End {
        match self.work(from) {
            Ok(()) => End::DriverGone,
            Err(end) => end,
        }
    }

    fn work(&mut self, from: &Receiver<Input>) -> Result<(), End> {
        let mut since_beat = Stopwatch::start();
        loop {
            let left = BEAT.saturating_sub(since_beat.elapsed());
            match from.recv_timeout(left) {
                Ok(Input::Driver(driver)) => self.know(&driver)?,
                Ok(Input::Heard(driver, messages)) => {
                    self.know(&driver)?;
                    for message in messages {
                        self.change(&driver, |known| known.worker.hear(message))?;
                    }
                }
                Ok(Input::Ran(driver, attempt, outcome, took)) => {
                    self.change(&driver, |known| {
                        known.running = None;
                        known.worker.ran(attempt, outcome, took)
                    })?;
                }
                #[cfg(unix)]
                Ok(Input::Ended) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    self.beat()?;
                    since_beat = Stopwatch::start();
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Notes that a driver is there; introduces this worker if it is new.
    fn know(&mut self, driver: &str) -> Result<(), End> {
        if let Some(known) = self.drivers.get_mut(driver) {
            known.heard = Stopwatch::start();
            return Ok(());
        }
        let worker = Worker::new(self.hello.clone());
        for message in worker.beat() {
            self.link.say(driver, &message)?;
        }
        let known = Known {
            worker,
            heard: Stopwatch::start(),
            running: None,
        };
        self.drivers.insert(driver.to_owned(), known);
        Ok(())
    }

    fn change(
        &mut self,
        driver: &str,
        change: impl FnOnce(&mut Known) -> Vec<Step>,
    ) -> Result<(), End> {
        // One that was silent for too long is forgotten, and what ran for it is of no use.
        let Some(known) = self.drivers.get_mut(driver) else {
            return Ok(());
        };
        for step in change(known) {
            match step {
                Step::Say(message) => self.link.say(driver, &message)?,
                Step::Run(chunk) => {
                    let source = cancel::TokenSource::new();
                    let token = source.token();
                    known.running = Some(source);
                    order(&self.to_runner, Work::Run(driver.to_owned(), chunk, token))?;
                }
                Step::Drop(dropped) => order(&self.to_runner, Work::Drop(dropped))?,
                Step::Stop => {
                    if let Some(running) = &known.running {
                        running.cancel();
                    }
                }
                Step::Leave { reason } => self.link.refused(reason)?,
            }
        }
        Ok(())
    }

    fn beat(&mut self) -> Result<(), End> {
        if let Some(silence) = L::SILENCE_MAX {
            let is_gone = |known: &Known| known.heard.elapsed() > silence;
            for (_, gone) in self.drivers.extract_if(|_, known| is_gone(known)) {
                if let Some(running) = gone.running {
                    running.cancel();
                }
                order(&self.to_runner, Work::Drop(Arc::new(gone.worker)))?;
            }
        }
        for (driver, known) in &self.drivers {
            for message in known.worker.beat() {
                self.link.say(driver, &message)?;
            }
        }
        Ok(())
    }
}

fn order(to_runner: &Sender<Work>, work: Work) -> Result<(), End> {
    let ended = "the thread that runs chunks has ended";
    let sent = to_runner.send(work);
    sent.map_err(|_| End::Failed(ended.to_owned()))
}

fn run(orders: &Receiver<Work>, to_main: &Sender<Input>) {
    for work in orders {
        let (driver, chunk, token) = match work {
            Work::Run(driver, chunk, token) => (driver, chunk, token),
            Work::Drop(dropped) => {
                drop(dropped);
                continue;
            }
        };
        // How long it takes to read captured values says nothing about the bodies.
        let function = chunk.function.prepared().map_err(Stop::Failed);
        let watch = Stopwatch::start();
        let outcome = function.and_then(|function| function.run(chunk.range, &token));
        let ran = Input::Ran(driver, chunk.attempt, outcome, watch.elapsed());
        if to_main.send(ran).is_err() {
            return;
        }
    }
}

/// How often the worker says what it holds.
const BEAT: Duration = Duration::from_millis(500);
