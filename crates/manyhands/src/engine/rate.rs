//! How the rate of a loop is measured: by a caller that runs alone, and over a runner's blocks.
//!
//! Not here: what a rate is and what follows from it (`cost.rs`), and what a call site remembers (`call_site`).

use crate::engine::Rate;
use crate::engine::cost;
use crate::runtime::series;
use crate::sync::clock;

/// The measurements of a caller that runs alone.
pub(crate) struct RateProbe {
    pub(super) begun: u64,
    last: u64,
    pub(super) rate: Rate,
    /// The number of items to run next.
    pub(crate) block: u64,
}

impl RateProbe {
    pub(crate) fn begin(expected: Rate) -> Self {
        let block = cost::first_probe(expected);
        let now = clock::ticks();
        Self {
            begun: now,
            last: now,
            rate: expected,
            block,
        }
    }

    /// `done` items are done and `left` are left; returns how many ticks the latter will take, 0 if nobody knows yet.
    pub(crate) fn measure(&mut self, done: u64, left: u64) -> u64 {
        let now = clock::ticks();
        let spent = now.saturating_sub(self.last);
        self.last = now;
        self.rate = Rate::of(spent, done);
        self.block = cost::next_probe(done, spent, self.spent());
        if cost::is_brief(spent) {
            return 0;
        }
        self.rate.ticks_for(left)
    }

    /// The ticks until the last block was measured.
    pub(crate) fn spent(&self) -> u64 {
        self.last.saturating_sub(self.begun)
    }

    /// The rate over the whole run.
    pub(crate) fn end(&self, items: u64) -> Rate {
        let now = clock::ticks();
        series::note_end(now);
        Rate::of(now.saturating_sub(self.begun), items)
    }
}

/// What one runner's blocks took. The last blocks of a range have few items, and if these are short, claiming them takes
/// longer than running them: what such a block takes says nothing about its items. So such blocks, the second
/// here, count only where there are no others.
#[derive(Debug, Default)]
pub(super) struct RateOfBlocks([Spent; 2]);

#[derive(Debug, Default)]
struct Spent {
    ticks: u64,
    items: u64,
}

impl RateOfBlocks {
    pub(super) fn add(&mut self, ticks: u64, items: u64) {
        let spent = &mut self.0[usize::from(cost::is_brief(ticks))];
        spent.ticks += ticks;
        spent.items += items;
    }

    /// That of the longer blocks, or, without any, of all.
    pub(super) fn rate(&self) -> Rate {
        let spent = self.0.iter().find(|spent| spent.items > 0);
        spent.map_or(Rate::UNKNOWN, |spent| Rate::of(spent.ticks, spent.items))
    }
}

#[cfg(test)]
mod tests {
    use super::RateOfBlocks;
    use crate::engine::Rate;
    use crate::sync::clock;

    /// Blocks of a quarter of what is left, down to single items, each with `claiming` ticks beside its items.
    fn run(items: u64, ticks_each_1024: u64, claiming: u64) -> RateOfBlocks {
        let mut measured = RateOfBlocks::default();
        let mut left = items;
        while left > 0 {
            let block = left.div_ceil(4);
            measured.add(claiming + block * ticks_each_1024 / 1024, block);
            left -= block;
        }
        measured
    }

    #[test]
    fn claims_of_the_last_items_are_no_cost_of_short_items() {
        let claiming = clock::ticks_in(60);
        // A third of a nanosecond each, and then a microsecond.
        for nanos_1024 in [300, 1024 * 1_000] {
            let each = clock::ticks_in(nanos_1024);
            let Rate(found) = run(10_000, each, claiming).rate();
            assert!((each..each * 3 / 2).contains(&found), "{found} for {each}");
        }
    }

    #[test]
    fn a_few_short_items_are_all_that_is_known_and_none_are_unknown() {
        assert_eq!(RateOfBlocks::default().rate(), Rate::UNKNOWN);
        // Blocks of 2, 2, 1, 1, 1, 1.
        assert_eq!(run(8, 1024, 2).rate(), Rate::of(8 + 6 * 2, 8));
    }
}
