//! The engine of loops over positions: run alone while that is best, share when it pays.
//!
//! 1. *Probe.* The caller runs a first block by itself and measures it. A call site that is known to be short runs
//!    completely by itself, and measures one call in some; if it goes on, the monitor opens it (`unshared.rs`). One that is
//!    known to be long is shared from the start.
//! 2. *Decide.* The engine compares the remaining work, at the measured rate, with the present cost of sharing: almost
//!    nothing while another worker is spinning, a wake otherwise.
//! 3. *Share.* Helpers may join the rest (`shared_loop.rs`); the caller takes part to the end. Where the bodies slow each
//!    other down the caller continues alone (`contention.rs`).
//! 4. *Learn.* The call site remembers its rate, and whether sharing made it faster at all.
//!
//! Not here: what the measured numbers say (`cost.rs`), and what a loop does with the items (`consumer.rs`).
//!
//! Unsafe: positions are handed to sources, each exactly once.
#![cfg_attr(
    not(loom),
    expect(
        unnameable_types,
        reason = "the engine's own traits seal the sources of loops"
    )
)]

pub(crate) mod consumer;
mod contention;
pub(crate) mod cost;
#[cfg(test)]
#[path = "tests/ending.rs"]
pub(crate) mod ending;
mod ranges;
mod rate;
mod shared_loop;
mod sharing;
#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
mod unshared;

use crate::call_site::CallSiteProfile;
use crate::engine::consumer::{AnyLoop, BlockRunner, Loop, LoopRunner};
pub(crate) use crate::engine::cost::Rate;
pub(crate) use crate::engine::rate::RateProbe;
use crate::engine::shared_loop::Begun;
use crate::engine::unshared::{Alone, Frame, Whole};
use crate::recording::{self, LoopObserver, RunnerObserver, RunsAlone, Site, Unobserved};
use crate::runtime::{CallerThread, current, series};
use crate::sync::{clock, process};
pub(crate) use consumer::{Consumer, Ending, Grouping, Runner, Watch, limit_each};

/// Items by position.
///
/// # Safety
/// Implementations give each position's item to the engine, which asks for it exactly once, by `block` or by
/// `discard`.
pub unsafe trait Indexed: Sync {
    /// The item at each position.
    type Item;

    /// The number of positions.
    fn len(&self) -> u64;

    /// The items at `start..end`. Dropping the iterator drops those not taken.
    ///
    /// # Safety
    /// No position is asked for twice, here or in `discard`, and `end` is at most the length.
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item>;

    /// The items at `start..end`, the last one first.
    ///
    /// # Safety
    /// As for `block`.
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.block(start, end) };
        let items: Vec<_> = items.collect();
        items.into_iter().rev()
    }

    /// Drops the items at `start..end`, which no body will run on.
    ///
    /// # Safety
    /// As for `block`.
    unsafe fn discard(&self, _start: u64, _end: u64) {}
}

/// A call's options, and its line in the source.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub(crate) sharing: SharingPlan<'a>,
    /// The line of the program that calls. Beside the rest, so that it is written to memory for a record only.
    pub(crate) site: Site,
}

/// How a call's work is shared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharingPlan<'a> {
    /// The highest number of runners; `None` means one for each worker.
    pub(crate) degree: Option<usize>,
    /// The runtime to use instead of the current one.
    pub(crate) runtime: Option<&'a crate::runtime::Runtime>,
    /// When helpers may join.
    pub(crate) helpers: HelperPolicy,
    /// Whether what the runners have made is merged item by item: sharing costs more then than the engine knows.
    pub(crate) merges_items: bool,
    /// Where the loop is expected to end.
    pub(crate) until: Until,
}

impl SharingPlan<'_> {
    /// For the current runtime.
    #[inline]
    pub(crate) fn when_it_pays(degree: Option<usize>) -> Self {
        Self {
            degree,
            runtime: None,
            helpers: HelperPolicy::WhenItPays,
            merges_items: false,
            until: Until::End,
        }
    }

    /// Whether a call of this site that has run for `spent` ticks, and has `left` ticks of work in items of this rate, is better
    /// shared.
    fn is_better_shared(
        &self,
        site: &CallSiteProfile,
        spent: u64,
        (left, rate): (u64, Rate),
    ) -> bool {
        let may_end = self.may_end(site);
        let work = if may_end { spent } else { left };
        (!may_end || cost::is_long_search(spent, series::since_last_end))
            && (!self.merges_items || cost::outweighs_merging(work, rate))
            && pays_to_share(left)
    }

    /// Whether a call of this site may end at any item. If it ran nearly all of them lately, it is a loop like others.
    fn may_end(&self, site: &CallSiteProfile) -> bool {
        self.until != Until::End && !site.searches_whole()
    }

    /// A call of this site, or the rest of one, has run so many of `all` items.
    fn note_search(&self, site: &CallSiteProfile, ran: u64, all: u64) {
        if self.until != Until::End {
            site.has_searched(cost::is_nearly_all(ran, all));
        }
    }
}

/// When a call lets helpers join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HelperPolicy {
    /// When it pays.
    WhenItPays,
    /// As that, but bodies may wait for one another: also when the monitor sees that the call goes on.
    MayWait,
    /// Before the first item, however short it is. Bodies may wait for one another.
    AtOnce,
}

impl HelperPolicy {
    /// Whether bodies may wait for one another. Each then has a runner of its own.
    fn may_wait(self) -> bool {
        self != Self::WhenItPays
    }
}

/// Where a loop is expected to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Until {
    /// At its last position.
    #[default]
    End,
    /// At some item: nothing is wanted after that. As it may be the next, the caller begins alone, unless the last two such calls
    /// ran nearly all items.
    Any,
    /// At the first of some items: what comes before it is wanted. So runners also stay near the first positions that are
    /// left, since what they run beyond it is done for nothing.
    First,
}

/// Runs every item of `source` through `consumer`.
///
/// When it returns, every position was consumed or, past the consumer's end, discarded. Panics of bodies resume after
/// all runners have ended.
#[inline]
pub(crate) fn drive<S: Indexed, C: Consumer<S::Item>>(
    source: &S,
    consumer: &mut C,
    plan: &Plan<'_>,
) {
    // While loops are recorded, one without items has a report as well.
    if source.len() == 0 && !recording::is_open() {
        return;
    }
    let Some(site) = CallSiteProfile::unrecorded(key_of::<S, C>()) else {
        return drive_looked_up(source, consumer, *plan);
    };
    if is_short(source, consumer, &plan.sharing, site) {
        run_short(source, consumer, plan.sharing.degree, (site, Unobserved));
    } else {
        // A copy: so calls that are short do not write their plan to memory.
        let sharing = SharingPlan { ..plan.sharing };
        let (work, len) = (Loop { source, consumer }, source.len());
        drive_long(&work, len, &sharing, (site, Unobserved));
    }
}

/// What the profile of a call site is found by.
#[inline]
fn key_of<S: Indexed, C: Consumer<S::Item>>() -> usize {
    drive_looked_up::<S, C> as *const () as usize
}

/// Whether calls with this number of items have always been too short to be shared. The path of such calls touches little memory
/// too: after a pause each of its cache lines costs as much as an item.
#[inline]
fn is_short<S: Indexed, C: Consumer<S::Item>>(
    source: &S,
    consumer: &C,
    plan: &SharingPlan<'_>,
    site: &CallSiteProfile,
) -> bool {
    let len = source.len();
    // No option is set that a short call must respect.
    let is_plain = plan.runtime.is_none() && plan.helpers == HelperPolicy::WhenItPays;
    is_plain && cost::is_short(site.cost(), len) && consumer.end() >= len
}

/// Runs a call that is expected to be short.
#[inline]
pub(crate) fn run_short<S: Indexed, C: Consumer<S::Item>, O: LoopObserver>(
    source: &S,
    consumer: &mut C,
    degree: Option<usize>,
    (site, observer): (&CallSiteProfile, O),
) {
    let len = source.len();
    let thread = CallerThread::current();
    let number = thread.map_or(0, |thread| thread.next_number());
    let since_look = thread.map_or(0, |thread| thread.since_look(number));
    let is_measured = O::MEASURES_SHORT || cost::is_sampled(number, since_look);
    let start = if is_measured { clock::ticks() } else { 0 };
    let mut runner = LoopRunner::new(source, consumer);
    let whole = Whole {
        work: Loop { source, consumer },
        degree,
        helpers: HelperPolicy::WhenItPays,
        site,
        observer,
    };
    let is_opened = if len == 1 {
        // SAFETY: it is asked for once, here.
        unsafe { runner.run(0, 1) };
        false
    } else if let Some(thread) = thread.filter(|_| degree != Some(1)) {
        unshared::run(whole, len, (thread, number), &mut runner)
    } else {
        // SAFETY: each position is asked for once, here.
        unsafe { run_whole(&mut runner, len) };
        false
    };
    match runner.into_state() {
        Some(state) if is_opened => consumer.finish(state),
        Some(state) => consumer.finish_only(state),
        None => {}
    }
    if is_measured && !is_opened {
        learn_short(site, clock::ticks().saturating_sub(start), len);
    }
}

/// Runs a call that nobody may open.
///
/// # Safety
/// As for [`Indexed::block`], of all positions.
#[cold]
#[inline(never)]
unsafe fn run_whole(runner: &mut dyn BlockRunner, len: u64) {
    // SAFETY: as promised by the caller.
    unsafe { runner.run(0, len) };
}

/// Corrects the site's estimate if `len` items took more or less.
#[inline]
fn learn_short(site: &CallSiteProfile, ticks: u64, len: u64) {
    let expected = site.cost().saturating_mul(len);
    if cost::corrects(expected, ticks << 10) {
        learn_item(site, Rate::of(ticks, len));
    }
}

/// The site learns what an item of one call cost.
#[inline]
fn learn_item(site: &CallSiteProfile, found: Rate) {
    site.learn(cost::credible(site.cost(), found.0));
}

/// [`drive`] where the call site's profile has to be looked up: at its first call, and while recording is open.
#[cold]
#[inline(never)]
fn drive_looked_up<S: Indexed, C: Consumer<S::Item>>(source: &S, consumer: &mut C, plan: Plan<'_>) {
    let site = CallSiteProfile::of(key_of::<S, C>());
    let len = source.len();
    if !recording::is_open() {
        let work = Loop { source, consumer };
        return drive_long(&work, len, &plan.sharing, (site, Unobserved));
    }
    recording::during_loop::<C>(Some(len), plan.site, |record| {
        if is_short(source, consumer, &plan.sharing, site) {
            run_short(source, consumer, plan.sharing.degree, (site, record));
        } else {
            // Makes the record: without one, a call has run as one block.
            record.alone(RunsAlone::TooShort);
            let work = Loop { source, consumer };
            drive_long(&work, len, &plan.sharing, (site, record));
        }
        consumer.end()
    });
}

/// [`drive`] for calls that may be worth sharing.
#[inline(never)]
fn drive_long<O: LoopObserver>(
    work: &dyn AnyLoop,
    len: u64,
    plan: &SharingPlan<'_>,
    (site, observer): (&CallSiteProfile, O),
) {
    let _entered = plan.runtime.map(|runtime| runtime.enter());
    let mut rest = Rest::of(work, 0, len);
    while rest.start < rest.end && rest.start < work.end() {
        let (start, end) = rest.take(SEGMENT_MAX);
        work.with_runner(&mut |runner| {
            let rest = Rest::of(work, start, end);
            let known = Rate(site.cost());
            let items = end - start;
            let begun = Begun::at(known);
            let expected = known.ticks_for(items);
            let because = if plan.degree == Some(1) {
                RunsAlone::OneAllowed
            } else if items > 1 && must_share(plan, site, items) {
                return shared_loop::share(rest, runner, plan, (site, observer), begun);
            } else if !plan.helpers.may_wait() && site.must_run_alone(items) {
                RunsAlone::SharingHurt
            } else if items > 1 && plan.is_better_shared(site, 0, (expected, known)) {
                return shared_loop::share(rest, runner, plan, (site, observer), begun);
            } else {
                RunsAlone::TooShort
            };
            // Helpers of other calls leave this one a processor only if it counts as a thread that runs. Too short a call, or a search
            // that may be over at once, is not worth that.
            let counts = because != RunsAlone::OneAllowed
                && !plan.may_end(site)
                && cost::may_pay(expected, series::since_last_end);
            let _running = counts.then(current::enter_as_running);
            drive_alone(rest, runner, plan, (site, observer), because);
        });
    }
}

/// Whether a call is shared before its first item, also if that does not pay. Bodies that may wait for one another begin alone
/// only where the monitor can pass the others on in the middle of the first, each to a runner of its own, and where that was
/// not needed lately.
fn must_share(plan: &SharingPlan<'_>, site: &CallSiteProfile, items: u64) -> bool {
    match plan.helpers {
        HelperPolicy::WhenItPays => false,
        HelperPolicy::MayWait => {
            let is_unknown = site.cost() == 0;
            // The place that an opened call leaves to its caller stays empty when that has done its item.
            let are_more_than_runners = plan.degree.is_some_and(|degree| items > degree as u64);
            let is_passed_on = cost::spares_a_place(plan.degree) && !are_more_than_runners;
            is_unknown || !is_passed_on || site.must_be_shared()
        }
        HelperPolicy::AtOnce => true,
    }
}

/// Discards the positions that were not reached, also when a body panics.
struct Rest<'a> {
    work: &'a dyn AnyLoop,
    start: u64,
    end: u64,
}

impl<'a> Rest<'a> {
    #[inline]
    fn of(work: &'a dyn AnyLoop, start: u64, end: u64) -> Self {
        Self { work, start, end }
    }

    /// Takes up to `max` positions from the front; they belong to the caller then.
    fn take(&mut self, max: u64) -> (u64, u64) {
        let start = self.start;
        self.start = self.end.min(start.saturating_add(max));
        (start, self.start)
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        if self.start < self.end {
            // SAFETY: positions are taken before the source is asked for them.
            unsafe { self.work.discard(self.start, self.end) };
        }
    }
}

/// Runs the positions of `rest` on the calling thread, because of what is known before; shares what is left if it turns out
/// not to be too short for that.
fn drive_alone<O: LoopObserver>(
    mut rest: Rest<'_>,
    runner: &mut dyn BlockRunner,
    plan: &SharingPlan<'_>,
    (site, observer): (&CallSiteProfile, O),
    because: RunsAlone,
) {
    let (work, known) = (rest.work, Rate(site.cost()));
    let (start, end) = rest.take(u64::MAX);
    let may_share = because == RunsAlone::TooShort;
    let mut part = observer.caller_alone();
    let mut probe = RateProbe::begin(if may_share { known } else { Rate::ZERO });
    let openable = end - start > 1 && because != RunsAlone::OneAllowed;
    let thread = CallerThread::current().filter(|_| openable);
    let number = thread.map_or(0, |thread| thread.next_number());
    let patience = match because {
        RunsAlone::SharingHurt => {
            let alone = Rate(site.cost_alone().max(site.cost()));
            cost::opens_at(probe.begun, alone.ticks_for(end - start))
        }
        _ => 0,
    };
    let whole = Whole {
        work,
        degree: plan.degree,
        helpers: plan.helpers,
        site,
        observer,
    };
    let frame = Frame::new(whole, thread, number, (start, end), patience);
    let mut caller = Alone::enter(&frame, thread, start);
    let may_wait = may_share && plan.helpers.may_wait() && openable;
    // Nobody would open the call to those that a body waits for. A thread that was watched is not in a forked child.
    let is_watched = caller.is_watched && !process::is_forked();
    let mut begun = (may_wait && !is_watched).then(|| Begun::at(known));
    while begun.is_none() && caller.next < end {
        let from = caller.next;
        let to = end.min(from.saturating_add(probe.block));
        let rate = if may_share { probe.rate } else { known };
        let block_max = if may_wait {
            1
        } else {
            cost::brief_block(rate.0)
        };
        caller.run_to(to, block_max, runner);
        part.block(caller.next - from);
        if caller.next < to || to == end {
            break;
        }
        let left = probe.measure(to - from, end - to);
        if may_share
            && end - to > 1
            && plan.is_better_shared(site, probe.spent(), (left, probe.rate))
        {
            begun = Some(Begun::at(probe.rate));
            break;
        }
    }
    drop(part);
    let Some(reached) = caller.leave(runner, |_| ()) else {
        return;
    };
    let rest = Rest::of(work, reached, end);
    if let Some(begun) = begun {
        return shared_loop::share(rest, runner, plan, (site, observer), begun);
    }
    observer.alone(because);
    let whole = probe.end(reached - start);
    learn_item(site, whole);
    if may_share {
        plan.note_search(site, reached - start, end - start);
    } else {
        site.learn_alone(whole.0);
    }
}

/// Whether the remaining work, `left` ticks long, is better shared.
pub(crate) fn pays_to_share(left: u64) -> bool {
    // The first asks no runtime: there may be none yet, and the second makes one.
    cost::may_pay(left, series::since_last_end)
        && current::with_runtime(|runtime| series::offer(runtime, Some(left)).is_some())
}

/// Positions driven in one segment: they fit a range's 32 bits, and no sum of two overflows.
const SEGMENT_MAX: u64 = 1 << 31;
