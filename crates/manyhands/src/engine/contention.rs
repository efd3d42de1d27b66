//! Whether the bodies of a shared loop slow each other down so much that one runner is faster.
//!
//! The owner times its blocks. When an item takes it so much longer than alone that all runners together are slower
//! than one, and once at each call site, it sends the helpers away, times a few blocks alone, and compares: items that are
//! merely longer than the first ones take as long alone. If one runner is faster, the loop stays with it for about a
//! millisecond, then twice as long each time, and is shared again in between, because later items may differ. If not, the
//! next such trial comes when the loop has run eight times as long.
//!
//! Blocks vary where items differ, where a lock goes to and fro, and where the thread loses its processor. What differs
//! between items must not be taken for what runners do to each other: where a few items are heavy, most blocks without one
//! come and go by chance. Bodies that slow each other down do so in every block. So a trial finds that only if the blocks of
//! both kinds are apart: nearly all that were shared took longer, for each item, than nearly all that ran alone.
//!
//! Not here: what its numbers say (`cost.rs`), how helpers leave and come back (`sharing.rs`), and what the call site remembers
//! (`call_site`).

use crate::engine::Rate;
use crate::engine::cost::{self, TRIAL_BLOCKS};
use crate::recording::LoopObserver;
use std::mem;

/// What the owner knows about the present loop.
pub(super) struct Contention {
    /// An item's time alone, as last measured.
    alone: Rate,
    /// Whether that was ever timed during a shared loop of the call site.
    is_certain: bool,
    /// Whether one runner was faster than all, if that was tried: what the last trial showed.
    pub(super) is_contended: Option<bool>,
    /// What the last trial compared with.
    tried: Option<Suspicion>,
    phase: Phase,
    window: Window,
    begun: u64,
    /// No trial begins before this tick.
    next_trial: u64,
    /// How long the loop stays with one runner the next time.
    alone_ticks: u64,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Shared,
    /// Helpers have been sent away.
    Leaving(Suspicion, usize),
    /// The owner times blocks alone.
    Measuring(Suspicion),
    Alone {
        until: u64,
    },
}

/// That runners slow each other down.
#[derive(Debug, Clone, Copy)]
struct Suspicion {
    /// An item's time on each of them, in the median of the blocks,
    shared: Rate,
    /// and in the fastest of them but one.
    fastest: Rate,
    runners: u64,
}

/// What the owner does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    Continue,
    SendHelpersAway,
    ShareAgain,
}

impl Contention {
    /// For a loop that is shared at `now`, of items whose time alone is about `alone`; `is_certain` if that was timed by
    /// a trial before. If it was not, there will be one.
    pub(super) fn new(alone: Rate, is_certain: bool, now: u64) -> Self {
        Self {
            alone,
            is_certain,
            is_contended: None,
            tried: None,
            phase: Phase::Shared,
            window: Window::default(),
            begun: now,
            next_trial: now,
            alone_ticks: cost::trial_pause(cost::trial_ticks()),
        }
    }

    /// The owner has run a block of `items` in `ticks`; `runners` says how many runners there are, the owner included.
    #[inline]
    pub(super) fn after_block(
        &mut self,
        now: u64,
        ticks: u64,
        items: u64,
        runners: impl FnOnce() -> usize,
    ) -> Advice {
        if cfg!(shuttle) {
            return self.fixed_course();
        }
        if !cost::tells(ticks) {
            return Advice::Continue;
        }
        self.window.add(ticks, items);
        let is_on_trial = matches!(self.phase, Phase::Leaving(..) | Phase::Measuring(_));
        if is_on_trial && cost::is_long(Rate::of(ticks, items)) {
            self.enter(Phase::Shared);
            return Advice::ShareAgain;
        }
        match self.phase {
            Phase::Shared if self.window.is_full() => self.judge(now, runners),
            Phase::Leaving(suspicion, blocks) => {
                if runners() == 1 || blocks == TRIAL_BLOCKS {
                    self.enter(Phase::Measuring(suspicion));
                } else {
                    self.phase = Phase::Leaving(suspicion, blocks + 1);
                }
                Advice::Continue
            }
            Phase::Measuring(suspicion) if self.window.is_full() => self.decide(now, suspicion),
            Phase::Alone { until } if now >= until => {
                self.enter(Phase::Shared);
                Advice::ShareAgain
            }
            Phase::Shared | Phase::Measuring(_) | Phase::Alone { .. } => Advice::Continue,
        }
    }

    /// Under the controlled scheduler hardly any time passes. So that its schedules contain both, helpers are sent away
    /// after every second block and let in again after the next.
    fn fixed_course(&mut self) -> Advice {
        self.window.add(1, 1);
        match self.window.blocks % 3 {
            2 => Advice::SendHelpersAway,
            0 => Advice::ShareAgain,
            _ => Advice::Continue,
        }
    }

    /// An item's time alone, if it was measured in this loop.
    pub(super) fn measured(&self) -> Option<Rate> {
        self.is_contended.map(|_| self.alone)
    }

    /// Says what the last trial showed, if there was one.
    pub(super) fn report(&self, observer: impl LoopObserver) {
        if let (Some(tried), Some(is_contended)) = (self.tried, self.is_contended) {
            observer.compared(self.alone.0, tried.shared.0, tried.runners, is_contended);
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.window = Window::default();
    }

    /// Whether the last blocks, of a shared loop, call for a trial.
    fn judge(&mut self, now: u64, runners: impl FnOnce() -> usize) -> Advice {
        let rates = mem::take(&mut self.window).sorted();
        // One block may have had the processors for itself.
        let (shared, fastest) = (rates[TRIAL_BLOCKS / 2], rates[1]);
        let is_slow = |runners| cost::contends(self.alone, shared, runners);
        let is_first = !self.is_certain && now.saturating_sub(self.begun) > cost::trial_ticks();
        let is_suspicious = is_first || is_slow(2);
        if !is_suspicious && self.is_contended != Some(true) {
            return Advice::Continue;
        }
        let runners = runners() as u64;
        if runners < 2 {
            return Advice::Continue;
        }
        if !is_first && !is_slow(runners) {
            // These bodies do not contend, or no longer.
            self.is_contended = self.is_contended.and(Some(false));
            return Advice::Continue;
        }
        if now < self.next_trial || cost::is_long(shared) {
            return Advice::Continue;
        }
        let suspicion = Suspicion {
            shared,
            fastest,
            runners,
        };
        self.enter(Phase::Leaving(suspicion, 0));
        Advice::SendHelpersAway
    }

    /// Compares the last blocks, alone, with those before.
    fn decide(&mut self, now: u64, suspicion: Suspicion) -> Advice {
        let rates = mem::take(&mut self.window).sorted();
        // During one block the thread may have lost its processor.
        let slowest = rates[TRIAL_BLOCKS - 2];
        self.alone = rates[TRIAL_BLOCKS / 2];
        self.tried = Some(suspicion);
        let is_contended = cost::contends(slowest, suspicion.fastest, suspicion.runners);
        self.is_contended = Some(is_contended);
        self.is_certain = true;
        if is_contended {
            let until = now.saturating_add(self.alone_ticks);
            self.alone_ticks = self.alone_ticks.saturating_mul(2);
            self.enter(Phase::Alone { until });
            return Advice::Continue;
        }
        let elapsed = now.saturating_sub(self.begun);
        self.next_trial = now.saturating_add(cost::trial_pause(elapsed));
        self.enter(Phase::Shared);
        Advice::ShareAgain
    }
}

/// The last blocks that were timed.
#[derive(Debug, Default)]
struct Window {
    rates: [u64; TRIAL_BLOCKS],
    blocks: usize,
}

impl Window {
    fn add(&mut self, ticks: u64, items: u64) {
        self.rates[self.blocks % TRIAL_BLOCKS] = Rate::of(ticks, items).0;
        self.blocks += 1;
    }

    fn is_full(&self) -> bool {
        self.blocks >= TRIAL_BLOCKS
    }

    /// When it is full: the rates, the lowest first.
    fn sorted(mut self) -> [Rate; TRIAL_BLOCKS] {
        self.rates.sort_unstable();
        self.rates.map(Rate)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Advice, Contention};
    use crate::engine::Rate;
    use crate::sync::clock;

    /// A loop of two runners by a clock of its own. Items take `alone` nanoseconds, or `shared` on each of two.
    struct Loop {
        contention: Contention,
        now: u64,
        helpers: usize,
        ran_shared: u64,
        ran_alone: u64,
    }

    const BLOCK_ITEMS: u64 = 64;

    impl Loop {
        fn new(expected: u64) -> Self {
            let rate = Rate::of(clock::ticks_in(expected * BLOCK_ITEMS), BLOCK_ITEMS);
            Self {
                contention: Contention::new(rate, true, 1),
                now: 1,
                helpers: 1,
                ran_shared: 0,
                ran_alone: 0,
            }
        }

        /// Runs blocks of the owner for some nanoseconds.
        fn run(&mut self, nanos: u64, alone: u64, shared: u64) {
            let end = self.now + clock::ticks_in(nanos);
            while self.now < end {
                let each = if self.helpers == 0 { alone } else { shared };
                self.run_block(clock::ticks_in(each * BLOCK_ITEMS));
            }
        }

        /// Runs a block of the owner.
        fn run_block(&mut self, ticks: u64) {
            self.now += ticks;
            if self.helpers == 0 {
                self.ran_alone += 1;
            } else {
                self.ran_shared += 1;
            }
            let runners = 1 + self.helpers;
            match self
                .contention
                .after_block(self.now, ticks, BLOCK_ITEMS, || runners)
            {
                Advice::Continue => {}
                Advice::SendHelpersAway => self.helpers = 0,
                Advice::ShareAgain => self.helpers = 1,
            }
        }
    }

    #[test]
    fn a_loop_whose_bodies_contend_runs_almost_all_blocks_alone() {
        let mut contended = Loop::new(100);
        contended.run(50_000_000, 100, 500);
        assert!(contended.ran_alone > 50 * contended.ran_shared);
    }

    #[test]
    fn rarely_heavy_items_are_no_contention() {
        // Of the items of 100 ns some take 30 or 100 times as long; blocks have 64 items.
        for (rarely, times) in [(25, 30), (50, 30), (50, 100), (100, 100), (200, 100)] {
            let mut mixed = Loop::new(100);
            let mut state = 141_u64;
            let mut random = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state >> 33
            };
            for _ in 0..20_000 {
                let heavy = (0..BLOCK_ITEMS).filter(|_| random() % rarely == 0).count() as u64;
                let nanos = 100 * (BLOCK_ITEMS + heavy * (times - 1));
                mixed.run_block(clock::ticks_in(nanos));
            }
            let (alone, shared) = (mixed.ran_alone, mixed.ran_shared);
            assert!(
                alone * 20 < shared,
                "1 in {rarely}, {times}: {alone} of {shared} alone"
            );
        }
    }

    #[test]
    fn items_that_are_longer_than_the_first_ones_are_shared() {
        let mut growing = Loop::new(10);
        for each in [10, 20, 40, 80, 160, 320, 640, 1_280] {
            growing.run(1_000_000, each, each);
        }
        assert!(growing.ran_shared > 20 * growing.ran_alone);
        assert_eq!(growing.helpers, 1);
    }

    #[test]
    fn bodies_that_slow_each_other_down_a_little_are_shared() {
        let mut memory_bound = Loop::new(100);
        memory_bound.run(10_000_000, 100, 200);
        assert_eq!(memory_bound.ran_alone, 0);
    }

    #[test]
    fn a_loop_is_shared_again_when_its_bodies_no_longer_contend() {
        let mut mixed = Loop::new(100);
        mixed.run(500_000, 100, 500);
        assert_eq!(mixed.helpers, 0);
        mixed.run(4_000_000, 100, 100);
        assert_eq!(mixed.helpers, 1);
        let alone = mixed.ran_alone;
        mixed.run(20_000_000, 100, 100);
        assert_eq!(mixed.ran_alone, alone);
    }

    #[test]
    fn one_block_in_which_the_owner_lost_its_processor_is_no_contention() {
        let mut preempted = Loop::new(100);
        for _ in 0..50 {
            preempted.run(100_000, 100, 100);
            let ticks = clock::ticks_in(4_000_000);
            preempted.now += ticks;
            let advice = preempted
                .contention
                .after_block(preempted.now, ticks, BLOCK_ITEMS, || 2);
            assert_eq!(advice, Advice::Continue);
        }
        assert_eq!(preempted.ran_alone, 0);
    }

    #[test]
    fn an_estimate_that_is_too_high_is_corrected_by_the_first_trial() {
        let mut contended = Loop::new(1_000);
        contended.contention.is_certain = false;
        contended.run(20_000_000, 100, 500);
        assert!(contended.ran_alone > 20 * contended.ran_shared);
    }

    #[test]
    fn a_trial_ends_with_the_first_long_item() {
        for blocks_before in [0, 1, 2] {
            let mut mixed = Loop::new(100);
            while mixed.helpers == 1 {
                mixed.run(1, 100, 500);
            }
            for _ in 0..blocks_before {
                mixed.run(1, 100, 500);
            }
            let ticks = clock::ticks_in(50_000);
            mixed.now += ticks;
            let advice = mixed.contention.after_block(mixed.now, ticks, 1, || 1);
            assert_eq!(advice, Advice::ShareAgain);
        }
    }

    #[test]
    fn long_items_are_not_tried() {
        let mut long = Loop::new(5_000);
        long.run(100_000_000, 5_000, 50_000);
        assert_eq!(long.ran_alone, 0);
    }
}
