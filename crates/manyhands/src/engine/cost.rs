//! The cost model of loops: what the numbers that a loop has measured say about how it goes on.
//!
//! Pure functions, with tests by table. What a call site has learnt chooses how a call begins: short, alone or shared.
//! What the call itself shows decides how it goes on: the sizes of blocks, whether and with how many it is shared, whether its
//! bodies contend. Every loop over positions or an iterator asks here. `docs/decisions/01`, `22` and `29` have the figures.
//!
//! Not here: the measuring (`rate.rs`, `contention.rs`), what a wake costs (`runtime/policy.rs`), and where a call
//! site's numbers are kept (`call_site`).

use crate::call_site::{History, followed};
use crate::engine::HelperPolicy;
use crate::engine::ranges::LEAVE_BEHIND;
use crate::runtime::policy::{OFFER_NANOS_MIN, WAKE_NANOS_FIRST};
use crate::sync::clock;

/// Ticks for each item, in 1,024ths. 0 is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate(pub(crate) u64);

impl Rate {
    pub(crate) const UNKNOWN: Self = Self(0);
    /// Almost no time: everything fits into one block.
    pub(super) const ZERO: Self = Self(1);

    pub(crate) fn of(ticks: u64, items: u64) -> Self {
        Self((ticks.saturating_mul(1024) / items.max(1)).max(1))
    }

    /// The ticks that `items` items take.
    pub(crate) fn ticks_for(self, items: u64) -> u64 {
        u64::try_from((u128::from(self.0) * u128::from(items)) >> 10).unwrap_or(u64::MAX)
    }

    /// The rate after one more block, of `items` items in `spent` ticks; a rise is followed faster than a fall. Items of a
    /// brief block seem to take longer than they do.
    pub(super) fn after_block(self, spent: u64, items: u64) -> Self {
        let found = Self::of(spent, items);
        if is_brief(spent) && self != Self::UNKNOWN && found.0 >= self.0 {
            return self;
        }
        Self(followed(self.0, found.0))
    }

    /// The number of items that take about `ticks`, at least one.
    fn items_in(self, ticks: u64) -> u64 {
        (ticks.saturating_mul(1024) / self.0.max(1)).max(1)
    }
}

/// Whether a block was so short that reading the counter may be most of it: its time does not say what its items take.
pub(super) fn is_brief(ticks: u64) -> bool {
    ticks < clock::ticks_in(PROBE_NANOS) / 2
}

/// The first block of a caller that runs alone and measures.
pub(super) fn first_probe(expected: Rate) -> u64 {
    match expected {
        Rate::UNKNOWN => 1,
        rate => rate.items_in(clock::ticks_in(PROBE_NANOS)),
    }
}

/// The block after one of `done` items in `spent` ticks, of a call that has taken `total`.
pub(super) fn next_probe(done: u64, spent: u64, total: u64) -> u64 {
    if is_brief(spent) {
        return done.saturating_mul(PROBE_GROWTH);
    }
    let longest = clock::ticks_in(BLOCK_NANOS);
    Rate::of(spent, done).items_in((total / 2).min(longest))
}

/// Whether `len` items of this cost are too short for any look at the clock. A cost of 0 is that of no item, or not known; it
/// becomes the largest number.
#[inline]
pub(super) fn is_short(cost: u64, len: u64) -> bool {
    // The first is implied. It tells the compiler that the number is small: a call of ten items then takes 75 instructions
    // less.
    len <= SHORT_COST_MAX && cost.saturating_mul(len).wrapping_sub(1) < SHORT_COST_MAX
}

/// Whether a thread measures its short call of this number, so many calls after the monitor has looked at it: of any eight in a row
/// about one, and which one varies. The monitor looks so seldom that of the shortest calls nearly none is measured.
#[inline]
pub(super) fn is_sampled(number: u64, since_look: u64) -> bool {
    // Multiplying spreads the bits (Fibonacci hashing, Knuth vol. 3).
    since_look <= SAMPLED_AFTER_LOOK
        && number.wrapping_mul(0x9E37_79B9_7F4A_7C15) < u64::MAX / ONE_IN
}

/// Whether a short call that cost `found` corrects what was expected: it is more than one and a half times
/// of that, or less than two thirds.
#[inline]
pub(super) fn corrects(expected: u64, found: u64) -> bool {
    found > expected + expected / 2 || found < expected - expected / 3
}

/// What a call that cost this much for each item teaches its site, which knew `known`. A call whose thread lost its processor
/// for some milliseconds seems to cost thousands of times more. If items do, later calls find out while they run.
#[inline]
pub(super) fn credible(known: u64, cost: u64) -> u64 {
    if known == 0 {
        return cost;
    }
    // The site goes half of the way.
    cost.min(known.saturating_mul(2 * SIMILAR - 1))
}

/// When a call that runs alone because sharing has hurt may be opened: when it has taken twice as long as it should.
pub(super) fn opens_at(begun: u64, expected: u64) -> u64 {
    begun.saturating_add(expected.saturating_mul(2))
}

/// As many items of this cost as take about four tenths of a microsecond, at least one.
#[inline]
pub(super) fn brief_block(cost: u64) -> u64 {
    // A quarter of the longest short call.
    1 << (SHORT_COST_MAX.ilog2() - 2).saturating_sub(cost.max(1).ilog2())
}

/// How many items a caller that runs alone claims when it has run `done`. A call as short as was expected is over before the
/// monitor looks. Until then the caller claims as many again, or many times as many where they were expected to take next to
/// nothing: a claim takes as long as some of them. Later it claims few beside those that are done, whatever they were expected
/// to take.
#[inline]
pub(super) fn next_claim(done: u64, block_max: u64, is_seen: impl FnOnce() -> bool) -> u64 {
    if is_seen() {
        return (1 + done / 4).min(block_max / 4).max(1);
    }
    let times = if block_max < TINY_ITEMS { 1 } else { 7 };
    (times * done).max(1).min(block_max)
}

/// The first block of a runner of a shared loop. The rate may be that of other items, so it is small.
pub(super) fn first_block(rate: Rate) -> u32 {
    match rate {
        Rate::UNKNOWN => 1,
        Rate(cost) => u32::try_from(brief_block(cost) / 4)
            .unwrap_or(u32::MAX)
            .max(1),
    }
}

/// The block after one of `before` items.
pub(crate) fn next_block(rate: Rate, before: u32) -> u32 {
    block_at(rate).min(before.saturating_mul(2))
}

/// The longest block at this rate.
pub(super) fn block_at(rate: Rate) -> u32 {
    if rate == Rate::UNKNOWN {
        return 1;
    }
    u32::try_from(rate.items_in(clock::ticks_in(BLOCK_NANOS))).unwrap_or(u32::MAX)
}

/// Whether a search has gone on alone, for `spent` ticks, as long as it takes to open it and to end it with others: as long as the
/// least work that pays, or half as long as what is worth a wake. It may be over with the next item, and so takes about twice
/// as long as alone, or as shared from the start, at most.
pub(super) fn is_long_search(spent: u64, since_last_end: impl FnOnce() -> u64) -> bool {
    spent >= clock::ticks_in(SHARE_NANOS_MIN) && may_pay(spent.saturating_mul(2), since_last_end)
}

/// Whether a search that has run so many of `all` items has run nearly all.
pub(super) fn is_nearly_all(ran: u64, all: u64) -> bool {
    ran >= all - all / ONE_IN
}

/// Whether work of `left` ticks may be worth handing over, if the thread's last call that was long enough ended so long ago: if
/// that was not lately, no worker spins for the next one, and a wake has never been cheap enough for so little work.
pub(super) fn may_pay(left: u64, since_last_end: impl FnOnce() -> u64) -> bool {
    // A worker that has had no work for twice as long as a wake takes has stopped spinning.
    left >= clock::ticks_in(SHARE_NANOS_MIN)
        && (is_worth_a_wake(left) || since_last_end() < clock::ticks_in(2 * WAKE_NANOS_FIRST))
}

/// Whether work of so many ticks, in items of this rate, is better shared although what the runners make of it is merged item
/// by item: an item takes longer than it takes to merge it, or the work is so long that it pays with a key for each item.
pub(super) fn outweighs_merging(ticks: u64, rate: Rate) -> bool {
    ticks >= clock::ticks_in(MERGED_NANOS)
        || rate.ticks_for(1) >= clock::ticks_in(MERGED_ITEM_NANOS)
}

/// Whether a loop over an iterator is faster shared that has run for `spent` ticks, `taking` of which it took to take the
/// items: whoever does that, it is done one after the other.
pub(crate) fn can_share(spent: u64, taking: u64) -> bool {
    spent >= taking + taking / 2
}

/// Whether so many ticks of work are worth a wake.
pub(crate) fn is_worth_a_wake(ticks: u64) -> bool {
    ticks > worth_a_wake()
}

/// For each of these ticks that is left to do one more worker is woken. Less work has never been worth a wake, on any machine
/// that was measured.
pub(super) fn worth_a_wake() -> u64 {
    clock::ticks_in(WAKE_NANOS_FIRST / 2)
}

/// The highest number of runners of a call on this number of workers.
pub(crate) fn runners_max(degree: Option<usize>, workers: usize, helpers: HelperPolicy) -> usize {
    degree.unwrap_or(match helpers {
        HelperPolicy::WhenItPays => workers + RUNNERS_SPARE,
        HelperPolicy::MayWait | HelperPolicy::AtOnce => workers + RUNNERS_SPARE_AT_ONCE,
    })
}

/// Whether a call of this degree that was opened may leave a place to its caller, which is in the middle of an item and may not
/// need it for long. With few places it pays to wait for the caller.
pub(super) fn spares_a_place(degree: Option<usize>) -> bool {
    degree.is_none_or(|degree| degree >= LEAVE_BEHIND as usize)
}

/// Whether something that takes `ticks` is faster than what takes `than`, and not by chance.
fn is_faster(ticks: u64, than: u64) -> bool {
    u128::from(ticks) * 100 < u128::from(than) * FASTER_PERCENT
}

/// Whether one runner is faster than `runners`, if items take these times alone and on each of them.
pub(super) fn contends(alone: Rate, shared: Rate, runners: u64) -> bool {
    is_faster(alone.ticks_for(runners), shared.ticks_for(1))
}

/// Whether items take too long for a trial: so few of them say little, and each would keep all helpers away.
pub(super) fn is_long(item: Rate) -> bool {
    item.ticks_for(1) > clock::ticks_in(BLOCK_NANOS)
}

/// How long a trial takes, from the first block of its window until the owner has timed as many alone. A site's first one comes
/// when a loop has been shared for this long, whatever the rates.
pub(super) fn trial_ticks() -> u64 {
    2 * TRIAL_BLOCKS as u64 * clock::ticks_in(BLOCK_NANOS)
}

/// For how long a loop is not tried again that has run for this long, or since its last trial.
pub(super) fn trial_pause(ran_for: u64) -> u64 {
    ran_for.saturating_mul(ONE_IN)
}

/// Whether a shared call, or a block of one, that took this long shows whether sharing pays. Shorter blocks, at the end of a
/// range, take longer for each item, because a block itself takes time.
pub(super) fn tells(elapsed: u64) -> bool {
    elapsed >= clock::ticks_in(SHARE_NANOS_MIN)
}

/// What a shared call took, in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedCallTimes {
    /// Alone, as its first items let expect. It may be wrong where items differ.
    pub(super) expected: u64,
    /// Alone, at the rate of the last whole call that ran alone. 0: there was none.
    pub(super) alone: u64,
    pub(super) elapsed: u64,
}

/// What is known of sharing after a call of `items` items that was shared.
///
/// An expectation leads to only one call alone; the time of that call decides. One call that was slower than alone decides
/// nothing either: its helper may have come too late, because it had to be woken. The next one finds the helper awake.
pub(super) fn after_shared(before: History, times: SharedCallTimes, items: u64) -> History {
    let (alone, elapsed) = (times.alone, times.elapsed);
    let by_itself = if alone == 0 { times.expected } else { alone };
    if is_faster(elapsed, by_itself) {
        return after_help(before);
    }
    let is_much = u128::from(elapsed) * 100 > u128::from(by_itself) * MUCH_SLOWER_PERCENT;
    let longest = match clock::ticks_in(BACKOFF_NANOS_MAX) / elapsed.max(1) {
        _ if is_much => BACKOFF_MAX,
        calls => u32::try_from(calls).unwrap_or(u32::MAX),
    };
    if longest == 0 {
        return before;
    }
    if before.hurt == 0 {
        return History { hurt: 1, ..before };
    }
    backed_off(before, if alone == 0 { 1 } else { longest }, items)
}

/// Sharing has made a call faster.
pub(super) fn after_help(before: History) -> History {
    History {
        backoff: 0,
        hurt: 0,
        ..before
    }
}

/// One runner was found to be faster, during a call of `items`.
pub(super) fn after_contention(before: History, items: u64) -> History {
    backed_off(before, BACKOFF_MAX, items)
}

/// The next calls of about that size run alone, more of them each time, `longest` at most.
fn backed_off(before: History, longest: u32, items: u64) -> History {
    let backoff = (before.backoff * 2 + 1).min(longest).min(BACKOFF_MAX);
    History {
        alone: backoff,
        backoff,
        hurt: 0,
        alone_below: items.saturating_mul(SIMILAR),
    }
}

/// A first block this long gives a reliable rate.
const PROBE_NANOS: u64 = 1_000;
/// A block that was too short for that is followed by one this many times as long.
const PROBE_GROWTH: u64 = 8;
/// The longest time between two decisions: as much work is worth handing over.
const BLOCK_NANOS: u64 = OFFER_NANOS_MIN;
/// Less work than this takes less time than handing it over, even to a spinning worker.
const SHARE_NANOS_MIN: u64 = 2_500;
/// That as a cost, in 1,024ths of ticks; not calibrated, which saves a read of the calibration. A step of the time-stamp counter
/// takes a quarter to a half of a nanosecond.
const SHORT_COST_MAX: u64 = if cfg!(all(target_arch = "x86_64", not(miri))) {
    (2 * SHARE_NANOS_MIN) << 10
} else {
    SHARE_NANOS_MIN << 10
};
/// Work this long, or of items this long, is shared also where what the runners have made is merged item by item.
const MERGED_NANOS: u64 = 400_000;
const MERGED_ITEM_NANOS: u64 = 100;
/// As many items that take about a nanosecond or two fit in a block of a caller alone.
const TINY_ITEMS: u64 = 256;
/// Runners beyond the number of workers: those that compensate for blocked ones. With two workers their ranges fit in the frame.
const RUNNERS_SPARE: usize = 6;
/// The same, where bodies may wait for one another, or for the next item.
const RUNNERS_SPARE_AT_ONCE: usize = 126;
/// Each runner wakes this number of others when it joins; `tests/many_cores.rs` compares.
pub(super) const WAKES_EACH: u32 = 4;
/// What is done only to measure is one part in this many: a sampled call, a trial. And what a search may leave.
const ONE_IN: u64 = 8;
/// The first calls after a look of the monitor are sampled: all that take longer than 6 µs.
const SAMPLED_AFTER_LOOK: u64 = 64;
/// This number of blocks is judged at once, and timed alone. A helper that has not left after as many has lost its processor,
/// and disturbs nobody.
pub(super) const TRIAL_BLOCKS: usize = 8;
/// One way is faster if it takes less than this part of the other's time.
const FASTER_PERCENT: u128 = 95;
/// A call that takes more than this part of its time alone shows that the bodies contend with each other.
const MUCH_SLOWER_PERCENT: u128 = 130;
/// What one call has shown holds for calls of fewer items than this many times its own, and for costs up to as many times those
/// known.
const SIMILAR: u64 = 4;
/// After this many calls alone, sharing is tried again, and the other way round;
pub(crate) const BACKOFF_MAX: u32 = 64;
/// sharing, where it was not much slower, also after this time.
const BACKOFF_NANOS_MAX: u64 = 5_000_000;

#[cfg(all(test, not(loom)))]
mod tests;
