//! A loop over an iterator.
//!
//! Runners take turns at the iterator (`turns.rs`): each pulls a chunk in its turn, and runs the bodies after it. Chunks
//! grow from one item while bodies and pulls are quick. The caller begins alone, straight from the iterator, and opens
//! the call to helpers when that pays; at once where the first item of an earlier call was long. A helper waits for its
//! turn about as long as a wake takes, and then leaves until the turn has ended: the iterator may wait, also for a task of
//! the same pool.
//!
//! Not here: the iterator as a source (`iterator.rs`), whose turn it is (`turns.rs`), and how helpers reach a call
//! (`runtime/fork_join/open_call.rs`).

use crate::call_site::CallSiteProfile;
use crate::engine::{
    Consumer, HelperPolicy, Plan, Rate, RateProbe, Runner, SharingPlan, cost, pays_to_share,
};
use crate::job::{Payload, catch, resume_all};
use crate::parallel::source::to_usize;
use crate::parallel::source::turns::Turns;
use crate::recording::{self, LoopObserver, RunnerObserver, RunsAlone, Unobserved};
use crate::runtime::sleep::blocking;
use crate::runtime::{
    Helped, HelpedWork, HelperSlot, OccupiedSlot, OpenCall, Pool, YieldCheck, current, policy,
    series,
};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, clock, into_inner, lock, spin_loop};
use std::mem;

/// The iterator and its position.
pub(super) struct Pull<I: Iterator> {
    /// `None` when it has ended, or panicked.
    iterator: Option<I>,
    next: u64,
    /// The items before the next one that nobody has run yet.
    taken: Vec<I::Item>,
    /// How many ticks the caller took for its first item, if it began alone and the iterator is not slow.
    first_took: u64,
}

/// What the caller does first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It runs items alone until sharing pays.
    Probe,
    /// It opens the loop to helpers.
    Share,
}

/// How many items are pulled at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    /// One, then as many as take about as long as a block; this many at most.
    UpTo(u32),
    /// A leaf, whose length depends on its position alone.
    Leaf,
}

impl Chunk {
    /// How many items are pulled at this position, where `size` would be right.
    fn at(self, position: u64, size: u64) -> usize {
        let size = match self {
            Self::UpTo(most) => size.min(most.into()),
            Self::Leaf => (position / LEAVES_BEFORE).clamp(1, LEAF_LEN_MAX),
        };
        to_usize(size)
    }
}

impl<I: Iterator<Item: Send> + Send> Pull<I> {
    pub(super) fn of(iterator: I) -> Self {
        Self {
            iterator: Some(iterator),
            next: 0,
            taken: Vec::new(),
            first_took: 0,
        }
    }

    /// Runs all items, recorded if recording is open.
    pub(super) fn observe<C: Consumer<I::Item>>(
        self,
        consumer: &C,
        plan: &Plan<'_>,
        how: (First, Chunk),
    ) {
        if recording::is_open() {
            recording::during_loop::<C>(None, plan.site, |record| {
                self.run(consumer, &plan.sharing, how, record);
            });
        } else {
            self.run(consumer, &plan.sharing, how, Unobserved);
        }
    }

    fn run<C: Consumer<I::Item>, O: LoopObserver>(
        self,
        consumer: &C,
        plan: &SharingPlan<'_>,
        (first, chunk): (First, Chunk),
        observer: O,
    ) {
        let mut runner = Runner::new(consumer);
        match first {
            First::Probe => self.probe(&mut runner, plan, chunk, observer),
            First::Share => share(self, &mut runner, plan, chunk, observer),
        }
        runner.finish();
    }

    /// Runs items alone until sharing pays; none where the first item of an earlier call was long.
    fn probe<C: Consumer<I::Item>, O: LoopObserver>(
        mut self,
        runner: &mut Runner<'_, I::Item, C>,
        plan: &SharingPlan<'_>,
        chunk: Chunk,
        observer: O,
    ) {
        let alone = (plan.degree == Some(1)).then_some(RunsAlone::OneAllowed);
        let site = CallSiteProfile::of(Self::probe::<C, O> as *const () as usize);
        let iterator = self.iterator.as_ref();
        let are_several = iterator.is_some_and(|items| may_exceed(items, 1));
        if alone.is_none() && are_several && site.must_be_shared() {
            let begun = clock::ticks();
            share(self, runner, plan, chunk, observer);
            if !cost::is_worth_a_wake(clock::ticks().saturating_sub(begun)) {
                site.share_next(0);
            }
            return;
        }
        let is_to_be_shared = self.run_alone(runner, alone, chunk, observer);
        if cost::is_worth_a_wake(self.first_took) {
            site.share_next(cost::BACKOFF_MAX);
        }
        if is_to_be_shared {
            share(self, runner, plan, chunk, observer);
        }
    }
}

impl<I: Iterator> Pull<I> {
    /// Runs what was taken, and then items straight from the iterator until it ends, or for so long that the rest is better
    /// shared: then true. It is never if there is a reason to run `alone`.
    fn run_alone<C: Consumer<I::Item>>(
        &mut self,
        runner: &mut Runner<'_, I::Item, C>,
        alone: Option<RunsAlone>,
        chunks: Chunk,
        observer: impl LoopObserver,
    ) -> bool {
        let consumer = runner.consumer;
        let mut part = observer.caller_alone();
        if !self.taken.is_empty() {
            let taken = mem::take(&mut self.taken);
            let count = taken.len() as u64;
            let positions = self.next - count..self.next;
            consumer.consume(runner.state(), positions, taken.into_iter());
            part.block(count);
        }
        let mut probe = RateProbe::begin(Rate::UNKNOWN);
        let Some(iterator) = &mut self.iterator else {
            return false;
        };
        let mut because = alone.unwrap_or(RunsAlone::TooShort);
        let mut look_at = 0;
        let mut chunk = Vec::new();
        while self.next < consumer.end() {
            let block = chunks.at(self.next, probe.block);
            let positions = self.next..self.next + block as u64;
            // Nobody knows how much is left: as much again is assumed.
            let spent = probe.spent();
            let looks = spent > 0 && alone.is_none() && spent >= look_at && pays_to_share(spent);
            let mut taken = 0;
            // No leaf is empty.
            if looks || chunks == Chunk::Leaf {
                let begun = clock::ticks();
                chunk.extend(iterator.by_ref().take(block));
                taken = chunk.len();
                if taken == 0 {
                    break;
                }
                let taking = Rate::of(clock::ticks().saturating_sub(begun), taken as u64);
                // The others have taken as long; their bodies may not.
                let can_share = cost::can_share(probe.spent(), taking.ticks_for(self.next));
                if looks && can_share && taken == block && may_exceed(iterator, 0) {
                    self.next += taken as u64;
                    self.taken = chunk;
                    return true;
                }
                if looks && !can_share {
                    because = RunsAlone::SourceSlow;
                    self.first_took = 0;
                    look_at = 2 * probe.spent();
                }
                consumer.consume(runner.state(), positions, chunk.drain(..));
            } else {
                let counted = iterator.by_ref().take(block).inspect(|_| taken += 1);
                consumer.consume(runner.state(), positions, counted);
            }
            self.next += taken as u64;
            part.block(taken as u64);
            if taken < block {
                break;
            }
            probe.measure(taken as u64, 0);
            if self.next == 1 {
                self.first_took = probe.spent();
            }
        }
        drop(part);
        probe.end(self.next);
        observer.alone(because);
        false
    }

    /// Pulls up to `max` items into `chunk`, or those that were taken; returns the position of the first.
    fn fill(&mut self, chunk: &mut Vec<I::Item>, max: usize) -> Result<u64, Payload> {
        if !self.taken.is_empty() {
            mem::swap(&mut self.taken, chunk);
            return Ok(self.next - chunk.len() as u64);
        }
        let first = self.next;
        // Taken out, so that a panic leaves none behind: the iterator is then dropped, once.
        let Some(mut iterator) = self.iterator.take() else {
            return Ok(first);
        };
        self.iterator = catch(|| {
            chunk.extend(iterator.by_ref().take(max));
            // An iterator that has ended is dropped here, where its destructor may panic.
            (chunk.len() == max).then_some(iterator)
        })?;
        self.next += chunk.len() as u64;
        Ok(first)
    }
}

/// Whether the iterator may have more than `most` items, as far as it says.
fn may_exceed(iterator: &impl Iterator, most: usize) -> bool {
    iterator.size_hint().1.is_none_or(|len| len > most)
}

/// The remaining items of an iterator.
struct SharedPull<'a, I: Iterator, C: Consumer<I::Item>, O> {
    consumer: &'a C,
    /// Where helpers find the call.
    helper_slot: &'static HelperSlot,
    pull: Turns<Pull<I>>,
    chunk: Chunk,
    /// Current runners, the owner included.
    runners: AtomicUsize,
    runners_max: usize,
    stopped: AtomicBool,
    /// Of all runners.
    panics: Mutex<Vec<Payload>>,
    observer: O,
}

/// Runs the remaining items of the iterator, with helpers.
fn share<I, C, O>(
    mut pull: Pull<I>,
    runner: &mut Runner<'_, I::Item, C>,
    plan: &SharingPlan<'_>,
    chunk: Chunk,
    observer: O,
) where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    current::with_slot(|slot| {
        let Some(place) = slot.and_then(OpenCall::next) else {
            pull.run_alone(runner, Some(RunsAlone::NoPlace), chunk, observer);
            return;
        };
        let OpenCall { slot, helper_slot } = place;
        let runtime = slot.runtime();
        let workers = runtime.idle.limit;
        observer.opens(plan.degree.unwrap_or(workers));
        let call = Helped::new(SharedPull {
            consumer: runner.consumer,
            helper_slot,
            pull: Turns::new(pull),
            chunk,
            runners: AtomicUsize::new(1),
            runners_max: cost::runners_max(plan.degree, workers, HelperPolicy::AtOnce),
            stopped: AtomicBool::new(false),
            panics: Mutex::new(Vec::new()),
            observer,
        });
        call.keep_open(Some(place), |shared| {
            runtime.arm_monitor();
            // Of one that may come, nobody knows how much it would save.
            let left = (plan.helpers == HelperPolicy::WhenItPays).then_some(0);
            if policy::wakes(left, 1, 1, runtime.seen()) > 0 {
                runtime.wake_one();
            }
            let part = observer.runner(slot.worker());
            shared.work(slot, runner, Leave::Never, part);
        });
        series::note_end(clock::ticks());
        resume_all(into_inner(call.work.panics));
    });
}

/// When a runner leaves before the end.
enum Leave<'a> {
    /// The owner does not.
    Never,
    /// A helper does, when its attention is wanted elsewhere, or while others keep the iterator.
    Early(Option<&'a mut YieldCheck>),
}

impl<I, C, O> SharedPull<'_, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    /// Pulls and runs chunks until the iterator ends, or it is to leave.
    fn work(
        &self,
        slot: &OccupiedSlot,
        runner: &mut Runner<'_, I::Item, C>,
        mut leave: Leave<'_>,
        mut part: O::Runner,
    ) {
        let mut size = 1;
        let mut chunk = Vec::new();
        // Relaxed: a runner may see the stop a chunk late.
        while !self.stopped.load(Ordering::Relaxed) {
            let begun = clock::ticks();
            let Some(mut pull) = self.begin_turn(slot, &leave) else {
                return;
            };
            // Beyond the end nothing is pulled: the iterator may wait for an item that will never be sent.
            let filled = if pull.next < self.consumer.end() {
                let size = self.chunk.at(pull.next, u64::from(size));
                pull.fill(&mut chunk, size)
            } else {
                Ok(pull.next)
            };
            self.pull.end(pull, || {
                // Some helpers have left because this runner kept the iterator.
                self.helper_slot.invite();
                slot.runtime().wake_if_nobody_searches();
            });
            part.took_items();
            let first = match filled {
                Ok(first) => first,
                Err(payload) => {
                    self.note_panic(payload);
                    return self.discard(chunk);
                }
            };
            if chunk.is_empty() || first >= self.consumer.end() {
                self.discard(chunk);
                break;
            }
            let pulled = chunk.len();
            if let Err(payload) = catch(|| {
                let positions = first..first + pulled as u64;
                self.consumer
                    .consume(runner.state(), positions, chunk.drain(..));
            }) {
                return self.note_panic(payload);
            }
            part.block(pulled as u64);
            let rate = Rate::of(clock::ticks().saturating_sub(begun), pulled as u64);
            size = cost::next_block(rate, size);
            slot.counters.finished.bump();
            if let Leave::Early(Some(attention)) = &mut leave
                && attention.is_wanted()
            {
                // All that it has pulled was run. Relaxed: only the number matters.
                self.runners.fetch_sub(1, Ordering::Relaxed);
                return self.helper_slot.invite();
            }
        }
        self.helper_slot.dismiss();
    }

    /// The next turn at the iterator; `None` for a helper that leaves.
    fn begin_turn(
        &self,
        slot: &OccupiedSlot,
        leave: &Leave<'_>,
    ) -> Option<MutexGuard<'_, Pull<I>>> {
        if let Some(turn) = self.pull.try_begin() {
            return Some(turn);
        }
        slot.counters.contended.bump();
        loop {
            let (begun, patience) = (clock::ticks(), slot.runtime().wake_latency());
            while clock::ticks().abs_diff(begun) < patience {
                (0..SPINS_BETWEEN_LOOKS).for_each(|_| spin_loop());
                if let Some(turn) = self.pull.try_begin() {
                    return Some(turn);
                }
            }
            if let Leave::Never = leave {
                return Some(blocking(|| self.pull.begin()));
            }
            let (dismiss, invite) = (|| self.helper_slot.dismiss(), || self.helper_slot.invite());
            if self.pull.leave(dismiss, invite) {
                // Relaxed: only the number matters.
                self.runners.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
        }
    }

    /// Drops items that are not run. Their drops are the caller's code, and may panic.
    fn discard(&self, items: Vec<I::Item>) {
        if let Err(payload) = catch(|| drop(items)) {
            self.note_panic(payload);
        }
    }
}

impl<I, C, O> HelpedWork for SharedPull<'_, I, C, O>
where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    fn help(&self, slot: Option<&'static OccupiedSlot>) {
        let Some(slot) = slot else { return };
        // Relaxed: only the number matters.
        if self.runners.fetch_add(1, Ordering::Relaxed) >= self.runners_max {
            self.helper_slot.dismiss();
            // Relaxed: as above.
            if self.runners.fetch_sub(1, Ordering::Relaxed) <= self.runners_max {
                // A runner has left meanwhile.
                self.helper_slot.invite();
            }
            return;
        }
        // Other helpers may be of use too, and the caller may be in the middle of a long item.
        slot.runtime().wake_if_nobody_searches();
        let mut attention = YieldCheck::of(slot);
        let mut runner = Runner::new(self.consumer);
        let part = self.observer.runner(slot.worker());
        let leave = Leave::Early(attention.as_mut());
        self.work(slot, &mut runner, leave, part);
        runner.finish();
    }

    fn note_panic(&self, payload: Payload) {
        lock(&self.panics).push(payload);
        // Relaxed: see `work`.
        self.stopped.store(true, Ordering::Relaxed);
        self.consumer.note_panic();
        self.helper_slot.dismiss();
    }
}

/// Most items pulled at once.
pub(super) const CHUNK_MAX: usize = 1024;
/// A leaf of a deterministic reduction is at most one part in so many of the items before it, so that few heavy ones are divided;
const LEAVES_BEFORE: u64 = 128;
/// and at most so many items.
const LEAF_LEN_MAX: u64 = 256;
/// A look at the iterator's lock would disturb its holder.
const SPINS_BETWEEN_LOOKS: usize = 16;
