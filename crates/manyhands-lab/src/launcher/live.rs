//! The executor that really measures: one process per launch.

use super::{ChildError, Launcher, process::Process};
use crate::{
    child::protocol::{Reply, Request, Start, Taken},
    clock::{ClockCard, Stopwatch},
    director::{BlockStep, Pass, Subject},
    meter::{CORE_STEP, CoreSampler},
    record::{CoreTrace, PoolState, Settings},
    run::Executor,
};
use std::{collections::BTreeMap, time::Duration};

/// Processes of one case that live at the same time; those not asked sleep in a read.
#[derive(Debug)]
pub struct Live {
    launcher: Launcher,
    pool: PoolState,
    workers: Option<usize>,
    processes: BTreeMap<u32, Process<Reply>>,
    watch: Stopwatch,
}

impl Live {
    /// Makes an executor without processes; its time begins now.
    #[must_use]
    pub fn new(launcher: Launcher, settings: &Settings) -> Self {
        Self {
            launcher,
            pool: settings.pool,
            workers: settings.workers,
            processes: BTreeMap::new(),
            watch: Stopwatch::start(),
        }
    }

    fn start(&self, subject: &Subject) -> Result<(Process<Reply>, ClockCard), ChildError> {
        let mut process = self.launcher.launch()?;
        let start = Request::Start(Start {
            experiment: subject.experiment.clone(),
            case: subject.of.clone(),
            cpus: subject.cpus,
            copies: subject.copies,
            workers: self.workers,
            pool: self.pool,
            batch: self.launcher.batch,
        });
        match process.ask(&start)? {
            Reply::Started {
                clock_cost_nanos: cost_nanos,
                clock_grain_nanos: grain_nanos,
            } => Ok((
                process,
                ClockCard {
                    cost_nanos,
                    grain_nanos,
                },
            )),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, launch: u32, request: &Request) -> Result<Reply, ChildError> {
        match self.processes.get_mut(&launch) {
            Some(process) => process.ask(request),
            None => Err(ChildError::Ended {
                status: "it was not started".to_owned(),
            }),
        }
    }
}

impl Executor for Live {
    fn launch(&mut self, subject: &Subject, launch: u32) -> Result<ClockCard, ChildError> {
        let (process, clock) = self.start(subject)?;
        self.processes.insert(launch, process);
        Ok(clock)
    }

    fn open(&mut self, launch: u32, n: usize) -> Result<(), ChildError> {
        match self.ask(launch, &Request::Open { n })? {
            Reply::Opened => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn block(&mut self, step: &BlockStep) -> Result<Taken, ChildError> {
        let request = Request::Block {
            order: step.order.clone(),
        };
        match self.ask(step.launch, &request)? {
            Reply::Block(taken) if taken.samples.len() == step.order.len() => Ok(taken),
            other => Err(unexpected(&other)),
        }
    }

    fn peak(&mut self, pass: &Pass) -> Result<Option<u64>, ChildError> {
        let (mut process, _) = self.start(&pass.subject)?;
        let request = Request::Peak {
            n: pass.n,
            arm: pass.arm,
        };
        match process.ask(&request)? {
            Reply::Peak { bytes } => Ok(bytes),
            other => Err(unexpected(&other)),
        }
    }

    fn cores(&mut self, pass: &Pass) -> Result<Option<CoreTrace>, ChildError> {
        let (mut process, _) = self.start(&pass.subject)?;
        let request = Request::Repeat {
            n: pass.n,
            arm: pass.arm,
            at_least: TRACE,
        };
        let sampler = CoreSampler::start(CORE_STEP);
        match process.ask(&request)? {
            Reply::Repeated => Ok(sampler.map(CoreSampler::stop)),
            other => Err(unexpected(&other)),
        }
    }

    fn close(&mut self) {
        self.processes.clear();
    }

    fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }
}

fn unexpected(reply: &Reply) -> ChildError {
    ChildError::Nonsense {
        said: format!("{reply:?}"),
    }
}

/// A picture of the cores shows this much.
pub(crate) const TRACE: Duration = Duration::from_secs(1);
