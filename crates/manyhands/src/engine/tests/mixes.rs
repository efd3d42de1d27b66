//! By a clock of its own: calls of any cost at places whose calls were short, beside the better of alone and shared.
//!
//! The sizes of blocks and the times between two looks of the monitor are the library's own. Wakes take what they take at most
//! on a quiet machine. Beside this, `tests/it/opened.rs` runs such calls.

use crate::engine::Rate;
use crate::engine::cost::{brief_block, first_block, next_block, next_claim};
use crate::runtime::monitor::pace::Pace;
use crate::runtime::monitor::sweep::Sweep;
use crate::sync::clock;

const WAKE: u64 = 60_000;

/// After what times the monitor looks at a call, and opens it at its second look, that begins `pause` after the last one was looked
/// at. Sweeps find this meanwhile.
fn looks_after(pause: u64, sweep: Sweep) -> [u64; 2] {
    let mut pace = Pace::default();
    pace.adapt(sweep, true);
    let interval = |pace: &Pace| u64::try_from(pace.interval.as_nanos()).expect("it is short");
    let mut look = interval(&pace);
    while look < pause {
        pace.adapt(sweep, false);
        look += interval(&pace);
    }
    if !pace.watches_calls() {
        look = look.min(pause + WAKE);
    }
    pace.adapt(sweep, true);
    [look, look + interval(&pace)].map(|look| look - pause)
}

/// A runner of a shared call.
#[derive(Debug, Clone)]
struct Runner {
    now: u64,
    range: (usize, usize),
    rate: Rate,
    block_max: u32,
}

impl Runner {
    fn at(now: u64, range: (usize, usize)) -> Self {
        Self {
            now,
            range,
            rate: Rate::UNKNOWN,
            block_max: first_block(Rate::UNKNOWN),
        }
    }

    fn left(&self) -> usize {
        self.range.1 - self.range.0
    }

    /// Runs a block of its own range.
    fn run(&mut self, items: &[u64]) {
        let count = self.left().min(self.block_max as usize);
        let from = self.range.0;
        self.range.0 += count;
        let nanos: u64 = items[from..from + count].iter().sum();
        self.now += nanos;
        let spent = clock::ticks_in(nanos).max(1);
        self.rate = self.rate.after_block(spent, count as u64);
        self.block_max = next_block(self.rate, self.block_max);
    }
}

/// When a call is over whose `runners` begin at those times, the first of them with all items.
fn shared(items: &[u64], first: usize, begun: &[u64]) -> u64 {
    let mut runners: Vec<_> = begun.iter().map(|&now| Runner::at(now, (0, 0))).collect();
    runners[0].range = (first, items.len());
    let mut end = begun[0];
    while let Some(next) = (0..runners.len()).min_by_key(|&runner| runners[runner].now) {
        if runners[next].left() == 0 {
            let longest = (0..runners.len()).max_by_key(|&runner| runners[runner].left());
            let other = &mut runners[longest.unwrap_or(next)];
            if other.left() == 0 {
                runners.remove(next);
                continue;
            }
            let (from, to) = other.range;
            let middle = from + (to - from) / 2;
            other.range.1 = middle;
            runners[next].range = (middle, to);
        }
        runners[next].run(items);
        end = end.max(runners[next].now);
    }
    end
}

/// When a call is over that was expected to be short, if the monitor looks at it then.
fn opened(items: &[u64], known: Rate, [seen, opens]: [u64; 2], workers: usize) -> u64 {
    let (mut now, mut next) = (0, 0);
    while next < items.len() && now < opens {
        let block = next_claim(next as u64, brief_block(known.0), || now >= seen);
        let until = items
            .len()
            .min(next + usize::try_from(block).expect("a block fits"));
        now += items[next..until].iter().sum::<u64>();
        next = until;
    }
    if next == items.len() {
        return now;
    }
    let begun: Vec<_> = (0..workers)
        .map(|worker| opens + WAKE * (1 + u64::from(worker > 0)))
        .chain([now.max(opens)])
        .take(workers)
        .collect();
    shared(items, next, &begun).max(now)
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }

    /// As many small ones as large ones.
    fn of_any_size(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits);
        (1 << bits) + self.below(1 << bits)
    }
}

#[test]
fn no_mix_of_earlier_and_later_calls_loses_more_than_a_millisecond_and_a_tenth() {
    let mut random = Random(37);
    for mix in 0..10_000 {
        let workers = [2, 4, 8][usize::try_from(random.below(3)).unwrap()];
        let count = usize::try_from(random.of_any_size(11)).unwrap() + 1;
        // Cheaper items are claimed faster.
        let (known, cost) = (3 + random.of_any_size(11), random.of_any_size(23));
        let rate = Rate::of(clock::ticks_in(known).max(1), 1);
        // A block is not divided, so items of a call may differ only where it is one item.
        let rarely = if brief_block(rate.0) == 1 {
            1 + random.below(4)
        } else {
            1
        };
        let items: Vec<u64> = (0..count)
            .map(|_| {
                if random.below(rarely) == 0 {
                    cost
                } else {
                    cost / 64
                }
            })
            .collect();
        let pause = random.of_any_size(26);
        let sweeps = [
            Sweep::Inactive,
            Sweep::Nothing,
            Sweep::Busy,
            Sweep::Saturated,
            Sweep::Watch,
        ];
        let sweep = sweeps[usize::try_from(random.below(5)).unwrap()];
        let taken = opened(&items, rate, looks_after(pause, sweep), workers);
        let at_once: Vec<_> = (0..workers as u64)
            .map(|worker| WAKE * worker.min(1))
            .collect();
        let alone: u64 = items.iter().sum();
        let limit = alone.min(shared(&items, 0, &at_once)) * 11 / 10 + 1_000_000;
        assert!(
            taken <= limit,
            "mix {mix}: {count} items of {cost} ns after some of {known} ns and {pause} ns on {workers}: {taken} ns, limit {limit}"
        );
    }
}
