//! The executor that really measures: one process per launch, or one for each build that is compared.

use super::{ChildError, Launcher, process::Process};
use crate::{
    child::protocol::{Reply, Request, Start, Taken},
    clock::{ClockCard, Stopwatch},
    director::{BlockStep, Pass, PassKind, Subject},
    meter::{CORE_STEP, CoreSampler},
    record::{Event, PoolState, Settings},
    run::Executor,
};
use std::{collections::BTreeMap, time::Duration};

/// Processes of one case that live at the same time; those not asked sleep in a read.
#[derive(Debug)]
pub struct Live {
    launcher: Launcher,
    /// Of the programs that are compared; empty if this program measures alone.
    builds: Vec<Launcher>,
    pool: PoolState,
    workers: Option<usize>,
    launches: BTreeMap<u32, Launch>,
    watch: Stopwatch,
}

/// One launch of a case.
#[derive(Debug)]
struct Launch {
    subject: Subject,
    /// One, or one for each build.
    processes: Vec<Process<Reply>>,
    /// The size that is open.
    n: usize,
}

impl Live {
    /// Makes an executor without processes; its time begins now.
    #[must_use]
    pub fn new(launcher: Launcher, settings: &Settings) -> Self {
        let builds = settings.builds.iter();
        Self {
            builds: builds.map(|build| launcher.of_build(build)).collect(),
            launcher,
            pool: settings.pool,
            workers: settings.workers,
            launches: BTreeMap::new(),
            watch: Stopwatch::start(),
        }
    }

    /// Starts a process that is to run the arms of a case.
    fn start(
        &self,
        launcher: &Launcher,
        subject: &Subject,
    ) -> Result<(Process<Reply>, ClockCard), ChildError> {
        let mut process = launcher.launch()?;
        let start = Request::Start(Start {
            experiment: subject.experiment.clone(),
            case: subject.of.clone(),
            cpus: subject.cpus,
            copies: subject.copies,
            workers: self.workers,
            pool: self.pool,
            batch: launcher.batch,
        });
        match process.ask(&start)? {
            Reply::Started(clock) => Ok((process, clock)),
            other => Err(unexpected(&other)),
        }
    }

    /// Who runs an arm of a case, and which arm that is there.
    fn role(&self, subject: &Subject, arm: usize) -> (&Launcher, usize) {
        match subject.arm {
            Some(of_case) => (self.builds.get(arm).unwrap_or(&self.launcher), of_case),
            None => (&self.launcher, arm),
        }
    }

    fn launch_of(&mut self, launch: u32) -> Result<&mut Launch, ChildError> {
        self.launches
            .get_mut(&launch)
            .ok_or_else(|| ChildError::Ended {
                status: "it was not started".to_owned(),
            })
    }

    /// Every sample in a process that does nothing else.
    fn cold(
        &self,
        subject: &Subject,
        n: usize,
        order: &[usize],
        arms: usize,
    ) -> Result<Taken, ChildError> {
        let mut by_place = Vec::with_capacity(order.len());
        for place in order {
            let (launcher, arm) = self.role(subject, place % arms);
            let (mut process, _) = self.start(launcher, subject)?;
            let request = Request::First { n, arm };
            by_place.push((*place, block(process.ask(&request)?, 1)?));
        }
        gathered(by_place)
    }
}

impl Executor for Live {
    fn launch(&mut self, subject: &Subject, launch: u32) -> Result<ClockCard, ChildError> {
        let launchers = match subject.arm {
            Some(_) => self.builds.as_slice(),
            None => std::slice::from_ref(&self.launcher),
        };
        let started = launchers
            .iter()
            .map(|launcher| self.start(launcher, subject));
        let started: Vec<(Process<Reply>, ClockCard)> = started.collect::<Result<_, _>>()?;
        let worst = started.iter().map(|(_, clock)| *clock);
        let clock = worst.reduce(|one, other| ClockCard {
            cost_nanos: one.cost_nanos.max(other.cost_nanos),
            grain_nanos: one.grain_nanos.max(other.grain_nanos),
        });
        let processes = started.into_iter().map(|(process, _)| process).collect();
        let new = Launch {
            subject: subject.clone(),
            processes,
            n: 0,
        };
        self.launches.insert(launch, new);
        clock.ok_or_else(|| ChildError::Ended {
            status: "no program is to be measured".to_owned(),
        })
    }

    fn open(&mut self, launch: u32, n: usize) -> Result<(), ChildError> {
        let is_cold = self.pool == PoolState::ColdProcess;
        let begun = self.launch_of(launch)?;
        begun.n = n;
        if is_cold {
            return Ok(());
        }
        for process in &mut begun.processes {
            match process.ask(&Request::Open { n, launch })? {
                Reply::Opened => {}
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    fn block(&mut self, step: &BlockStep) -> Result<Taken, ChildError> {
        // The baseline's twin is the last.
        let arms = step.order.len().saturating_sub(1).max(1);
        if self.pool == PoolState::ColdProcess {
            let launch = self.launch_of(step.launch)?;
            let (subject, n) = (launch.subject.clone(), launch.n);
            return self.cold(&subject, n, &step.order, arms);
        }
        let launch = self.launch_of(step.launch)?;
        let Some(arm) = launch.subject.arm else {
            let [process] = launch.processes.as_mut_slice() else {
                return Err(unexpected(&Reply::Opened));
            };
            let order = step.order.clone();
            let reply = process.ask(&Request::Block { order })?;
            return block(reply, step.order.len());
        };
        let mut by_place = Vec::with_capacity(step.order.len());
        for place in &step.order {
            let Some(process) = launch.processes.get_mut(place % arms) else {
                return Err(unexpected(&Reply::Opened));
            };
            let reply = process.ask(&Request::Block { order: vec![arm] })?;
            by_place.push((*place, block(reply, 1)?));
        }
        gathered(by_place)
    }

    fn pass(&mut self, pass: &Pass) -> Result<Option<Event>, ChildError> {
        let (launcher, of_case) = self.role(&pass.subject, pass.arm);
        let (mut process, _) = self.start(launcher, &pass.subject)?;
        let (key, n, arm) = (pass.subject.key(pass.n), pass.n, pass.arm);
        let (request, sampler) = match pass.kind {
            PassKind::Memory => (Request::Peak { n, arm: of_case }, None),
            PassKind::Cores => {
                let (arm, at_least) = (of_case, TRACE);
                let sampler = CoreSampler::start(CORE_STEP);
                (Request::Repeat { n, arm, at_least }, sampler)
            }
        };
        match process.ask(&request)? {
            Reply::Peak { peak } => Ok(peak.map(|peak| Event::Memory { key, arm, peak })),
            Reply::Repeated => Ok(sampler.map(|sampler| Event::Cores {
                key,
                arm,
                trace: sampler.stop(),
            })),
            other => Err(unexpected(&other)),
        }
    }

    fn close(&mut self) {
        self.launches.clear();
    }

    fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }
}

/// One block of samples that were taken one by one, by place; they must have one checksum.
fn gathered(mut taken: Vec<(usize, Taken)>) -> Result<Taken, ChildError> {
    taken.sort_unstable_by_key(|(place, _)| *place);
    let mut all = taken.into_iter().map(|(_, taken)| taken);
    let Some(mut block) = all.next() else {
        return Err(unexpected(&Reply::Opened));
    };
    for taken in all {
        if taken.checksum != block.checksum {
            return Err(ChildError::Failed {
                message: format!(
                    "two processes have different results (checksums {} and {})",
                    block.checksum, taken.checksum
                ),
            });
        }
        block.samples.extend(taken.samples);
    }
    Ok(block)
}

/// The block that a process was asked for.
fn block(reply: Reply, samples: usize) -> Result<Taken, ChildError> {
    match reply {
        Reply::Block(taken) if taken.samples.len() == samples => Ok(taken),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Reply) -> ChildError {
    ChildError::Nonsense {
        said: format!("{reply:?}"),
    }
}

/// A picture of the cores shows this much.
pub(crate) const TRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Meters, Sample};

    fn taken(wall_nanos: u64, checksum: &str) -> Taken {
        let sample = Sample {
            calls: 1,
            wall_nanos,
            meters: Meters::default(),
        };
        Taken {
            samples: vec![sample],
            checksum: checksum.to_owned(),
        }
    }

    #[test]
    fn samples_are_put_in_the_order_of_their_places() {
        let all = vec![
            (2, taken(30, "a")),
            (0, taken(10, "a")),
            (1, taken(20, "a")),
        ];
        let block = gathered(all).unwrap();
        let walls: Vec<u64> = block.samples.iter().map(|one| one.wall_nanos).collect();
        assert_eq!(walls, [10, 20, 30]);
        assert_eq!(block.checksum, "a");
    }

    #[test]
    fn processes_with_different_results_are_no_block() {
        let error = gathered(vec![(0, taken(1, "a")), (1, taken(1, "b"))]).unwrap_err();
        assert!(error.to_string().contains("checksums a and b"), "{error}");
        assert!(gathered(Vec::new()).is_err());
    }
}
