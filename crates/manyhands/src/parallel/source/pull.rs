//! A loop over an iterator.
//!
//! Runners take turns at the iterator (`turns.rs`): each pulls a chunk in its turn, and runs the bodies after it. Chunks
//! grow from one item while bodies and pulls are quick. The caller begins alone, straight from the iterator, and opens
//! the call to helpers when that pays; at once where the first item of an earlier call was long. A helper waits for its
//! turn about as long as a wake takes, and then leaves until the turn has ended: the iterator may wait, also for a task of
//! the same pool.
//!
//! Not here: the iterator as a source (`iterator.rs`), its first item where that is long (`beginning.rs`), whose turn it is
//! (`turns.rs`), and how helpers reach a call (`runtime/fork_join/open_call.rs`).

use crate::call_site::CallSiteProfile;
use crate::engine::{
    Consumer, HelperPolicy, Plan, Rate, RateProbe, Runner, SharingPlan, cost, pays_to_share,
};
use crate::job::{Payload, catch, resume_all};
use crate::parallel::source::beginning::begin;
use crate::parallel::source::to_usize;
use crate::parallel::source::turns::Turns;
use crate::recording::{self, LoopObserver, RunnerObserver, RunsAlone, Unobserved};
use crate::runtime::sleep::blocking;
use crate::runtime::{
    CallerThread, Helped, HelpedWork, HelperSlot, OccupiedSlot, OpenCall, Pool, YieldCheck,
    current, policy, series, wait,
};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Parker, clock, into_inner, lock, spin_loop};
use std::{mem, vec};

/// The iterator and its position.
pub(super) struct Pull<I: Iterator> {
    /// `None` when it has ended, or panicked.
    iterator: Option<I>,
    next: u64,
    /// Items that were taken, and not run yet, with the position of the first of each list.
    taken: Vec<(u64, vec::IntoIter<I::Item>)>,
    /// To take the items takes longer than to run them.
    pub(super) is_slow: bool,
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
    UpTo(usize),
    /// A leaf, whose length depends on its position alone; this many at most.
    Leaf(usize),
}

impl Chunk {
    /// How many items are pulled at this position, where `size` would be right.
    fn at(self, position: u64, size: u64) -> usize {
        let (size, most) = match self {
            Self::UpTo(most) => (size, most),
            Self::Leaf(most) => ((position / LEAVES_BEFORE).clamp(1, LEAF_LEN_MAX), most),
        };
        to_usize(size.min(most as u64))
    }

    /// The items of a part of so many.
    fn part_of(self, block: usize) -> usize {
        match self {
            Self::UpTo(_) => block.div_ceil(PARTS),
            Self::Leaf(_) => block,
        }
    }
}

impl<I: Iterator<Item: Send> + Send> Pull<I> {
    pub(super) fn new(iterator: Option<I>) -> Self {
        Self {
            iterator,
            next: 0,
            taken: Vec::new(),
            is_slow: false,
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
        mut self,
        consumer: &C,
        plan: &SharingPlan<'_>,
        (first, chunk): (First, Chunk),
        observer: O,
    ) {
        let mut runner = Runner::new(consumer);
        match first {
            First::Share => share(self, &mut runner, plan, chunk, observer),
            First::Probe if plan.degree == Some(1) || !self.may_exceed(1) => {
                let alone = (plan.degree == Some(1)).then_some(RunsAlone::OneAllowed);
                let probe = RateProbe::begin(Rate::UNKNOWN);
                self.go_on(&mut runner, (probe, alone), (plan, chunk, observer));
            }
            First::Probe => {
                let site = CallSiteProfile::of(Self::run::<C, O> as *const () as usize);
                if !site.must_be_shared() {
                    return begin(self, consumer, site, (plan, chunk, observer));
                }
                let begun = clock::ticks();
                share(self, &mut runner, plan, chunk, observer);
                if !cost::is_worth_a_wake(clock::ticks().saturating_sub(begun)) {
                    site.share_next(0);
                }
            }
        }
        runner.finish();
    }

    /// Takes the first item, before anything else is done.
    pub(super) fn first(&mut self) -> Option<I::Item> {
        let first = self.iterator.as_mut()?.next()?;
        self.next = 1;
        Some(first)
    }

    /// Whether the iterator may have more than `most` items, as far as it says.
    fn may_exceed(&self, most: usize) -> bool {
        let iterator = self.iterator.as_ref();
        iterator.is_some_and(|items| items.size_hint().1.is_none_or(|len| len > most))
    }

    /// Runs the rest: alone, until sharing pays, or to its end if there is a reason for that.
    pub(super) fn go_on<C: Consumer<I::Item>, O: LoopObserver>(
        &mut self,
        runner: &mut Runner<'_, I::Item, C>,
        how: (RateProbe, Option<RunsAlone>),
        (plan, chunk, observer): (&SharingPlan<'_>, Chunk, O),
    ) {
        if self.run_alone(runner, how, chunk, observer) {
            let rest = mem::replace(self, Self::new(None));
            share(rest, runner, plan, chunk, observer);
        }
    }
}

impl<I: Iterator> Pull<I> {
    /// Runs what was taken, and then items straight from the iterator until it ends, or for so long that the rest is better
    /// shared: then true. It is never if there is a reason to run `alone`.
    fn run_alone<C: Consumer<I::Item>>(
        &mut self,
        runner: &mut Runner<'_, I::Item, C>,
        (mut probe, alone): (RateProbe, Option<RunsAlone>),
        chunks: Chunk,
        observer: impl LoopObserver,
    ) -> bool {
        let consumer = runner.consumer;
        let mut part = observer.caller_alone();
        for (first, taken) in mem::take(&mut self.taken) {
            let count = taken.len() as u64;
            consumer.consume(runner.state(), first..first + count, taken);
            part.block(count);
        }
        let Some(iterator) = &mut self.iterator else {
            return false;
        };
        let mut because = alone.unwrap_or(RunsAlone::TooShort);
        let mut look_at = 0;
        let mut chunk = Vec::new();
        let thread = CallerThread::current().filter(|_| alone.is_none());
        let monitor_looks = || thread.map_or(0, |thread| thread.calls.looks());
        while self.next < consumer.end() {
            let block = chunks.at(self.next, probe.block);
            // Nobody knows how much is left: as much again is assumed.
            let spent = probe.spent();
            let looks = spent > 0 && alone.is_none() && spent >= look_at && pays_to_share(spent);
            // Then the block goes on: its items are no longer what they were.
            let cut_at = monitor_looks() + 2;
            let is_cut = || monitor_looks() >= cut_at;
            let done;
            // No leaf is empty.
            if looks || matches!(chunks, Chunk::Leaf(_)) {
                let begun = clock::ticks();
                chunk.extend(iterator.by_ref().take(block));
                let taken = chunk.len();
                if taken == 0 {
                    break;
                }
                let taking = Rate::of(clock::ticks().saturating_sub(begun), taken as u64);
                // The others have taken as long; their bodies may not.
                let can_share = cost::can_share(probe.spent(), taking.ticks_for(self.next));
                if looks && can_share && taken == block && iterator.size_hint().1 != Some(0) {
                    self.taken.push((self.next, chunk.into_iter()));
                    self.next += taken as u64;
                    return true;
                }
                if looks && !can_share {
                    because = RunsAlone::SourceSlow;
                    self.is_slow = true;
                    look_at = 2 * probe.spent();
                }
                let mut items = chunk.drain(..);
                let part_len = chunks.part_of(block);
                done = run_parts(runner, self.next, &mut items, (block, part_len), is_cut);
                if is_cut() && items.len() > 0 {
                    part.block(done);
                    let rest: Vec<_> = items.collect();
                    self.taken.push((self.next + done, rest.into_iter()));
                    self.next += taken as u64;
                    return true;
                }
            } else {
                let part_len = chunks.part_of(block);
                done = run_parts(runner, self.next, iterator, (block, part_len), is_cut);
            }
            self.next += done;
            part.block(done);
            probe.measure(done, 0);
            if is_cut() {
                probe.block = 1;
            } else if done < block as u64 {
                break;
            }
        }
        drop(part);
        probe.end(self.next);
        observer.alone(because);
        false
    }

    /// Moves up to `max` items into `chunk`, those that were taken before others, of which none is pulled that lies beyond `end`:
    /// the iterator may wait for an item that will never be sent. Returns the position of the first.
    fn fill(&mut self, chunk: &mut Vec<I::Item>, max: usize, end: u64) -> Result<u64, Payload> {
        if let Some((next, items)) = self.taken.last_mut() {
            let first = *next;
            chunk.extend(items.take(max));
            *next += chunk.len() as u64;
            if items.len() == 0 {
                self.taken.pop();
            }
            return Ok(first);
        }
        let first = self.next;
        if first >= end {
            return Ok(first);
        }
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

/// Runs up to `most` items from this position on, in parts, until `is_over` between two of them. Returns how many it has taken.
#[inline]
fn run_parts<T, C: Consumer<T>>(
    runner: &mut Runner<'_, T, C>,
    first: u64,
    items: &mut impl Iterator<Item = T>,
    (most, part_len): (usize, usize),
    is_over: impl Fn() -> bool,
) -> u64 {
    let consumer = runner.consumer;
    let mut done = 0;
    while done < most && first + (done as u64) < consumer.end() {
        let (begin, count) = (first + done as u64, part_len.min(most - done));
        let mut taken = 0;
        let part = items.by_ref().take(count).inspect(|_| taken += 1);
        consumer.consume(runner.state(), begin..begin + count as u64, part);
        done += taken;
        if taken < count || is_over() {
            break;
        }
    }
    done as u64
}

/// The remaining items of an iterator.
struct SharedPull<'a, I: Iterator, C: Consumer<I::Item>, O> {
    consumer: &'a C,
    /// Where helpers find the call.
    helper_slot: &'static HelperSlot,
    owner: &'static Parker,
    pull: Turns<Pull<I>>,
    /// A runner has found nothing to do.
    is_anyone_idle: AtomicBool,
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
            let how = (RateProbe::begin(Rate::UNKNOWN), Some(RunsAlone::NoPlace));
            pull.run_alone(runner, how, chunk, observer);
            return;
        };
        let OpenCall { slot, helper_slot } = place;
        let runtime = slot.runtime();
        let workers = runtime.idle.limit;
        observer.opens(plan.degree.unwrap_or(workers));
        let call = Helped::new(SharedPull {
            consumer: runner.consumer,
            helper_slot,
            owner: &slot.parker,
            pull: Turns::new(pull),
            is_anyone_idle: AtomicBool::new(false),
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
            let mut part = observer.runner(slot.worker());
            loop {
                shared.work(slot, runner, Leave::Never, &mut part);
                helper_slot.close();
                wait::for_helpers(slot, helper_slot);
                if helper_slot.is_drained() && shared.is_over(slot) {
                    break;
                }
                helper_slot.reopen();
            }
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
        part: &mut O::Runner,
    ) {
        let mut size = 1;
        let mut chunk = Vec::new();
        // Relaxed: a runner may see the stop a chunk late.
        while !self.stopped.load(Ordering::Relaxed) {
            let begun = clock::ticks();
            let Some(mut pull) = self.begin_turn(slot, &leave) else {
                return;
            };
            let size_now = self.chunk.at(pull.next, u64::from(size));
            let filled = pull.fill(&mut chunk, size_now, self.consumer.end());
            self.end_turn(pull, slot);
            part.took_items();
            let first = match filled {
                Ok(first) => first,
                Err(payload) => {
                    self.note_panic(payload);
                    return self.discard(chunk);
                }
            };
            if chunk.is_empty() {
                // Relaxed: read a block late.
                self.is_anyone_idle.store(true, Ordering::Relaxed);
                self.helper_slot.dismiss();
                // What came back before that, and the invitation with it, is there now.
                if self.with_pull(slot, |pull| pull.taken.is_empty()) {
                    break;
                }
                self.helper_slot.invite();
                continue;
            }
            // Relaxed: a part earlier or later.
            let is_anyone_idle = || self.is_anyone_idle.load(Ordering::Relaxed);
            let (pulled, part_len) = (chunk.len(), self.chunk.part_of(chunk.len()));
            let run = catch(|| {
                let mut items = chunk.drain(..);
                let done = run_parts(
                    runner,
                    first,
                    &mut items,
                    (pulled, part_len),
                    is_anyone_idle,
                );
                // What lies beyond the end is dropped.
                let is_rest_run = first + done < self.consumer.end() && is_anyone_idle();
                let rest: Vec<_> = items.filter(|_| is_rest_run).collect();
                (done, rest)
            });
            let (done, rest) = match run {
                Ok(run) => run,
                Err(payload) => return self.note_panic(payload),
            };
            part.block(done);
            let rate = Rate::of(clock::ticks().saturating_sub(begun), done);
            size = cost::next_block(rate, size);
            slot.counters.finished.bump();
            if !rest.is_empty() {
                self.give_back(slot, (first + done, rest.into_iter()), &leave);
            }
            if let Leave::Early(Some(attention)) = &mut leave
                && attention.is_wanted()
            {
                // All that it has pulled was run. Relaxed: only the number matters.
                self.runners.fetch_sub(1, Ordering::Relaxed);
                return self.helper_slot.invite();
            }
        }
        if let Leave::Early(_) = leave {
            // Relaxed: only the number matters.
            self.runners.fetch_sub(1, Ordering::Relaxed);
        }
        self.helper_slot.dismiss();
    }

    /// Lets others run these items.
    fn give_back(
        &self,
        slot: &OccupiedSlot,
        rest: (u64, vec::IntoIter<I::Item>),
        leave: &Leave<'_>,
    ) {
        self.with_pull(slot, |pull| pull.taken.push(rest));
        // Relaxed: whoever is idle after that sets it again.
        self.is_anyone_idle.store(false, Ordering::Relaxed);
        match leave {
            Leave::Never => self.helper_slot.invite(),
            Leave::Early(_) if self.helper_slot.recall() => self.owner.unpark(),
            Leave::Early(_) => {}
        }
        slot.runtime().wake_if_nobody_searches();
    }

    /// Owner: whether no items are left that are to be run.
    fn is_over(&self, slot: &OccupiedSlot) -> bool {
        // Relaxed: the owner has waited for the other runners.
        self.stopped.load(Ordering::Relaxed) || self.with_pull(slot, |pull| pull.taken.is_empty())
    }

    /// A short turn, after the iterator has ended.
    fn with_pull<R>(&self, slot: &OccupiedSlot, f: impl FnOnce(&mut Pull<I>) -> R) -> R {
        let mut pull = self.pull.begin();
        let value = f(&mut pull);
        self.end_turn(pull, slot);
        value
    }

    fn end_turn(&self, turn: MutexGuard<'_, Pull<I>>, slot: &OccupiedSlot) {
        self.pull.end(turn, || {
            // Some helpers have left because this runner kept the iterator.
            self.helper_slot.invite();
            slot.runtime().wake_if_nobody_searches();
        });
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
        let mut part = self.observer.runner(slot.worker());
        let leave = Leave::Early(attention.as_mut());
        self.work(slot, &mut runner, leave, &mut part);
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
/// Items that were expected to be short, and are not, are run in so many parts: between two of them the others may go to another
/// runner.
const PARTS: usize = 256;
/// A look at the iterator's lock would disturb its holder.
const SPINS_BETWEEN_LOOKS: usize = 16;
