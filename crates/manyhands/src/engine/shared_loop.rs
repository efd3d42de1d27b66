//! A loop's remaining positions, opened to helpers.
//!
//! Not here: how helpers reach it (`runtime/fork_join/open_call.rs`), which positions belong to which runner, and that none is
//! lost (`sharing.rs`).
//!
//! Unsafe: positions are handed to the source, each exactly once.

use crate::call_site::CallSiteProfile;
use crate::engine::contention::{Advice, Contention};
use crate::engine::cost::{self, SharedCallTimes};
use crate::engine::ranges::Claim;
use crate::engine::rate::RateOfBlocks;
use crate::engine::sharing::{After, OWNER, Sharing};
use crate::engine::{
    AnyLoop, BlockRunner, HelperPolicy, Rate, Rest, SharingPlan, Until, learn_item,
};
use crate::job::{Payload, catch, resume_all};
use crate::recording::{LoopObserver, RunnerObserver, RunsAlone};
use crate::runtime::{
    Helped, HelpedWork, OccupiedSlot, OpenCall, Pool, YieldCheck, current, policy, series, wait,
};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, clock, into_inner, lock};

/// A loop's remaining positions.
struct SharedLoop<'a, O> {
    work: &'a dyn AnyLoop,
    site: &'a CallSiteProfile,
    /// The loop's position of the sharing's 0.
    base: u64,
    sharing: Sharing<'static>,
    /// A helper has joined.
    is_helped: AtomicBool,
    /// A helper has left because tasks waited.
    is_deserted: AtomicBool,
    /// Workers still to be woken, by the runners that join next.
    to_wake: AtomicU32,
    /// Positions that were not run, because the loop ended before them.
    discarded: AtomicU64,
    begun: Begun<'a>,
    helpers: HelperPolicy,
    /// Of all runners.
    panics: Mutex<Vec<Payload>>,
    observer: O,
}

/// What is known of a loop when it is shared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) rate: Rate,
    /// Set when no more items are to begin.
    pub(super) is_over: Option<&'a AtomicBool>,
}

impl Begun<'_> {
    pub(super) fn at(rate: Rate) -> Self {
        Self {
            rate,
            is_over: None,
        }
    }
}

/// What a runner looks at between two blocks.
enum Role<'a> {
    /// Whether it would be faster alone.
    Owner(&'a mut Contention),
    /// Whether it is wanted elsewhere.
    Helper(YieldCheck),
    /// Nothing: it runs to the end.
    Bound,
}

/// Runs what `rest` still holds, with helpers.
#[cold]
#[inline(never)]
pub(super) fn share<O: LoopObserver>(
    mut rest: Rest<'_>,
    runner: &mut dyn BlockRunner,
    plan: &SharingPlan<'_>,
    (site, observer): (&CallSiteProfile, O),
    begun: Begun<'_>,
) {
    current::with_helped_slot(|slot| {
        let Some(place) = slot.and_then(OpenCall::next) else {
            run_alone(rest, runner, observer);
            return;
        };
        // From here on the positions belong to the sharing.
        let (base, end) = rest.take(u64::MAX);
        let len = u32::try_from(end - base).expect("a segment fits 32 bits");
        let workers = place.slot.runtime().idle.limit;
        let runners_max = cost::runners_max(plan.degree, workers, plan.helpers);
        observer.opens(runners_max.min(workers));
        let runners_max = runners_max.min(len as usize);
        let mut sharing = Sharing::new(place.helper_slot, &place.slot.parker, runners_max, len);
        sharing.is_near_the_front = plan.until == Until::First;
        let call = Helped::new(SharedLoop {
            work: rest.work,
            site,
            base,
            sharing,
            is_helped: AtomicBool::new(false),
            is_deserted: AtomicBool::new(false),
            to_wake: AtomicU32::new(0),
            discarded: AtomicU64::new(0),
            begun,
            helpers: plan.helpers,
            panics: Mutex::new(Vec::new()),
            observer,
        });
        let start = clock::ticks();
        let is_certain = site.cost_in_trial() != 0;
        // The best estimate of an item's time alone: whatever else disturbs a measurement only makes it longer.
        let measured = [begun.rate.0, site.cost_alone(), site.cost_in_trial()];
        let alone = measured.into_iter().filter(|&cost| cost != 0).min();
        let alone = alone.map_or(Rate::UNKNOWN, Rate);
        let mut contention = Contention::new(alone, is_certain, start);
        let measured = call.keep_open(Some(place), |shared| {
            shared.run(place, runner, &mut contention)
        });
        let ended = clock::ticks();
        series::note_end(ended);
        contention.report(observer);
        let shared = &call.work;
        let elapsed = ended.saturating_sub(start);
        // Relaxed: all helpers have left.
        let not_run = shared.discarded.load(Ordering::Relaxed);
        plan.note_search(site, u64::from(len) - not_run, len.into());
        shared.learn(&contention, measured, elapsed, len.into());
        resume_all(into_inner(call.work.panics));
    });
}

/// The call with no helper slot free.
fn run_alone(mut rest: Rest<'_>, runner: &mut dyn BlockRunner, observer: impl LoopObserver) {
    observer.alone(RunsAlone::NoPlace);
    let mut part = observer.caller_alone();
    let (from, to) = rest.take(u64::MAX);
    // SAFETY: taken from `rest` just now.
    unsafe { runner.run(from, to) };
    part.block(to - from);
}

impl<O: LoopObserver> SharedLoop<'_, O> {
    /// The owner's part while the call is open; returns the rate of its blocks.
    fn run(
        &self,
        place: OpenCall,
        runner: &mut dyn BlockRunner,
        contention: &mut Contention,
    ) -> Rate {
        let OpenCall { slot, helper_slot } = place;
        let mut role = if self.helpers.may_wait() {
            slot.runtime().arm_monitor();
            Role::Bound
        } else {
            Role::Owner(contention)
        };
        self.begin_wakes(slot);
        let mut rate = None;
        self.sharing.run_to_end(
            || {
                let now = self.run_blocks(slot, OWNER, runner, &mut role);
                // Measured the first time: later segments are what others have left.
                rate.get_or_insert(now);
            },
            || wait::for_helpers(slot, helper_slot),
            |claim| self.discard(OWNER, claim),
        );
        rate.unwrap_or(Rate::UNKNOWN)
    }

    /// Decides how many workers to wake for what is left, and wakes the first of them.
    fn begin_wakes(&self, slot: &OccupiedSlot) {
        let (runtime, rate) = (slot.runtime(), self.begun.rate);
        let left = (rate != Rate::UNKNOWN).then(|| rate.ticks_for(self.sharing.ranges.left()));
        let most = self.sharing.ranges.runners.min(runtime.idle.limit);
        let most = u32::try_from(most.saturating_sub(1)).unwrap_or(u32::MAX);
        let count = policy::wakes(left, cost::worth_a_wake(), most, runtime.seen());
        // Relaxed: a count of hints.
        self.to_wake.store(count, Ordering::Relaxed);
        self.wake_more(slot);
    }

    /// Wakes some of those still to be woken; each of them does the same when it joins.
    fn wake_more(&self, slot: &OccupiedSlot) {
        for _ in 0..cost::WAKES_EACH {
            let (one_less, to_wake) = (|count: u32| count.checked_sub(1), &self.to_wake);
            // Relaxed, both: a count of hints.
            let claimed = to_wake.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            if claimed.is_err() {
                return;
            }
            if !slot.runtime().wake_one() {
                // Relaxed: no worker is left to be woken.
                self.to_wake.store(0, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Claims and runs blocks until no positions are left, or until the runner is wanted elsewhere; returns the rate over
    /// those that tell it.
    fn run_blocks(
        &self,
        slot: &'static OccupiedSlot,
        me: usize,
        runner: &mut dyn BlockRunner,
        role: &mut Role<'_>,
    ) -> Rate {
        let may_wait = self.helpers.may_wait();
        // A body that waits must not keep back runners that it waits for.
        let block_max = if may_wait { 1 } else { u32::MAX };
        let mut part = self.observer.runner(slot.worker());
        let mut rate = self.begun.rate;
        let mut measured = RateOfBlocks::default();
        let mut last = clock::ticks();
        let mut max = block_max.min(cost::first_block(rate));
        self.sharing.run(me, max, |claim| {
            if self.base + u64::from(claim.start) >= self.end() {
                self.discard(me, claim);
                if let Some(own) = self.sharing.ranges.take_all(me) {
                    self.discard(me, own);
                }
                return After::GoOn { max };
            }
            let (start, end) = self.spend(me, claim);
            // SAFETY: the positions were claimed, and are spent here, so they are asked for once.
            if let Err(payload) = catch(|| unsafe { runner.run(start, end) }) {
                self.note_panic(payload);
                return After::Stop;
            }
            let items = end - start;
            part.block(items);
            let now = clock::ticks();
            let spent = now.saturating_sub(last);
            rate = rate.after_block(spent, items);
            measured.add(spent, items);
            last = now;
            slot.counters.finished.bump();
            // Thieves may want older work of this thread.
            if slot.deque.is_demand_pending() && slot.deque.has_private(0) {
                slot.deque.expose(1);
            }
            match role {
                Role::Owner(contention) => {
                    match contention.after_block(now, spent, items, || self.sharing.runners()) {
                        Advice::Continue => {}
                        Advice::SendHelpersAway => self.sharing.send_helpers_away(),
                        Advice::ShareAgain => {
                            self.sharing.share_again();
                            self.begin_wakes(slot);
                        }
                    }
                }
                Role::Helper(yield_check) => {
                    if yield_check.is_wanted() {
                        // Relaxed: read when all helpers have left.
                        self.is_deserted.store(true, Ordering::Relaxed);
                        return After::Leave;
                    }
                }
                Role::Bound => {}
            }
            max = cost::next_block(rate, max).min(block_max);
            After::GoOn { max }
        });
        drop(part);
        measured.rate()
    }

    /// Positions from here on are not run.
    fn end(&self) -> u64 {
        // Relaxed: acted upon a block earlier or later.
        let is_over = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        if self.begun.is_over.is_some_and(is_over) {
            return 0;
        }
        self.work.end()
    }

    fn spend(&self, me: usize, claim: Claim) -> (u64, u64) {
        let (start, end) = self.sharing.ranges.spend(me, claim);
        (self.base + u64::from(start), self.base + u64::from(end))
    }

    fn discard(&self, me: usize, claim: Claim) {
        let (start, end) = self.spend(me, claim);
        // Relaxed: a count, read when all helpers have left.
        self.discarded.fetch_add(end - start, Ordering::Relaxed);
        // SAFETY: the positions were claimed, and are spent here, so they are asked for once.
        let discarded = catch(|| unsafe { self.work.discard(start, end) });
        if let Err(payload) = discarded {
            // An item's drop panicked.
            self.note_panic(payload);
        }
    }

    /// The call site learns the rate, and whether sharing paid.
    fn learn(&self, contention: &Contention, measured: Rate, elapsed: u64, items: u64) {
        let site = self.site;
        if let Some(rate) = contention.measured() {
            site.learn_in_trial(rate.0);
        }
        // Items that slow each other down seem to cost more than they do, never less, unless some were timed alone.
        let rate = contention.measured().unwrap_or(measured);
        if rate != Rate::UNKNOWN {
            if site.cost() == 0 || rate.0 < site.cost() {
                site.learn(rate.0);
            } else if self.begun.rate == Rate::UNKNOWN {
                learn_item(site, rate);
            }
        }
        // Relaxed, here and below: all helpers have left.
        let is_telling = self.is_helped.load(Ordering::Relaxed)
            && !self.is_deserted.load(Ordering::Relaxed)
            && !self.sharing.is_stopped();
        if !is_telling || self.end() != u64::MAX {
            return;
        }
        if !cost::tells(elapsed) {
            return;
        }
        let before = site.history();
        site.set_history(match contention.is_contended {
            Some(true) => cost::after_contention(before, items),
            // A trial says less than a whole call alone, if there was one.
            Some(false) if site.cost_alone() == 0 => cost::after_help(before),
            // Nothing was expected.
            None if self.begun.rate == Rate::UNKNOWN => return,
            Some(false) | None => {
                let times = SharedCallTimes {
                    expected: self.begun.rate.ticks_for(items),
                    alone: Rate(site.cost_alone()).ticks_for(items),
                    elapsed,
                };
                cost::after_shared(before, times, items)
            }
        });
    }
}

impl<O: LoopObserver> HelpedWork for SharedLoop<'_, O> {
    fn help(&self, slot: Option<&'static OccupiedSlot>) {
        let Some(slot) = slot else { return };
        let Some(me) = self.sharing.attach() else {
            return;
        };
        // Relaxed: read when all helpers have left.
        self.is_helped.store(true, Ordering::Relaxed);
        self.wake_more(slot);
        // Bodies that may wait for one another keep their runners.
        let may_leave = !self.helpers.may_wait();
        let yield_check = may_leave.then(|| YieldCheck::of(slot)).flatten();
        let mut role = yield_check.map_or(Role::Bound, Role::Helper);
        self.work.with_runner(&mut |runner| {
            self.run_blocks(slot, me, runner, &mut role);
        });
    }

    fn note_panic(&self, payload: Payload) {
        lock(&self.panics).push(payload);
        self.sharing.stop();
        self.work.note_panic();
    }
}
