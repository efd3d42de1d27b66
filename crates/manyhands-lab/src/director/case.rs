//! How far a case is: its points, its search, its passes. Where it goes next follows from what
//! was recorded and from the time, never from the processes that happen to live.

use super::{
    analyst::{Analyst, Measured},
    estimate::BlockCost,
    plan::Pilot,
    quota::{BLOCKS_PER_CLEAN_MAX, Quota},
    step::Subject,
};
use crate::{
    break_even::Probe,
    launcher::TRACE,
    record::{Block, CaseCard, Settings},
    verdict::StopRule,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// A case and what is known of it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) subject: Subject,
    pub(super) card: CaseCard,
    /// Blocks by size; a size without blocks may be there.
    pub(super) blocks: BTreeMap<usize, Vec<Block>>,
    /// Everything else about the sizes that were begun.
    points: BTreeMap<usize, Point>,
    /// Sizes of the card that are done with.
    scanned: usize,
    search: Search,
    /// Sizes of which the search gets no more.
    exhausted: BTreeSet<usize>,
    pub(super) passes_done: usize,
    pub(super) launches: u32,
    /// What was learned of its cost before anything was measured.
    pub(super) pilot: Option<Pilot>,
    /// With a budget, when this case must end; known once it has begun.
    pub(super) end: Option<Duration>,
}

/// A size that was begun.
#[derive(Debug)]
struct Point {
    /// Beyond the fewest, no block is begun that would end after this.
    end: Duration,
    clean: usize,
    rule: StopRule,
    /// With how many clean blocks it is looked at next; `None` once there are enough.
    next_look: Option<usize>,
    /// Time of all its blocks, with all that was not timed.
    spent: Duration,
    failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Search {
    NotBegun,
    Until(Duration),
    Over,
}

/// What a case needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// A block at this size.
    Block(usize),
    /// Whatever follows the blocks.
    Passes,
}

/// What a decision may depend on beside the case.
#[derive(Clone, Copy)]
pub(super) struct Moment<'run> {
    pub(super) now: Duration,
    /// When the sizes of the case must be done with.
    pub(super) deadline: Option<Duration>,
    /// When the run must end: a size that was begun has the fewest blocks unless this is over.
    pub(super) budget: Option<Duration>,
    pub(super) quota: Quota,
    pub(super) launches: u32,
    pub(super) analyst: &'run dyn Analyst,
}

impl Case {
    pub(super) fn new(experiment: &str, card: &CaseCard) -> Self {
        Self {
            subject: Subject {
                experiment: experiment.to_owned(),
                case: card.name.clone(),
                of: card.own_name().to_owned(),
                cpus: card.cpus,
                copies: card.copies,
                arm: card.arm,
            },
            card: card.clone(),
            blocks: BTreeMap::new(),
            points: BTreeMap::new(),
            scanned: 0,
            search: Search::NotBegun,
            exhausted: BTreeSet::new(),
            passes_done: 0,
            launches: 0,
            pilot: None,
            end: None,
        }
    }

    /// What comes next; begins a size if it is time for it.
    pub(super) fn goal(&mut self, moment: &Moment<'_>) -> Goal {
        let next = self.scan(moment).or_else(|| self.search(moment));
        next.map_or(Goal::Passes, Goal::Block)
    }

    /// The first size of the card that is not done with. A size there is no time for is done with.
    fn scan(&mut self, moment: &Moment<'_>) -> Option<usize> {
        while let Some(&n) = self.card.sizes.get(self.scanned) {
            let is_next = match self.points.get(&n) {
                Some(_) => !self.has_enough(n, moment),
                None => self.fits(n, moment),
            };
            if is_next {
                self.begin(n, moment);
                return Some(n);
            }
            self.scanned += 1;
        }
        None
    }

    fn search(&mut self, moment: &Moment<'_>) -> Option<usize> {
        if !self.card.finds_break_even {
            return None;
        }
        if self.search == Search::NotBegun {
            self.search = Search::Until(self.share_end(SEARCH_POINTS, moment));
        }
        let probe = self.probe(moment);
        match probe {
            Some(n) => self.begin(n, moment),
            None => self.search = Search::Over,
        }
        probe
    }

    /// The size the search wants, unless time is up. A size that gives no more is exhausted, and
    /// the search is asked again: each time one size less is left to ask for.
    fn probe(&mut self, moment: &Moment<'_>) -> Option<usize> {
        let Search::Until(end) = self.search else {
            return None;
        };
        if moment.now >= end {
            return None;
        }
        loop {
            let measured = Measured {
                blocks: &self.blocks,
                exhausted: &self.exhausted,
            };
            let Probe { n, blocks } = moment.analyst.probe(&self.card, measured)?;
            if self.gives_more(n, blocks, moment) {
                return Some(n);
            }
            if !self.exhausted.insert(n) {
                return None;
            }
        }
    }

    fn gives_more(&self, n: usize, wanted: usize, moment: &Moment<'_>) -> bool {
        match self.points.get(&n) {
            Some(point) => !point.failed && self.len(n) < wanted * BLOCKS_PER_CLEAN_MAX,
            None => self.fits(n, moment),
        }
    }

    fn begin(&mut self, n: usize, moment: &Moment<'_>) {
        if !self.points.contains_key(&n) {
            let rule = match self.card.finds_break_even {
                true => moment.quota.in_search,
                false => moment.quota.rule,
            };
            let point = Point {
                rule,
                end: self.share_end(1, moment),
                clean: 0,
                next_look: Some(rule.at_least),
                spent: Duration::ZERO,
                failed: false,
            };
            self.points.insert(n, point);
        }
    }

    /// When this many points have had their share of what is left of the budget; without a budget,
    /// when patience ends. What the sizes that come after need at least is not shared.
    fn share_end(&self, points: usize, moment: &Moment<'_>) -> Duration {
        let patience = moment.quota.patience * u32::try_from(points).unwrap_or(u32::MAX);
        let share = moment.deadline.map_or(patience, |deadline| {
            let still = self.sizes_left().len() + self.search_points_left();
            let (part, all) = (points, still.max(points));
            let left = deadline.saturating_sub(moment.now);
            let (own, later) = self.needed(left, moment);
            own + (left - own - later).mul_f64(part as f64 / all as f64)
        });
        moment.now.saturating_add(share.min(patience))
    }

    /// Time of the fewest blocks at the size that comes next, and at those after it, as many as fit.
    fn needed(&self, left: Duration, moment: &Moment<'_>) -> (Duration, Duration) {
        let cost = |n: &usize| self.point_cost(*n, moment.quota, moment.launches);
        let mut costs = self.sizes_left().iter().map(cost);
        let own = costs.next().unwrap_or_default().min(left);
        let fits = |later: Duration| own.saturating_add(later) <= left;
        let later = costs.scan(Duration::ZERO, |sum, cost| {
            *sum = sum.saturating_add(cost);
            fits(*sum).then_some(*sum)
        });
        (own, later.last().unwrap_or_default())
    }

    /// Whether the fewest blocks should end before the deadline.
    fn fits(&self, n: usize, moment: &Moment<'_>) -> bool {
        let Some(deadline) = moment.deadline else {
            return true;
        };
        let needed = self.point_cost(n, moment.quota, moment.launches);
        moment.now < deadline && moment.now.saturating_add(needed) <= deadline
    }

    fn has_enough(&self, n: usize, moment: &Moment<'_>) -> bool {
        let blocks = self.len(n);
        let Some(point) = self.points.get(&n) else {
            return false;
        };
        let is_late = moment.budget.is_some_and(|end| moment.now >= end);
        if point.failed || (is_late && blocks > 0) {
            return true;
        }
        let quota = moment.quota;
        let is_worth_more = |look| blocks < look * BLOCKS_PER_CLEAN_MAX;
        let ends = || {
            moment
                .now
                .saturating_add(self.block_cost(n).unwrap_or_default())
        };
        blocks >= quota.min && (!point.next_look.is_some_and(is_worth_more) || ends() > point.end)
    }

    /// Keeps a block that was taken at the size that was the goal.
    pub(super) fn keep(&mut self, n: usize, block: &Block, cost: Duration, analyst: &dyn Analyst) {
        let blocks = self.blocks.entry(n).or_default();
        blocks.push(block.clone());
        if let Some(point) = self.points.get_mut(&n) {
            point.clean = analyst.clean(&self.card, blocks);
            point.spent += cost;
            if let Some(look) = point.next_look.filter(|look| point.clean >= *look) {
                let is_decided = analyst.is_decided(&self.card, n, blocks);
                point.next_look = point.rule.next_look(look, is_decided);
            }
        }
    }

    /// The size gives nothing.
    pub(super) fn fail(&mut self, n: usize) {
        if let Some(point) = self.points.get_mut(&n) {
            point.failed = true;
        }
    }

    /// A record says that this size was the goal, whatever the time says.
    pub(super) fn go_to(&mut self, n: usize, moment: &Moment<'_>) {
        if self.goal(moment) == Goal::Block(n) {
            return;
        }
        let at = self.card.sizes.iter().position(|size| *size == n);
        match at.filter(|at| *at >= self.scanned) {
            Some(at) => self.scanned = at,
            None => {
                self.scanned = self.card.sizes.len();
                self.search = Search::Until(self.share_end(SEARCH_POINTS, moment));
            }
        }
        self.begin(n, moment);
    }

    /// A record says that the passes had begun.
    pub(super) fn go_to_passes(&mut self) {
        self.scanned = self.card.sizes.len();
        self.search = Search::Over;
    }

    /// Blocks at a size.
    pub(super) fn len(&self, n: usize) -> usize {
        self.blocks.get(&n).map_or(0, Vec::len)
    }

    /// With how many clean blocks a size is looked at next, if it was begun and has not enough.
    pub(super) fn next_look(&self, n: usize) -> Option<usize> {
        self.points.get(&n)?.next_look
    }

    /// The largest size that has blocks.
    pub(super) fn largest(&self) -> Option<usize> {
        self.blocks.last_key_value().map(|(n, _)| *n)
    }

    /// Sizes of the card that are still to come, the current one included.
    pub(super) fn sizes_left(&self) -> &[usize] {
        &self.card.sizes[self.scanned..]
    }

    /// Points the search may still ask for.
    pub(super) fn search_points_left(&self) -> usize {
        let is_over = !self.card.finds_break_even || self.search == Search::Over;
        if is_over { 0 } else { SEARCH_POINTS }
    }

    /// Time of all blocks.
    pub(super) fn spent(&self) -> Duration {
        self.points.values().map(|point| point.spent).sum()
    }

    /// Time of the fewest blocks at a size, with opening it in all processes.
    pub(super) fn point_cost(&self, n: usize, quota: Quota, launches: u32) -> Duration {
        let blocks = u32::try_from(quota.min).unwrap_or(u32::MAX);
        let of_point = |cost: BlockCost| cost.whole() * blocks + cost.opening() * launches;
        self.cost(n).map_or(Duration::ZERO, of_point)
    }

    /// The size at which the case is to be tried next, to plan for a budget; `None` once that is known well enough.
    pub(super) fn pilot_size(&self) -> Option<usize> {
        match &self.pilot {
            Some(pilot) => pilot.next_size(&self.card),
            None => Pilot::first_size(&self.card),
        }
    }

    /// Time to start a process.
    pub(super) fn launch_cost(&self) -> Duration {
        let known = self.pilot.as_ref().map(Pilot::launch_cost);
        known.unwrap_or(LAUNCH)
    }

    /// The sizes at which memory is measured, one after the other: three of them, so that what an item takes
    /// can be separated from what a call takes, and each several times, so that one knows how sure that
    /// is. Only the largest where that is small.
    pub(super) fn memory_sizes(&self, largest: usize) -> Vec<usize> {
        if largest < SLOPE_MIN {
            return vec![largest; READINGS];
        }
        [largest / 4, largest / 2, largest].repeat(READINGS)
    }

    /// Time of the untimed passes at a size.
    pub(super) fn passes_cost(&self, n: usize, settings: &Settings) -> Duration {
        let arms = u32::try_from(self.card.arms.len()).unwrap_or(u32::MAX);
        let call = |n| self.block_cost(n).unwrap_or_default() / (arms + 1);
        let start = |n| (self.launch_cost() + call(n)) * arms;
        let memory = if settings.memory {
            self.memory_sizes(n).into_iter().map(start).sum()
        } else {
            Duration::ZERO
        };
        let cores = if settings.cores {
            start(n) + TRACE * arms
        } else {
            Duration::ZERO
        };
        memory + cores
    }

    /// Time of one block at a size.
    pub(super) fn block_cost(&self, n: usize) -> Option<Duration> {
        self.cost(n).map(|cost| cost.whole())
    }

    /// Judged from the nearest smaller size that has blocks, or else the nearest larger one.
    fn cost(&self, n: usize) -> Option<BlockCost> {
        let mut below = self.blocks.range(..=n).rev();
        let mut above = self.blocks.range(n..);
        let Some((known, blocks)) = below.next().or_else(|| above.next()) else {
            return self.pilot.as_ref()?.cost(n);
        };
        let spent = self.points.get(known)?.spent;
        BlockCost::of(blocks, spent, n as f64 / (*known).max(1) as f64)
    }
}

/// Points of the card that a search costs about as much as.
const SEARCH_POINTS: usize = 6;
/// Time to start a process, where it was not seen.
const LAUNCH: Duration = Duration::from_millis(100);
/// How often the memory of an arm is measured at each size.
const READINGS: usize = 3;
/// Fewer items have no slope worth the name.
const SLOPE_MIN: usize = 64;
