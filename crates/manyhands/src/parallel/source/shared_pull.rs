//! A loop over an iterator that is open to helpers.
//!
//! A runner that has found nothing to do leaves, and has the others give back what they have taken, between two parts of it. A
//! helper that gives items back recalls the owner, which waits for it: as in any shared loop (`engine/sharing.rs`), nobody waits
//! while items are left, and the owner ends the loop only when all have left, and nothing is there.
//!
//! Not here: when a loop is shared, and how many items are taken (`pull.rs`).

use crate::engine::{Consumer, HelperPolicy, Rate, RateProbe, Runner, cost};
use crate::job::{Payload, catch, resume_all};
use crate::parallel::source::pull::{How, Pull, run_parts};
use crate::parallel::source::turns::Turns;
use crate::recording::{LoopObserver, RunnerObserver, RunsAlone};
use crate::runtime::sleep::blocking;
use crate::runtime::{
    Helped, HelpedWork, HelperSlot, OccupiedSlot, OpenCall, Pool, YieldCheck, current, policy,
    series, wait,
};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Parker, clock, into_inner, lock, spin_loop};
use std::vec;

/// The remaining items of an iterator.
struct SharedPull<'a, I: Iterator, C: Consumer<I::Item>, O> {
    consumer: &'a C,
    /// Where helpers find the call.
    helper_slot: &'static HelperSlot,
    owner: &'static Parker,
    pull: Turns<Pull<I>>,
    /// A runner has found nothing to do.
    is_anyone_idle: AtomicBool,
    how: How<'a, O>,
    /// Current runners, the owner included.
    runners: AtomicUsize,
    runners_max: usize,
    /// Of all runners.
    panics: Mutex<Vec<Payload>>,
}

/// Runs the remaining items of the iterator, with helpers.
pub(super) fn share<I, C, O>(
    mut pull: Pull<I>,
    runner: &mut Runner<'_, I::Item, C>,
    how: How<'_, O>,
) where
    I: Iterator<Item: Send> + Send,
    C: Consumer<I::Item>,
    O: LoopObserver,
{
    let How { plan, observer, .. } = how;
    current::with_helped_slot(|slot| {
        let Some(place) = slot.and_then(OpenCall::next) else {
            let alone = (RateProbe::begin(Rate::UNKNOWN), Some(RunsAlone::NoPlace));
            pull.run_alone(runner, alone, how);
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
            how,
            runners: AtomicUsize::new(1),
            runners_max: cost::runners_max(plan.degree, workers, HelperPolicy::AtOnce),
            panics: Mutex::new(Vec::new()),
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
        while !self.how.stopped.load(Ordering::Relaxed) {
            let begun = clock::ticks();
            let Some(mut pull) = self.begin_turn(slot, &leave) else {
                return;
            };
            let size_now = self.how.chunk.at(pull.next, u64::from(size));
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
                // What came back before that is there now; what comes later brings an invitation.
                if self.with_pull(slot, |pull| pull.taken.is_empty()) {
                    return self.leave(&leave);
                }
                self.helper_slot.invite();
                continue;
            }
            let (pulled, part_len) = (chunk.len(), self.how.chunk.part_of(chunk.len()));
            let run_at = clock::ticks();
            let run = catch(|| {
                let (mut items, mut is_cut) = (chunk.drain(..), false);
                let block = (pulled, part_len);
                let (done, _) = run_parts(runner, first, &mut items, block, |done| {
                    let left = pulled as u64 - done;
                    is_cut = self.is_better_given_back(done, left, run_at);
                    is_cut
                });
                // Else these lie beyond the end, and are dropped.
                let rest: Vec<_> = items.filter(|_| is_cut).collect();
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
                // All that it has pulled was run.
                self.leave(&leave);
                return self.helper_slot.invite();
            }
        }
        self.leave(&leave);
        self.helper_slot.dismiss();
    }

    /// The calling thread is no runner any more, unless it is the owner.
    fn leave(&self, leave: &Leave<'_>) {
        if let Leave::Early(_) = leave {
            // Relaxed: only the number matters.
            self.runners.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a runner has found nothing to do, and it takes long to run what is `left`, as far as what has been done since
    /// `run_at` shows.
    fn is_better_given_back(&self, done: u64, left: u64, run_at: u64) -> bool {
        // Relaxed: a part earlier or later.
        self.is_anyone_idle.load(Ordering::Relaxed) && {
            let rate = Rate::of(clock::ticks().saturating_sub(run_at), done);
            cost::is_worth_a_wake(rate.ticks_for(left))
        }
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
        self.how.stopped.load(Ordering::Relaxed)
            || self.with_pull(slot, |pull| pull.taken.is_empty())
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
                self.leave(leave);
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
        let mut part = self.how.observer.runner(slot.worker());
        let leave = Leave::Early(attention.as_mut());
        self.work(slot, &mut runner, leave, &mut part);
        runner.finish();
    }

    fn note_panic(&self, payload: Payload) {
        lock(&self.panics).push(payload);
        // Relaxed: see `work`.
        self.how.stopped.store(true, Ordering::Relaxed);
        self.consumer.note_panic();
        self.helper_slot.dismiss();
    }
}

/// A look at the iterator's lock would disturb its holder.
const SPINS_BETWEEN_LOOKS: usize = 16;
