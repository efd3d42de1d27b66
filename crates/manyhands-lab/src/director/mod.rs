//! Decides what a run does next: a pure state machine, without clock, processes or files.
//!
//! A run goes through the cases in the order of its head. A case is measured at each size of its card, then at the sizes
//! its search asks for, then come the passes that are not timed. Blocks of a size are taken by several processes in turns.
//! Everything follows from the head and the events, so that a run that was cut goes on as if nothing had happened: the
//! processes are started anew, and that is all.
//!
//! With a budget each case is tried first, and a [`Plan`] says what fits and what does not. Then
//! every case has its share of what is left, and in it every point; what one does not need passes
//! to those after it, and what no longer fits is left out.

mod analyst;
mod case;
mod estimate;
mod order;
mod plan;
mod quota;
mod statistics;
mod step;

pub use analyst::{Analyst, Measured};
pub use estimate::TimeLeft;
pub use plan::Plan;
pub use statistics::Statistics;
pub use step::{BlockStep, Pass, PassKind, Step, Subject};

use crate::{
    LabError,
    record::{Event, ExperimentCard, Head, Key, Settings},
};
use case::{Case, Goal, Moment};
use plan::Pilot;
use quota::{Quota, TURN_BLOCKS};
use std::{fmt, time::Duration};

/// The state of a run.
pub struct Director {
    settings: Settings,
    quota: Quota,
    analyst: Box<dyn Analyst>,
    cases: Vec<Case>,
    current: usize,
    /// With a budget, once all cases were tried.
    plan: Option<Plan>,
    slots: Vec<Option<Process>>,
    asked: Asked,
    asked_at: Duration,
    /// Time of the sessions before this one.
    before: Duration,
}

/// A process of the current case.
#[derive(Debug, Clone, Copy)]
struct Process {
    launch: u32,
    opened: Option<usize>,
}

/// What the last step was, as far as its outcome needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Slot(usize),
    Pass,
}

impl Director {
    /// Begins a run.
    #[must_use]
    pub fn new(head: &Head, analyst: Box<dyn Analyst>) -> Self {
        let settings = head.settings.clone();
        let with_cases = |experiment: &ExperimentCard| {
            let case = |card| Case::new(&experiment.id, card);
            experiment.cases.iter().map(case).collect::<Vec<_>>()
        };
        Self {
            quota: Quota::of(settings.scale, settings.launches),
            cases: head.experiments.iter().flat_map(with_cases).collect(),
            slots: no_processes(settings.launches),
            settings,
            analyst,
            current: 0,
            plan: None,
            asked: Asked::Nothing,
            asked_at: Duration::ZERO,
            before: Duration::ZERO,
        }
    }

    /// Goes on with a run from what was recorded of it, and from the time that it took.
    ///
    /// # Errors
    /// [`LabError::OtherRun`] if an event is about a case the head does not have.
    pub fn resume(
        head: &Head,
        analyst: Box<dyn Analyst>,
        events: &[Event],
        spent: Duration,
    ) -> Result<Self, LabError> {
        let mut director = Self::new(head, analyst);
        let mut at = None;
        for event in events {
            director.go_to(event, &mut at)?;
            let before = director.before;
            director.before += match event {
                Event::Block { block, .. } => {
                    let timed = block.samples.iter().map(|sample| sample.wall_nanos);
                    Duration::from_nanos(timed.fold(0, u64::saturating_add))
                }
                Event::Piloted { pilot_nanos, .. } => Duration::from_nanos(*pilot_nanos),
                _ => Duration::ZERO,
            };
            director.observe(event, director.before - before);
        }
        director.asked = Asked::Nothing;
        // What was not timed took its time too: starting processes, warming, passes.
        director.before = director.before.max(spent);
        Ok(director)
    }

    /// Brings the state to where this recorded event happened. Time may have decided then what it
    /// would not decide now, so the event is right where the state disagrees.
    fn go_to(&mut self, event: &Event, at: &mut Option<Key>) -> Result<(), LabError> {
        let (experiment, case) = event.subject();
        let is_it = |one: &Case| one.subject.experiment == experiment && one.subject.case == case;
        let Some(index) = self.cases.iter().position(is_it) else {
            let reason =
                format!("it has events of '{experiment} {case}', which it does not measure");
            return Err(LabError::OtherRun { reason });
        };
        self.current = index;
        self.asked = Asked::Nothing;
        let (case, moment) = self.current_case(self.before);
        match event {
            Event::Launched { .. } | Event::Piloted { .. } => {}
            Event::Block { key, .. } => {
                // Blocks of one point follow each other; nothing is to be decided between them.
                if at.as_ref() != Some(key) {
                    case.go_to(key.n, &moment);
                    *at = Some(key.clone());
                }
            }
            Event::Failed { key, .. } => match case.goal(&moment) {
                Goal::Block(_) => case.go_to(key.n, &moment),
                Goal::Passes => self.asked = Asked::Pass,
            },
            Event::Memory { .. } | Event::Cores { .. } => case.go_to_passes(),
        }
        Ok(())
    }

    /// What to do next. The step is to be carried out and then reported with [`observe`](Self::observe),
    /// [`opened`](Self::opened), [`closed`](Self::closed) or [`skipped`](Self::skipped) before the next one is asked for;
    /// until then the answer stays the same. `now` is the time since this session of the run began.
    pub fn next(&mut self, now: Duration) -> Step {
        self.asked_at = now;
        self.decide(self.before + now)
    }

    fn decide(&mut self, now: Duration) -> Step {
        self.asked = Asked::Nothing;
        if let Some(step) = self.pilot() {
            return step;
        }
        while self.current < self.cases.len() {
            let (case, moment) = self.current_case(now);
            match case.goal(&moment) {
                Goal::Block(n) => return self.toward_block(n),
                Goal::Passes if self.slots.iter().any(Option::is_some) => return Step::Close,
                Goal::Passes => {
                    if let Some(step) = self.pass(now) {
                        self.asked = Asked::Pass;
                        return step;
                    }
                }
            }
            self.current += 1;
        }
        Step::Finished
    }

    /// With a budget, the next case that was not tried yet, or not long enough.
    fn pilot(&mut self) -> Option<Step> {
        if self.settings.budget.is_none() || self.plan.is_some() {
            return None;
        }
        let mut cases = self.cases.iter().enumerate();
        let (current, n) = cases.find_map(|(index, case)| Some((index, case.pilot_size()?)))?;
        self.current = current;
        let case = &self.cases[current];
        Some(Step::Pilot {
            subject: case.subject.clone(),
            n,
            arms: case.card.arms.len() + 1,
        })
    }

    /// What fits into the budget, once that is known.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Keeps what a pilot has shown. After the last one all is planned, and the first case begins.
    fn keep_pilot(&mut self, mut pilot: Pilot) {
        let case = &mut self.cases[self.current];
        if let Some(earlier) = &case.pilot {
            pilot.before = earlier.before + earlier.spent;
        }
        case.pilot = Some(pilot);
        if let Some(budget) = self.settings.budget
            && Plan::is_possible(&self.cases, budget)
        {
            let plan = Plan::of(&self.cases, budget, self.quota, &self.settings);
            self.plan = Some(plan);
            self.current = 0;
        }
    }

    /// The block whose turn it is, or what its process needs before.
    fn toward_block(&mut self, n: usize) -> Step {
        let case = &self.cases[self.current];
        let block = case.len(n);
        let slot = block / TURN_BLOCKS % self.slots.len();
        self.asked = Asked::Slot(slot);
        let key = case.subject.key(n);
        match self.slots[slot] {
            None => Step::Launch {
                subject: case.subject.clone(),
                n,
                launch: case.launches,
            },
            Some(Process { launch, opened }) if opened != Some(n) => Step::Open { key, launch },
            Some(Process { launch, .. }) => Step::Block(BlockStep {
                order: order::of_block(self.settings.seed, &key, case.card.arms.len(), block),
                key,
                launch,
            }),
        }
    }

    /// The next pass: memory of each arm, at smaller sizes and the largest, then a picture of each arm at the largest.
    fn pass(&self, now: Duration) -> Option<Step> {
        let case = &self.cases[self.current];
        let arms = case.card.arms.len();
        let sizes = case.memory_sizes(case.largest()?);
        let memory = if self.settings.memory {
            arms * sizes.len()
        } else {
            0
        };
        let cores = if self.settings.cores { arms } else { 0 };
        let n = case.largest()?;
        let pass = |kind, n, arm| {
            let subject = case.subject.clone();
            Some(Step::Pass(Pass {
                kind,
                subject,
                n,
                arm,
            }))
        };
        let done = case.passes_done;
        let all = u32::try_from(memory + cores).unwrap_or(u32::MAX);
        let each = case.passes_cost(n, &self.settings).checked_div(all);
        let each = each.unwrap_or_default();
        if case.end.is_some_and(|end| now.saturating_add(each) > end) {
            return None;
        }
        if done < memory {
            pass(PassKind::Memory, sizes[done / arms], done % arms)
        } else if done < memory + cores {
            pass(PassKind::Cores, n, done - memory)
        } else {
            None
        }
    }

    /// The last step led to this event; it took until `now`.
    pub fn observe(&mut self, event: &Event, now: Duration) {
        let Some(case) = self.cases.get_mut(self.current) else {
            return;
        };
        match (event, self.asked) {
            (
                Event::Piloted {
                    key,
                    nanos,
                    pilot_nanos,
                },
                _,
            ) => self.keep_pilot(Pilot {
                n: key.n,
                nanos: nanos.clone(),
                spent: Duration::from_nanos(*pilot_nanos),
                before: Duration::ZERO,
            }),
            (Event::Launched { launch, .. }, asked) => {
                case.launches = case.launches.max(launch.saturating_add(1));
                if let Asked::Slot(slot) = asked {
                    self.slots[slot] = Some(Process {
                        launch: *launch,
                        opened: None,
                    });
                }
            }
            (Event::Block { key, block }, _) => {
                let cost = now.saturating_sub(self.asked_at);
                case.keep(key.n, block, cost, self.analyst.as_ref());
            }
            (Event::Memory { .. } | Event::Cores { .. }, _)
            | (Event::Failed { .. }, Asked::Pass) => {
                case.passes_done += 1;
            }
            (Event::Failed { key, .. }, _) => case.fail(key.n),
        }
    }

    /// The last step, an opening, succeeded.
    pub fn opened(&mut self, n: usize) {
        if let Asked::Slot(slot) = self.asked
            && let Some(process) = &mut self.slots[slot]
        {
            process.opened = Some(n);
        }
    }

    /// All processes were ended.
    pub fn closed(&mut self) {
        self.slots = no_processes(self.settings.launches);
    }

    /// The last step, a pass, is not possible on this system.
    pub fn skipped(&mut self) {
        if let (Asked::Pass, Some(case)) = (self.asked, self.cases.get_mut(self.current)) {
            case.passes_done += 1;
        }
    }

    /// Time the run has taken so far, in all its sessions.
    #[must_use]
    pub fn spent(&self, now: Duration) -> Duration {
        self.before + now
    }

    /// The first checksum of a point's blocks.
    #[must_use]
    pub fn checksum_at(&self, key: &Key) -> Option<&str> {
        let is_it = |case: &&Case| {
            case.subject.experiment == key.experiment && case.subject.case == key.case
        };
        let case = self.cases.iter().find(is_it)?;
        let block = case.blocks.get(&key.n)?.first()?;
        Some(&block.checksum)
    }

    /// Time until the end, from what blocks took so far.
    #[must_use]
    pub fn time_left(&self, now: Duration) -> TimeLeft {
        let mut known = Duration::ZERO;
        let mut points_known: u32 = 0;
        let mut points_unknown: u32 = 0;
        for case in self.cases.iter().skip(self.current) {
            for (n, blocks) in self.blocks_left(case) {
                match case.block_cost(n) {
                    Some(cost) => {
                        known = known.saturating_add(cost * blocks);
                        points_known += 1;
                    }
                    None => points_unknown += 1,
                }
            }
        }
        let mean = self
            .mean_point()
            .or_else(|| known.checked_div(points_known));
        let unknown = mean.unwrap_or_default() * points_unknown;
        let passes = self.cases.iter().skip(self.current).map(|case| {
            let n = case
                .largest()
                .or(case.card.sizes.last().copied())
                .unwrap_or(0);
            case.passes_cost(n, &self.settings)
        });
        let known = known + passes.sum::<Duration>();
        let budget = self
            .settings
            .budget
            .map(|end| end.saturating_sub(self.spent(now)));
        TimeLeft {
            duration: (known + unknown).min(budget.unwrap_or(Duration::MAX)),
            points_unknown: points_unknown as usize,
        }
    }

    /// Sizes a case will still be measured at and how often, until each is looked at next; a search is taken to stay near the
    /// middle of its card.
    fn blocks_left<'case>(
        &self,
        case: &'case Case,
    ) -> impl Iterator<Item = (usize, u32)> + use<'case> {
        let wanted = self.quota.rule.at_least;
        let sizes = case.sizes_left().iter().map(move |n| {
            let wanted = case.next_look(*n).unwrap_or(0).max(wanted);
            (*n, wanted.saturating_sub(case.len(*n)))
        });
        let middle = case.card.sizes.get(case.card.sizes.len() / 2).copied();
        let probes = middle.map(|n| (n, wanted * case.search_points_left()));
        let all = sizes.chain(probes).filter(|(_, blocks)| *blocks > 0);
        all.map(|(n, blocks)| (n, u32::try_from(blocks).unwrap_or(u32::MAX)))
    }

    /// Mean time of the points measured so far.
    fn mean_point(&self) -> Option<Duration> {
        let points = self.cases.iter().map(|case| case.blocks.len());
        let points: usize = points.sum();
        let spent: Duration = self.cases.iter().map(Case::spent).sum();
        spent.checked_div(u32::try_from(points).ok()?)
    }

    fn current_case(&mut self, now: Duration) -> (&mut Case, Moment<'_>) {
        let case = &mut self.cases[self.current];
        if let (None, Some(plan), Some(budget)) = (case.end, &self.plan, self.settings.budget) {
            case.end = Some(now + plan.share(self.current, budget.saturating_sub(now)));
        }
        // The size that is measured now is among those that the passes may begin with.
        let current = case.sizes_left().first().copied();
        let largest = case.largest().max(current).unwrap_or(0);
        let is_left_out = |(key, _): &(Key, Duration)| case.subject.key(key.n) == *key;
        let is_planned = |plan: &Plan| !plan.passes_left_out.iter().any(is_left_out);
        let passes = if self.plan.as_ref().is_some_and(is_planned) {
            case.passes_cost(largest, &self.settings)
        } else {
            Duration::ZERO
        };
        let moment = Moment {
            now,
            deadline: case.end.map(|end| end.saturating_sub(passes)),
            budget: self.settings.budget,
            quota: self.quota,
            launches: self.settings.launches,
            analyst: self.analyst.as_ref(),
        };
        (case, moment)
    }
}

impl fmt::Debug for Director {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Director").finish_non_exhaustive()
    }
}

/// A place for each process that a case has at a time.
fn no_processes(launches: u32) -> Vec<Option<Process>> {
    vec![None; launches.max(1) as usize]
}

#[cfg(test)]
mod tests;
