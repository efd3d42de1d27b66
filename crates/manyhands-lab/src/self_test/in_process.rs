//! Takes blocks in this process. A launch is the case opened anew.

use crate::{
    Experiment,
    child::{Batch, Bench, Taken, protocol::Start},
    clock::{ClockCard, Stopwatch},
    director::{BlockStep, Pass, Subject},
    launcher::ChildError,
    record::{Event, PoolState},
    run::Executor,
};
use std::{collections::BTreeMap, time::Duration};

/// The executor of the self-test.
pub(super) struct InProcess<'case> {
    experiment: &'case Experiment,
    batch: Batch,
    clock: ClockCard,
    watch: Stopwatch,
    launches: BTreeMap<u32, Launch<'case>>,
}

struct Launch<'case> {
    start: Start,
    bench: Option<Bench<'case>>,
}

impl<'case> InProcess<'case> {
    pub(super) fn new(experiment: &'case Experiment, at_least: Duration) -> Self {
        Self {
            experiment,
            batch: Batch {
                at_least,
                ..Batch::default()
            },
            clock: ClockCard::here(),
            watch: Stopwatch::start(),
            launches: BTreeMap::new(),
        }
    }

    fn launch_of(&mut self, launch: u32) -> Result<&mut Launch<'case>, ChildError> {
        self.launches
            .get_mut(&launch)
            .ok_or_else(|| failed("not launched"))
    }
}

impl Executor for InProcess<'_> {
    fn launch(&mut self, subject: &Subject, launch: u32) -> Result<ClockCard, ChildError> {
        let start = Start {
            experiment: subject.experiment.clone(),
            case: subject.case.clone(),
            cpus: None,
            copies: None,
            workers: None,
            pool: PoolState::Warm,
            batch: self.batch,
        };
        self.launches.insert(launch, Launch { start, bench: None });
        Ok(self.clock)
    }

    fn open(&mut self, launch: u32, n: usize) -> Result<(), ChildError> {
        let (experiment, batch, clock) = (self.experiment, self.batch, self.clock);
        let begun = self.launch_of(launch)?;
        let case = experiment.find(&begun.start.case);
        let case = case.ok_or_else(|| failed("no such case"))?;
        let mut bench = Bench::new(case, n, &begun.start).map_err(|error| failed(&error))?;
        let piloted = bench.pilot(launch, batch, clock);
        piloted.map_err(|error| failed(&error))?;
        begun.bench = Some(bench);
        Ok(())
    }

    fn block(&mut self, step: &BlockStep) -> Result<Taken, ChildError> {
        let bench = self.launch_of(step.launch)?.bench.as_mut();
        let bench = bench.ok_or_else(|| failed("not open"))?;
        bench.block(&step.order).map_err(|error| failed(&error))
    }

    fn pass(&mut self, _: &Pass) -> Result<Option<Event>, ChildError> {
        Ok(None)
    }

    fn close(&mut self) {
        self.launches.clear();
    }

    fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }
}

fn failed(message: &(impl ToString + ?Sized)) -> ChildError {
    ChildError::Failed {
        message: message.to_string(),
    }
}
