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
#[cfg(unix)]
use std::iter;
use std::{
    any::Any,
    collections::HashMap,
    io, process,
    sync::{
        Arc, Once,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

/// What comes to the main thread.
#[derive(Debug)]
pub(crate) enum Input {
    /// A driver is there, and perhaps says something.
    #[cfg(unix)]
    Heard(String, Vec<ToWorker>),
    /// The same, in its place.
    #[cfg(feature = "nats")]
    Carried(
        String,
        Vec<ToWorker>,
        #[expect(dead_code, reason = "it is kept until it is dropped")] crate::engine::nats::Place,
    ),
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

/// Tells who started this process what it does not do, the first time.
#[expect(clippy::print_stderr, reason = "as above")]
pub(crate) fn say_once(is_said: &Once, text: &str) {
    is_said.call_once(|| eprintln!("manyhands-cluster worker: {text}"));
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
    /// Since this worker introduced itself.
    greeted: Stopwatch,
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
                #[cfg(unix)]
                Ok(Input::Heard(driver, messages)) => self.hear(&driver, messages)?,
                #[cfg(feature = "nats")]
                Ok(Input::Carried(driver, messages, _)) => self.hear(&driver, messages)?,
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

    fn hear(&mut self, driver: &str, messages: Vec<ToWorker>) -> Result<(), End> {
        self.know(driver)?;
        for message in messages {
            self.change(driver, |known| known.worker.hear(message))?;
        }
        Ok(())
    }

    /// Notes that a driver is there; introduces this worker if it is new.
    fn know(&mut self, driver: &str) -> Result<(), End> {
        if let Some(known) = self.drivers.get_mut(driver) {
            known.heard = Stopwatch::start();
            return Ok(());
        }
        if self.drivers.len() >= DRIVERS_MAX {
            static IS_SAID: Once = Once::new();
            let text = format!("{DRIVERS_MAX} drivers are here; no other gets anything");
            say_once(&IS_SAID, &text);
            return Ok(());
        }
        let worker = Worker::new(self.hello.clone());
        for message in worker.beat() {
            self.link.say(driver, &message)?;
        }
        let known = Known {
            worker,
            heard: Stopwatch::start(),
            greeted: Stopwatch::start(),
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
        for (driver, known) in &mut self.drivers {
            // A driver may have forgotten it in a long silence.
            if known.greeted.elapsed() > GREET_AGAIN {
                known.greeted = Stopwatch::start();
                let hello = FromWorker::Hello(self.hello.clone());
                self.link.say(driver, &hello)?;
            }
            for message in known.worker.beat() {
                self.link.say(driver, &message)?;
            }
        }
        Ok(())
    }
}

/// Brings what the only driver says to the main thread, until either has ended.
#[cfg(unix)]
pub(crate) fn hear_one(said: impl Iterator<Item = Vec<ToWorker>>, to_main: &Sender<Input>) {
    // That it is there comes first.
    for messages in iter::once(Vec::new()).chain(said) {
        let heard = Input::Heard("driver".to_owned(), messages);
        if to_main.send(heard).is_err() {
            return;
        }
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

/// Drivers that are known at the same time. Anybody with a key to the server can make up more.
const DRIVERS_MAX: usize = 256;
const GREET_AGAIN: Duration = Duration::from_secs(10);
/// How often the worker says what it holds.
const BEAT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what is said to each driver.
    #[derive(Default)]
    struct Counted(HashMap<String, usize>);

    impl Link for Counted {
        const SILENCE_MAX: Option<Duration> = Some(Duration::from_secs(3_600));

        fn say(&mut self, driver: &str, _: &FromWorker) -> Result<(), End> {
            *self.0.entry(driver.to_owned()).or_default() += 1;
            Ok(())
        }

        fn refused(&mut self, _: String) -> Result<(), End> {
            Ok(())
        }
    }

    #[test]
    fn of_drivers_that_are_made_up_no_more_are_known_than_have_a_place() {
        let (to, _from) = mpsc::channel();
        let mut serving = Serving::new(Counted::default(), to, None).unwrap();
        serving.know("honest").unwrap();
        for name in 0..10_000 {
            serving.know(&name.to_string()).unwrap();
        }
        assert_eq!(serving.drivers.len(), DRIVERS_MAX);
        serving.beat().unwrap();
        assert_eq!(serving.link.0.len(), DRIVERS_MAX);
        assert_eq!(serving.link.0["honest"], 2);
    }
}
