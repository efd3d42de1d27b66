//! Whose turn it is when a worker looks for work: its own tasks, those from outside, or those of other workers.
//!
//! A worker prefers its own tasks. Nothing else must starve behind them, so once in a round of pieces of work it looks
//! for tasks from outside first, and once for those of others. A round has 61 pieces, or fewer where these are long: it
//! lasts about half a millisecond, but has at least three pieces. The clock is read once a round. A round of short pieces
//! in which one is run whose kind is known to be long has no more than three.
//!
//! tokio adapts the interval between its looks at the global queue in a similar way
//! (<https://docs.rs/tokio/latest/tokio/runtime/struct.Builder.html#method.global_queue_interval>).
//!
//! Not here: the looking (`search.rs`).

use crate::runtime::policy::{GLOBAL_QUEUE_INTERVAL_MAX, GLOBAL_QUEUE_INTERVAL_MIN, ROUND_NANOS};
use crate::sync::clock;

/// Where a worker looks first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// At tasks from outside, and at sockets.
    Outside,
    /// At the work of other slots.
    Others,
    /// At its own tasks.
    Own,
    /// At its own tasks, those first that only it may run.
    OwnBound,
}

/// The rounds of one worker.
#[derive(Debug)]
pub(super) struct Rounds {
    /// Of the current round.
    piece: u32,
    /// In a round.
    pieces: u32,
    /// When the round began, in ticks.
    since: u64,
    is_even: bool,
}

impl Rounds {
    /// At the beginning of a round of short pieces.
    pub(super) fn new() -> Self {
        Self {
            piece: 0,
            pieces: GLOBAL_QUEUE_INTERVAL_MAX,
            since: clock::ticks(),
            is_even: false,
        }
    }

    /// The turn for the next piece of work.
    #[inline]
    pub(super) fn next(&mut self) -> Turn {
        self.piece += 1;
        self.is_even = !self.is_even;
        if self.piece >= self.pieces {
            self.begin(clock::ticks());
            Turn::Outside
        } else if self.piece == self.pieces / 2 {
            Turn::Others
        } else if self.is_even {
            Turn::OwnBound
        } else {
            Turn::Own
        }
    }

    /// What the worker has run was long: so may the others of this round be.
    pub(super) fn shorten(&mut self) {
        self.pieces = GLOBAL_QUEUE_INTERVAL_MIN;
    }

    /// The time since the round began was not spent on pieces of work: the worker has slept.
    pub(super) fn restart(&mut self) {
        self.since = clock::ticks();
        self.piece = 0;
    }

    fn begin(&mut self, now: u64) {
        // A counter that has jumped back reads as long pieces, which make a few short rounds.
        let a_piece = now.abs_diff(self.since) / u64::from(self.piece.max(1));
        let fitting = clock::ticks_in(ROUND_NANOS) / a_piece.max(1);
        // Odd, so that a worker's own queues take turns.
        self.pieces = u32::try_from(fitting)
            .unwrap_or(GLOBAL_QUEUE_INTERVAL_MAX)
            .clamp(GLOBAL_QUEUE_INTERVAL_MIN, GLOBAL_QUEUE_INTERVAL_MAX)
            | 1;
        self.since = now;
        self.piece = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{GLOBAL_QUEUE_INTERVAL_MAX, GLOBAL_QUEUE_INTERVAL_MIN, ROUND_NANOS, Rounds, Turn};
    use crate::sync::clock;

    /// A round that has just begun after `pieces` of these nanoseconds.
    fn after(pieces: u32, nanos: u64) -> Rounds {
        let mut rounds = Rounds::new();
        (rounds.piece, rounds.since) = (pieces, 1_000);
        rounds.begin(1_000 + u64::from(pieces) * clock::ticks_in(nanos));
        rounds
    }

    fn turns(mut rounds: Rounds, count: usize) -> Vec<Turn> {
        rounds.pieces = rounds.pieces.max(1);
        (0..count).map(|_| rounds.next()).collect()
    }

    #[test]
    fn long_pieces_make_short_rounds_and_short_ones_long_rounds() {
        clock::calibrate();
        assert_eq!(after(61, 50).pieces, GLOBAL_QUEUE_INTERVAL_MAX);
        assert_eq!(after(61, ROUND_NANOS).pieces, GLOBAL_QUEUE_INTERVAL_MIN);
        assert_eq!(after(3, ROUND_NANOS * 20).pieces, GLOBAL_QUEUE_INTERVAL_MIN);
        assert_eq!(after(3, 50).pieces, GLOBAL_QUEUE_INTERVAL_MAX);
        let between = after(61, ROUND_NANOS / 20).pieces;
        assert!((15..=25).contains(&between), "{between}");
        assert_eq!(between % 2, 1);
    }

    #[test]
    fn a_round_has_one_look_outside_and_one_at_others() {
        let turns = turns(Rounds::new(), 61);
        assert_eq!(turns[60], Turn::Outside);
        let count = |turn| turns.iter().filter(|&&other| other == turn).count();
        assert_eq!(count(Turn::Outside), 1);
        assert_eq!(count(Turn::Others), 1);
    }

    #[test]
    fn after_a_long_piece_a_round_of_short_ones_ends() {
        let mut rounds = Rounds::new();
        let short: Vec<_> = (0..GLOBAL_QUEUE_INTERVAL_MIN)
            .map(|_| rounds.next())
            .collect();
        assert!(!short.contains(&Turn::Outside));
        rounds.shorten();
        assert_eq!(rounds.next(), Turn::Outside);
    }

    #[test]
    fn in_the_shortest_rounds_each_place_has_its_turn_and_own_queues_take_turns() {
        let mut rounds = after(3, ROUND_NANOS);
        let mut turns = Vec::new();
        for _ in 0..4 {
            for _ in 0..GLOBAL_QUEUE_INTERVAL_MIN {
                turns.push(rounds.next());
                rounds.pieces = GLOBAL_QUEUE_INTERVAL_MIN;
            }
        }
        for turn in [Turn::Outside, Turn::Others] {
            assert_eq!(turns.iter().filter(|&&other| other == turn).count(), 4);
        }
        for turn in [Turn::Own, Turn::OwnBound] {
            assert_eq!(turns.iter().filter(|&&other| other == turn).count(), 2);
        }
    }
}
