//! An agent: pulls jobs, measures one at a time, sends what it has measured.
//!
//! Everything is on its own disk before it is sent, and stays there until the server has answered. A killed agent
//! goes on with its run when it gets the job again; a run of a job that another agent has done meanwhile is dropped.
//!
//! # Threads
//! One thread measures and sends, so nothing is sent while something is timed. Another extends the job's lease, a
//! message every third of it. Agents of one machine take turns: they hold a lock on a file while they look for a job and
//! are at it, and let go of it in between for long enough that another one gets it.

mod allowed;
mod command;
mod host;
mod measure;
mod preflight;
mod sender;
mod spool;

pub use allowed::Allowed;
pub(crate) use command::Outcome;
pub use host::{default_host_lock, host_name};
pub use preflight::{Finding, Verdict, preflight};

use crate::{
    FleetError, Name,
    engine::{Delivery, Engine, Message, Queue},
    file_lock::FileLock,
    time::{Skew, pause},
    wire::{self, Job, News, Over, Presence, Receipt, Report, Text, Within, Work},
};
use host::lock_host;
use manyhands_lab::{
    Experiment, LabError, clock::Stopwatch, launcher::Launcher, machine::Machine, run::Interrupt,
};
use sender::Sender;
use spool::{Entry, Spool};
use std::{
    fmt,
    path::PathBuf,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How an agent is set up.
#[derive(Debug)]
pub struct Setup {
    /// Its name, by which it is known; with keys the one that its key was made for.
    pub name: Name,
    /// Folder for runs that the server has not answered yet; one agent at a time uses it.
    pub spool: PathBuf,
    /// File that agents of one machine lock while they are at a job.
    pub host_lock: PathBuf,
    /// CPUs it offers: it takes jobs for exactly this number, and jobs for any number.
    pub cpus: usize,
    /// What the machine is called in the table of prices.
    pub machine: Option<Name>,
    /// Command lines it may run.
    pub allowed: Allowed,
    /// How the processes that measure are started.
    pub launcher: Launcher,
}

/// Pulls jobs and measures.
///
/// # Examples
/// ```
/// use manyhands_fleet::agent::{Agent, Allowed, End, Setup};
/// use manyhands_fleet::engine::InProcess;
/// use manyhands_lab::{launcher::Launcher, run::Interrupt};
/// use std::time::Duration;
///
/// let folder = tempfile::tempdir()?;
/// let setup = Setup {
///     name: "one".parse()?,
///     spool: folder.path().join("spool"),
///     host_lock: folder.path().join("host.lock"),
///     cpus: 2,
///     machine: None,
///     allowed: Allowed::default(),
///     launcher: Launcher::this_program()?,
/// };
/// let engine = InProcess::new(Duration::from_secs(60));
/// let mut agent = Agent::new(setup, &engine, Vec::new())?;
/// assert!(!agent.step(Duration::ZERO, &Interrupt::default())?, "there is no job");
/// let stop = Interrupt::default();
/// assert_eq!(agent.run(Some(Duration::ZERO), &stop, |error| panic!("{error}")), End::Idle);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Agent<'engine> {
    setup: Setup,
    engine: &'engine dyn Engine,
    experiments: Vec<Experiment>,
    /// Model of the processor.
    cpu: String,
    spool: Spool,
    /// Time since the runs that are left were last sent; `None` before the first time.
    tried: Option<Stopwatch>,
    /// Time since this agent last reported that it is there; `None` before the first time.
    shown: Option<Stopwatch>,
    /// When it was last asked for; `None` before the first answer.
    skew: Option<Skew>,
    /// Whether something on this machine failed, and it has not been seen since that the spool can be written.
    is_doubtful: bool,
}

impl fmt::Debug for Agent<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Agent");
        shown.field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// A job and its message.
type Taken = (Box<dyn Delivery>, Job);

impl<'engine> Agent<'engine> {
    /// An agent that can measure these experiments.
    ///
    /// # Errors
    /// [`FleetError::FolderInUse`] if another agent uses the spool, [`FleetError::File`] if it cannot be written.
    pub fn new(
        setup: Setup,
        engine: &'engine dyn Engine,
        experiments: Vec<Experiment>,
    ) -> Result<Self, FleetError> {
        let spool = Spool::open(&setup.spool)?;
        Ok(Self {
            setup,
            engine,
            experiments,
            cpu: Machine::here().cpu,
            spool,
            tried: None,
            shown: None,
            skew: None,
            is_doubtful: false,
        })
    }

    /// Works until it is asked to end, or, with a limit, until it has done nothing for this time. What goes wrong is
    /// given to `complain`, and tried again: an agent that has results to send does so for longer than the limit, one
    /// that has none does not.
    pub fn run(
        &mut self,
        idle_max: Option<Duration>,
        stop: &Interrupt,
        mut complain: impl FnMut(&FleetError),
    ) -> End {
        let mut idle = Stopwatch::start();
        while !stop.is_set() {
            match self.step(WAIT, stop) {
                // Another agent of this machine gets its turn, also if this one would always find something to do.
                Ok(had_job) => {
                    if had_job {
                        idle = Stopwatch::start();
                    }
                    pause(2 * TURN, stop);
                }
                // It has waited, and goes on with that.
                Err(error @ FleetError::Waits { .. }) => complain(&error),
                Err(error) => {
                    complain(&error);
                    pause(RETRY, stop);
                }
            }
            if idle_max.is_some_and(|limit| idle.elapsed() > limit) && !self.has_results() {
                return End::Idle;
            }
        }
        End::Asked
    }

    /// Whether there is a finished run that the server has not answered. A spool that cannot be read has none.
    fn has_results(&self) -> bool {
        let entries = self.spool.entries();
        entries.is_ok_and(|entries| entries.iter().any(Entry::is_finished))
    }

    /// Sends what is left from before, then takes a job, if there is one within this time, and carries it out.
    /// Whether there was one.
    ///
    /// # Errors
    /// Those of the engine, of the spool and of the laboratory; [`FleetError::Waits`] if another agent of this machine is
    /// at work. What was measured is kept, and sent by a later step.
    pub fn step(&mut self, wait: Duration, stop: &Interrupt) -> Result<bool, FleetError> {
        self.send_what_is_left(stop)?;
        self.spool.complaint().map_or(Ok(()), Err)?;
        self.show()?;
        let Some(_host) = self.turn(wait, stop)? else {
            let lock = self.setup.host_lock.clone();
            return Err(FleetError::Waits { lock });
        };
        if self.is_doubtful {
            // Otherwise a full disk would be met in one job after the other.
            self.spool.try_room()?;
            self.is_doubtful = false;
        }
        if self.skew.is_none() {
            self.skew = Some(Skew::of(self.engine)?);
        }
        let Some((delivery, job)) = self.take(wait, stop)? else {
            return Ok(false);
        };
        match self.carry_out((delivery.as_ref(), &job), stop) {
            Ok(()) => Ok(true),
            Err(error) => {
                self.is_doubtful = !matches!(error, FleetError::Engine { .. });
                // The lease ends by itself if this fails too.
                let _ = delivery.release(RETRY);
                Err(error)
            }
        }
    }

    /// The next job. Nothing of ours has written what cannot be read, and it will not get better: it is thrown away at once,
    /// however much of it there is.
    fn take(&self, wait: Duration, stop: &Interrupt) -> Result<Option<Taken>, FleetError> {
        let cpus = Some(self.setup.cpus);
        let mut unread = None;
        while !stop.is_set() {
            let mut taken = self.engine.take(Queue::Jobs { cpus }, 1, Duration::ZERO)?;
            if taken.is_empty() {
                // What was unread is said before it waits.
                let wait = unread.as_ref().map_or(wait, |_| Duration::ZERO);
                taken = self.engine.take(Queue::Jobs { cpus: None }, 1, wait)?;
            }
            let Some(delivery) = taken.pop() else {
                break;
            };
            match Job::read(delivery.body(), delivery.about(), self.setup.cpus) {
                Ok(job) => return Ok(Some((delivery, job))),
                Err(error) => {
                    delivery.finish()?;
                    unread = Some(error);
                }
            }
        }
        unread.map_or(Ok(None), Err)
    }

    /// Reports now and then that this agent is there.
    fn show(&mut self) -> Result<(), FleetError> {
        if self.shown.is_some_and(|shown| shown.elapsed() < SHOW_AGAIN) {
            return Ok(());
        }
        let report = Report::Waits(Presence {
            agent: self.setup.name.clone(),
            cpus: Within::nearest(self.setup.cpus as u64),
            cpu: Text::of(&self.cpu),
            machine: self.setup.machine.clone(),
        });
        let message = Message {
            id: wire::new_id().to_string(),
            body: wire::to_bytes(&report)?,
        };
        self.engine
            .publish(Queue::Results, &self.setup.name, &[message])?;
        self.shown = Some(Stopwatch::start());
        Ok(())
    }

    /// The machine's lock, if it can be had within this time.
    fn turn(&self, wait: Duration, stop: &Interrupt) -> Result<Option<FileLock>, FleetError> {
        let watch = Stopwatch::start();
        loop {
            let host = lock_host(&self.setup.host_lock)?;
            if host.is_some() || watch.elapsed() >= wait || stop.is_set() {
                return Ok(host);
            }
            pause(TURN, stop);
        }
    }

    fn carry_out(
        &mut self,
        (delivery, job): (&dyn Delivery, &Job),
        stop: &Interrupt,
    ) -> Result<(), FleetError> {
        if Over::of(self.engine, &job.id)?.is_some() {
            self.spool.drop_job(&job.id)?;
            return delivery.finish();
        }
        let entry = self.spool.entry(job)?;
        // Without an answer the clocks are as far apart as they were.
        self.skew = Skew::of(self.engine).ok().or(self.skew);
        let session = Session {
            entry: &entry,
            started: self.skew.unwrap_or_default().utc(),
            stop,
        };
        match extended(delivery, || self.work_and_deliver(&session)) {
            Ok(Ended::Finished) => delivery.finish(),
            Ok(Ended::Superseded) => {
                entry.remove()?;
                delivery.finish()
            }
            // The spool keeps what was measured, for the next time.
            Ok(Ended::Interrupted) => delivery.release(Duration::ZERO),
            Err(error @ FleetError::Unable { .. }) => {
                let reason = Text::of(&error.to_string());
                self.sender(&entry)
                    .send("unable", News::Unable { reason })?;
                entry.remove()?;
                delivery.release(UNABLE_AGAIN)
            }
            // It is this machine's or the network's fault, or this agent is to end.
            Err(error) if is_of_here(&error) => Err(error),
            Err(error) => {
                let reason = Text::of(&error.to_string());
                self.sender(&entry)
                    .send("failed", News::Failed { reason })?;
                self.spool.give_up(&entry, &error)?;
                delivery.release(RETRY)
            }
        }
    }

    fn work_and_deliver(&self, session: &Session<'_>) -> Result<Ended, FleetError> {
        let Session { entry, stop, .. } = *session;
        let mut sender = self.sender(entry);
        if !entry.is_finished() {
            // From now on it is this agent that has the job.
            sender.beat(0, 0)?;
            let ended = match &entry.job().work {
                Work::Case { .. } => {
                    measure::measure(&self.experiments, &self.setup, &mut sender, session)?
                }
                Work::Command { .. } => {
                    let asked = || sender.beat(0, 0).and_then(|()| sender.is_superseded());
                    command::run(&self.setup.allowed, session, &|| asked().unwrap_or(false))?
                }
            };
            if ended != Ended::Finished {
                return Ok(ended);
            }
        }
        self.deliver(entry, sender, ANSWER, stop)?;
        Ok(Ended::Finished)
    }

    fn sender<'run>(&'run self, entry: &'run Entry) -> Sender<'run> {
        Sender::new(self.engine, &self.setup, entry)
    }

    /// Sends a finished run and waits for the answer; without one the run stays, to be sent again later.
    fn deliver<'run>(
        &'run self,
        entry: &'run Entry,
        mut sender: Sender<'run>,
        patience: Duration,
        stop: &Interrupt,
    ) -> Result<(), FleetError> {
        let watch = Stopwatch::start();
        loop {
            // An earlier sending may have been answered since.
            if sender.answer_now().is_none() {
                sender.send_stubbornly(stop)?;
            }
            loop {
                match sender.answer_now() {
                    Some(Receipt::Accepted | Receipt::Superseded | Receipt::Refused) => {
                        return entry.remove();
                    }
                    Some(Receipt::Resend) => break,
                    None if watch.elapsed() > patience || stop.is_set() => return Ok(()),
                    None => pause(LOOK_AGAIN, stop),
                }
            }
            sender = self.sender(entry);
        }
    }

    /// Sends all finished runs, every now and then, and drops runs that nobody waits for. A run that cannot be sent is set
    /// aside, and holds up no other.
    fn send_what_is_left(&mut self, stop: &Interrupt) -> Result<(), FleetError> {
        if self.tried.is_some_and(|tried| tried.elapsed() < SEND_AGAIN) {
            return Ok(());
        }
        self.tried = Some(Stopwatch::start());
        for entry in self.spool.entries()? {
            if entry.is_finished() {
                match self.deliver(&entry, self.sender(&entry), Duration::ZERO, stop) {
                    Err(error @ FleetError::Engine { .. }) => return Err(error),
                    Err(error) => self.spool.set_aside(entry.folder(), &error)?,
                    Ok(()) => {}
                }
            } else if Over::of(self.engine, &entry.job().id)?.is_some() {
                entry.remove()?;
            }
        }
        Ok(())
    }
}

/// Extends a lease while something is done, so that nobody else gets the job meanwhile.
fn extended<R>(delivery: &dyn Delivery, body: impl FnOnce() -> R) -> R {
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let third = delivery.lease() / 3;
            while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(third) {
                // A lease that could not be extended is extended the next time, or lost.
                let _ = delivery.extend();
            }
        });
        // Dropped also when this unwinds, so that the other thread ends.
        let _done = done;
        body()
    })
}

/// Why an agent ended.
///
/// Example: see [`Agent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Somebody asked it to.
    Asked,
    /// It has done nothing for as long as it may.
    Idle,
}

/// What is to be done for a run now.
struct Session<'run> {
    entry: &'run Entry,
    /// When a run that begins now began, UTC, by the engine's clock.
    started: String,
    stop: &'run Interrupt,
}

/// How work on a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Finished,
    Interrupted,
    /// Another agent has done the job meanwhile.
    Superseded,
}

/// Whether an error says nothing about the job: another agent, or this one later, may well do it.
fn is_of_here(error: &FleetError) -> bool {
    use LabError::{File, FolderLocked, Objection, Output, Signal, Stream};
    match error {
        FleetError::Engine { .. } | FleetError::File { .. } => true,
        FleetError::Lab(error) => matches!(
            error,
            File { .. }
                | FolderLocked { .. }
                | Objection { .. }
                | Output(_)
                | Signal(_)
                | Stream(_)
        ),
        _ => false,
    }
}

const WAIT: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_secs(1);
/// How long an agent waits for the server's answer before it takes another job.
const ANSWER: Duration = Duration::from_secs(10);
/// How often an agent looks whether it is its turn on this machine.
const TURN: Duration = Duration::from_millis(50);
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How often a server hears of an agent that waits.
const SHOW_AGAIN: Duration = Duration::from_secs(10);
/// When an agent looks again at a job that it cannot do, so that others come first.
const UNABLE_AGAIN: Duration = Duration::from_secs(10);
const SEND_AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
