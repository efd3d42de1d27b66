//! Carries out what the director decides and keeps every event before going on.

use crate::{
    Experiment, LabError,
    child::Taken,
    clock::ClockCard,
    director::{BlockStep, Director, Pass, PassKind, Plan, Step, Subject, TimeLeft},
    launcher::ChildError,
    machine::Machine,
    plain::plain,
    record::{Block, Event, FORMAT, Head, Key, Sample, Settings},
    store::Store,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The head of a run of these experiments; `started` is the time of its start, UTC, RFC 3339.
#[must_use]
pub fn head(
    experiments: &[Experiment],
    settings: Settings,
    machine: Machine,
    started: impl Into<String>,
) -> Head {
    let card = |experiment: &Experiment| {
        let card = experiment.card(settings.scale);
        card.on_cpus(&settings.cpus, &settings.copies)
            .by_build(&settings.builds)
    };
    Head {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.into(),
        experiments: experiments.iter().map(card).collect(),
        settings,
        machine,
    }
}

/// Where blocks come from: processes, or in tests a simulation.
pub trait Executor {
    /// Starts a fresh process for a case.
    ///
    /// # Errors
    /// Like all others: if the process cannot do what it is asked. It is of no further use then.
    fn launch(&mut self, subject: &Subject, launch: u32) -> Result<ClockCard, ChildError>;

    /// Prepares a size in a process.
    ///
    /// # Errors
    /// If it cannot.
    fn open(&mut self, launch: u32, n: usize) -> Result<(), ChildError>;

    /// Times every arm once.
    ///
    /// # Errors
    /// If it cannot.
    fn block(&mut self, step: &BlockStep) -> Result<Taken, ChildError>;

    /// What there is to record of a pass in a fresh process; `None` where the system does not say.
    ///
    /// # Errors
    /// If the process cannot make the calls.
    fn pass(&mut self, pass: &Pass) -> Result<Option<Event>, ChildError>;

    /// Ends all processes.
    fn close(&mut self);

    /// Time since the executor was made.
    fn elapsed(&self) -> Duration;
}

/// Where events go: a [`Store`], or a list that ends with the program.
pub trait Journal {
    /// Keeps an event, so that it survives this process; `spent` is the time that the run has taken.
    ///
    /// # Errors
    /// If it cannot be kept; the run ends.
    fn append(&mut self, event: &Event, spent: Duration) -> Result<(), LabError>;

    /// Keeps all events, so that they survive the machine.
    ///
    /// # Errors
    /// If they cannot be kept; the run ends.
    fn sync(&mut self) -> Result<(), LabError>;
}

impl Journal for Store {
    fn append(&mut self, event: &Event, spent: Duration) -> Result<(), LabError> {
        Self::append(self, event, spent)
    }

    fn sync(&mut self) -> Result<(), LabError> {
        Self::sync(self)
    }
}

impl Journal for Vec<Event> {
    fn append(&mut self, event: &Event, _: Duration) -> Result<(), LabError> {
        self.push(event.clone());
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LabError> {
        Ok(())
    }
}

/// Learns what happens, between blocks.
pub trait Observer {
    /// A run with a budget has decided what fits.
    ///
    /// # Errors
    /// Whatever makes it pointless to go on.
    fn planned(&mut self, plan: &Plan) -> Result<(), LabError> {
        let _ = plan;
        Ok(())
    }

    /// A step is about to be carried out.
    fn begins(&mut self, step: &Step, progress: &Progress) {
        let _ = (step, progress);
    }

    /// An event was recorded.
    ///
    /// # Errors
    /// Whatever makes it pointless to go on.
    fn happened(&mut self, event: &Event, progress: &Progress) -> Result<(), LabError>;
}

/// Ignores everything.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn happened(&mut self, _: &Event, _: &Progress) -> Result<(), LabError> {
        Ok(())
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Time so far, in all sessions of the run.
    pub spent: Duration,
    /// Time until the end.
    pub left: TimeLeft,
}

/// Asks a run to end after the block it is at. Clones ask the same run.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that any signal sets which asks a program to end: Ctrl-C in a terminal, the end of
    /// the terminal, a system that shuts down. Once in a program.
    ///
    /// # Errors
    /// [`LabError::Signal`] if there is a handler for it already.
    pub fn on_signal() -> Result<Self, LabError> {
        let interrupt = Self::default();
        let asked = interrupt.clone();
        ctrlc::set_handler(move || asked.set()).map_err(LabError::Signal)?;
        Ok(interrupt)
    }

    /// Asks.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do.
    Finished,
    /// Somebody asked it to end. What was measured is kept, and the run can go on later.
    Interrupted,
}

/// Runs to the end, or until interrupted. Every event is kept before the next step begins.
///
/// # Errors
/// Those of the journal and of the observer. A process that fails ends a point and not the run.
pub fn execute(
    director: &mut Director,
    executor: &mut dyn Executor,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Outcome, LabError> {
    let mut run = Run {
        director,
        executor,
        journal,
        observer,
    };
    let outcome = run.go(interrupt);
    run.executor.close();
    outcome
}

/// A run with everything it needs.
struct Run<'run> {
    director: &'run mut Director,
    executor: &'run mut dyn Executor,
    journal: &'run mut dyn Journal,
    observer: &'run mut dyn Observer,
}

impl Run<'_> {
    fn go(&mut self, interrupt: &Interrupt) -> Result<Outcome, LabError> {
        let mut at = None;
        while !interrupt.is_set() {
            let step = self.director.next(self.executor.elapsed());
            if let Step::Finished = step {
                self.journal.sync()?;
                return Ok(Outcome::Finished);
            }
            self.sync_between_points(&mut at, &step)?;
            self.observer.begins(&step, &self.progress());
            match self.carry_out(&step) {
                Ok(Some(event)) => self.happened(&event)?,
                Ok(None) => {}
                // A process may well have been ended by what interrupts the run.
                Err(_) if interrupt.is_set() => break,
                Err(error) => self.failed(&step, &error)?,
            }
        }
        self.journal.sync()?;
        Ok(Outcome::Interrupted)
    }

    /// Blocks reach the file at once, the disk at the end of their point.
    fn sync_between_points(&mut self, at: &mut Option<Key>, step: &Step) -> Result<(), LabError> {
        let key = key_of(step);
        if key.is_some() && *at != key {
            self.journal.sync()?;
            *at = key;
        }
        Ok(())
    }

    /// Carries a step out; the event is what there is to record of it.
    fn carry_out(&mut self, step: &Step) -> Result<Option<Event>, ChildError> {
        match step {
            Step::Pilot { subject, n, arms } => Ok(Some(self.pilot(subject, *n, *arms))),
            Step::Launch {
                subject, launch, ..
            } => {
                let clock = self.executor.launch(subject, *launch)?;
                Ok(Some(launched(subject, *launch, clock)))
            }
            Step::Open { key, launch } => {
                self.executor.open(*launch, key.n)?;
                self.director.opened(key.n);
                Ok(None)
            }
            Step::Block(step) => {
                let taken = self.executor.block(step)?;
                self.compare(&step.key, &taken)?;
                Ok(Some(block(step, taken)))
            }
            Step::Pass(pass) => {
                let event = self.executor.pass(pass)?;
                if event.is_none() {
                    self.director.skipped();
                }
                Ok(event)
            }
            Step::Close | Step::Finished => {
                self.close();
                Ok(None)
            }
        }
    }

    /// Takes one block in a process of its own. A case that fails here will fail again where it is measured, and say why.
    fn pilot(&mut self, subject: &Subject, n: usize, arms: usize) -> Event {
        let began = self.executor.elapsed();
        let step = BlockStep {
            key: subject.key(n),
            launch: 0,
            order: (0..arms).collect(),
        };
        let mut block = || -> Result<Taken, ChildError> {
            self.executor.launch(subject, step.launch)?;
            self.executor.open(step.launch, n)?;
            self.executor.block(&step)
        };
        let samples = block().map_or_else(|_| Vec::new(), |taken| taken.samples);
        self.executor.close();
        let spent = self.executor.elapsed().saturating_sub(began);
        Event::Piloted {
            key: step.key,
            nanos: samples.iter().map(Sample::nanos).collect(),
            pilot_nanos: u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX),
        }
    }

    /// Arms agree within a process; here processes must agree.
    fn compare(&self, key: &Key, taken: &Taken) -> Result<(), ChildError> {
        match self.director.checksum_at(key) {
            Some(expected) if expected != taken.checksum => Err(ChildError::Failed {
                message: format!(
                    "two processes have different results (checksum {}, expected {expected})",
                    taken.checksum
                ),
            }),
            _ => Ok(()),
        }
    }

    fn failed(&mut self, step: &Step, error: &ChildError) -> Result<(), LabError> {
        let Some(key) = key_of(step) else {
            return Ok(());
        };
        let message = match step {
            Step::Pass(Pass { kind, arm, .. }) => match kind {
                PassKind::Memory => format!("peak memory of arm {arm}: {error}"),
                PassKind::Cores => format!("picture of the cores for arm {arm}: {error}"),
            },
            _ => error.to_string(),
        };
        let message = plain(&message).into_owned();
        self.happened(&Event::Failed { key, message })?;
        // One process has failed; the others have opened a size that is not measured any more.
        self.close();
        Ok(())
    }

    fn close(&mut self) {
        self.executor.close();
        self.director.closed();
    }

    fn happened(&mut self, event: &Event) -> Result<(), LabError> {
        let now = self.executor.elapsed();
        self.journal.append(event, self.director.spent(now))?;
        self.director.observe(event, now);
        self.observer.happened(event, &self.progress())?;
        match (event, self.director.plan()) {
            (Event::Piloted { .. }, Some(plan)) => self.observer.planned(plan),
            _ => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        let now = self.executor.elapsed();
        Progress {
            spent: self.director.spent(now),
            left: self.director.time_left(now),
        }
    }
}

fn launched(subject: &Subject, launch: u32, clock: ClockCard) -> Event {
    Event::Launched {
        experiment: subject.experiment.clone(),
        case: subject.case.clone(),
        launch,
        clock_cost_nanos: clock.cost_nanos,
        clock_grain_nanos: clock.grain_nanos,
    }
}

fn block(step: &BlockStep, taken: Taken) -> Event {
    Event::Block {
        key: step.key.clone(),
        block: Block {
            launch: step.launch,
            order: step.order.clone(),
            samples: taken.samples,
            checksum: taken.checksum,
        },
    }
}

/// The point a step is about.
fn key_of(step: &Step) -> Option<Key> {
    match step {
        Step::Pilot { subject, n, .. } | Step::Launch { subject, n, .. } => Some(subject.key(*n)),
        Step::Open { key, .. } => Some(key.clone()),
        Step::Block(block) => Some(block.key.clone()),
        Step::Pass(pass) => Some(pass.subject.key(pass.n)),
        Step::Close | Step::Finished => None,
    }
}
