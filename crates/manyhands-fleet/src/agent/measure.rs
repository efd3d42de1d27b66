//! Measures a case of a registered experiment by the laboratory's library, into the run's folder.

use super::{
    Ended, Session, Setup,
    sender::{HEAD, Sender},
};
use crate::{FleetError, measured::head_of};
use manyhands_lab::{
    Experiment, LabError,
    clock::Stopwatch,
    director::{Director, Statistics},
    launcher::Live,
    machine::Machine,
    record::Event,
    run::{self, Observer, Outcome, Progress},
    store::{Damage, Existing, Store},
};
use std::time::Duration;

/// Begins the run of an entry or goes on with it.
pub(super) fn measure(
    experiments: &[Experiment],
    setup: &Setup,
    sender: &mut Sender<'_>,
    session: &Session<'_>,
) -> Result<Ended, FleetError> {
    let Session { entry, stop, .. } = *session;
    let work = &entry.job().work;
    let (mut store, mut director, events) = if entry.folder().join(HEAD).exists() {
        let (store, recording) = Store::resume(entry.folder(), Damage::Refuse)?;
        let analyst = Box::new(Statistics::new(&recording.head));
        let (events, spent) = (&recording.events, recording.spent);
        let director = Director::resume(&recording.head, analyst, events, spent)?;
        (store, director, events.len() as u64)
    } else {
        let head = head_of(work, experiments, Machine::here(), &session.started);
        let head = head.ok_or_else(|| FleetError::Unable {
            reason: format!("this agent has no case '{}'", work.title()),
        })?;
        let store = Store::create(entry.folder(), &head, Existing::Replace)?;
        let analyst = Box::new(Statistics::new(&head));
        (store, Director::new(&head, analyst), 0)
    };
    let mut live = Live::new(setup.launcher.clone(), &work.settings());
    let mut reporter = Reporter {
        sender,
        events,
        pace: Pace::new(),
        is_superseded: false,
    };
    let outcome = run::execute(&mut director, &mut live, &mut store, &mut reporter, stop);
    match outcome {
        Ok(Outcome::Finished) => {
            entry.finish()?;
            Ok(Ended::Finished)
        }
        Ok(Outcome::Interrupted) => Ok(Ended::Interrupted),
        Err(LabError::Stopped) if reporter.is_superseded => Ok(Ended::Superseded),
        Err(error) => Err(error.into()),
    }
}

/// Sends what has been measured, between two blocks.
struct Reporter<'sender, 'run> {
    sender: &'sender mut Sender<'run>,
    /// Events of the run so far.
    events: u64,
    pace: Pace,
    is_superseded: bool,
}

impl Observer for Reporter<'_, '_> {
    fn happened(&mut self, _: &Event, progress: &Progress) -> Result<(), LabError> {
        self.events += 1;
        if !self.pace.is_due() {
            return Ok(());
        }
        let left = progress.left.duration.as_secs();
        let sent = self.sender.send_new().and_then(|()| {
            self.sender.beat(self.events, left)?;
            self.sender.is_superseded()
        });
        self.pace.sent(sent.is_ok());
        // What could not be sent now is sent later; the run goes on.
        self.is_superseded = sent.unwrap_or(false);
        if self.is_superseded {
            Err(LabError::Stopped)
        } else {
            Ok(())
        }
    }
}

/// When to send next: often while it works, seldom while the server is away.
struct Pace {
    last: Stopwatch,
    every: Duration,
}

impl Pace {
    fn new() -> Self {
        Self {
            last: Stopwatch::start(),
            every: OFTEN,
        }
    }

    fn is_due(&self) -> bool {
        self.last.elapsed() > self.every
    }

    fn sent(&mut self, is_well: bool) {
        self.last = Stopwatch::start();
        self.every = if is_well { OFTEN } else { SELDOM };
    }
}

const OFTEN: Duration = Duration::from_secs(1);
const SELDOM: Duration = Duration::from_secs(10);
