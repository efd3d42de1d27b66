//! Which thread runs next.
//!
//! The seed also chooses one of several styles of choosing. In one, the running thread is preempted at each
//! access with some probability, high or low. In the other, threads have priorities: the highest runnable one runs, and
//! at a few random accesses the running thread gets the lowest priority (PCT: Burckhardt and others, "A Randomized
//! Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010). A spinning thread yields.

use super::{CLOCK, WORLD, World};

/// How threads are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Style {
    /// The running thread is preempted once in about this number of accesses.
    Random(u64),
    /// By priorities.
    #[default]
    Priorities,
}

impl World {
    /// Begins a schedule's choices.
    pub(super) fn choose_style(&self) {
        let style = match self.below(6) {
            0 => Style::Random(1),
            1 => Style::Random(4),
            2 => Style::Random(32),
            _ => Style::Priorities,
        };
        self.style.set(style);
        let mut changes: Vec<u64> = (0..self.below(PRIORITY_CHANGES_MAX + 1))
            .map(|_| {
                let range = 64 << self.below(10);
                self.below(range)
            })
            .collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        let mut lists = self.lists.borrow_mut();
        lists.priorities.clear();
        lists.lowest = u64::MAX / 2;
        lists.changes = changes;
        lists.turn_end = TURN_MAX;
    }

    /// The scheduler asks which thread runs next.
    fn choose(&self, runnable: &[usize], yields: bool) -> usize {
        self.charge();
        let current = self.current.get();
        let others = || runnable.iter().copied().filter(|&thread| thread != CLOCK);
        let count = others().count();
        let chosen = if count == 0 {
            runnable[0]
        } else if let Style::Random(apart) = self.style.get() {
            self.until_choice.set(self.distance(apart));
            let gives_way = yields && count > 1;
            let count = count - usize::from(gives_way && runnable.contains(&current));
            let mut open = others().filter(|&thread| !(gives_way && thread == current));
            open.nth(self.below(count as u64) as usize)
                .expect("counted")
        } else {
            self.choose_by_priority(others(), yields)
        };
        self.current.set(chosen);
        chosen
    }

    /// How many accesses pass until the next choice, if one is made once in about `apart`.
    fn distance(&self, apart: u64) -> u64 {
        if apart == 1 {
            return 0;
        }
        (0..).find(|_| self.one_in(apart)).unwrap_or(0)
    }

    fn choose_by_priority(&self, others: impl Iterator<Item = usize>, yields: bool) -> usize {
        let mut lists = self.lists.borrow_mut();
        let lists = &mut *lists;
        let (points, current) = (self.points.get(), self.current.get());
        // A thread that runs for very long waits for another one, even if it does not yield.
        let mut is_lowered = yields || points >= lists.turn_end;
        while lists.changes.last().is_some_and(|&change| change <= points) {
            lists.changes.pop();
            is_lowered = true;
        }
        let others: Vec<usize> = others.collect();
        let end = others.iter().max().map_or(0, |&last| last + 1);
        while lists.priorities.len() < end.max(current + 1) {
            lists.priorities.push(self.next_random() / 2 + u64::MAX / 2);
        }
        if is_lowered {
            lists.lowest -= 1;
            lists.priorities[current] = lists.lowest;
        }
        let chosen = others
            .into_iter()
            .max_by_key(|&thread| lists.priorities[thread])
            .expect("somebody can run");
        if is_lowered || chosen != current {
            lists.turn_end = points + TURN_MAX;
        }
        let next_change = lists.changes.last().copied().unwrap_or(u64::MAX);
        self.until_choice
            .set(next_change.min(lists.turn_end) - points);
        chosen
    }
}

/// The scheduler that `shuttle` asks at each point where another thread may be chosen.
#[derive(Debug)]
pub(crate) struct Chooser<B>(pub(crate) B);

impl<B: FnMut() -> bool> shuttle::scheduler::Scheduler for Chooser<B> {
    fn new_execution(&mut self) -> Option<shuttle::scheduler::Schedule> {
        let begins = (self.0)();
        begins.then(|| shuttle::scheduler::Schedule::new(0))
    }

    fn next_task(
        &mut self,
        tasks: &[&shuttle::scheduler::Task],
        _current: Option<shuttle::scheduler::TaskId>,
        yields: bool,
    ) -> Option<shuttle::scheduler::TaskId> {
        // A parked thread is not woken for no reason.
        let runnable: Vec<usize> = tasks
            .iter()
            .filter(|task| task.runnable())
            .map(|task| task.id().into())
            .collect();
        let chosen = WORLD.with(|world| world.choose(&runnable, yields));
        Some(chosen.into())
    }

    fn next_u64(&mut self) -> u64 {
        WORLD.with(World::next_random)
    }
}

/// The most times that the running thread gets the lowest priority for no reason.
const PRIORITY_CHANGES_MAX: u64 = 4;
/// The most accesses of one thread before it gets the lowest priority.
const TURN_MAX: u64 = 5_000;
