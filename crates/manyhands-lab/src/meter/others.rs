//! Processor time of other processes: what the machine was busy, less what this process used.
//!
//! The machine counts in ticks of some milliseconds, this process in nanoseconds. The difference of the two thus jumps up with
//! each tick and falls while we work, also where nobody else does anything. Taking only what it gains in each sample, and
//! nothing where it loses, would add up the jumps and call them others. So a meter looks at the difference from its first
//! reading on, and others have worked only where that is higher than it has ever been: the highest value of all time grows with
//! their work, and the jumps, which come back, add next to nothing to it. All samples and the pauses between them are together
//! charged with what others used; to which of them a tick is charged is chance.
//!
//! Where a system counts ticks by whom it meets at the tick, the difference wanders a little, and
//! its highest value with it, by some ticks in a minute.

/// The highest difference so far.
#[derive(Debug, Default)]
pub(super) struct Others {
    highest: Option<i64>,
}

impl Others {
    /// Takes what the machine and this process used until now; the answer is the highest
    /// difference. Nothing is known where one of the two is not.
    pub(super) fn observe(
        &mut self,
        busy_nanos: Option<u64>,
        own_nanos: Option<u64>,
    ) -> Option<i64> {
        let difference = busy_nanos?
            .cast_signed()
            .saturating_sub_unsigned(own_nanos?);
        self.highest = self.highest.max(Some(difference));
        self.highest
    }
}

/// What others used between two answers.
pub(super) fn growth(from: Option<i64>, to: Option<i64>) -> Option<u64> {
    u64::try_from(to?.saturating_sub(from?)).ok().or(Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;
    const TICK: u64 = 10 * MILLI;

    /// Sum of what others are said to have used in samples, when every sample and every pause
    /// takes so long for us and for them on one processor.
    fn said(samples: u64, sample: [u64; 2], pause: [u64; 2]) -> u64 {
        let mut others = Others::default();
        let mut used = [0, 0];
        let mut read = |used: [u64; 2]| {
            let whole_ticks = (used[0] + used[1]) / TICK * TICK;
            others.observe(Some(whole_ticks), Some(used[0]))
        };
        let mut sum = 0;
        for _ in 0..samples {
            let before = read(used);
            used = [used[0] + sample[0], used[1] + sample[1]];
            sum += growth(before, read(used)).unwrap();
            used = [used[0] + pause[0], used[1] + pause[1]];
        }
        sum
    }

    #[test]
    fn ticks_of_our_own_work_are_not_the_work_of_others() {
        for sample in [1, 3, 5, 7, 11, 19] {
            for pause in [0, 1, 4, 13] {
                let sum = said(1_000, [sample * MILLI, 0], [pause * MILLI, 0]);
                assert!(sum <= TICK, "{sample} ms and {pause} ms: {sum}");
            }
        }
    }

    #[test]
    fn what_others_use_adds_up_to_the_tick() {
        let expected = 1_000 * 3 * MILLI;
        let sum = said(1_000, [5 * MILLI, 3 * MILLI], [0, 0]);
        assert!(sum.abs_diff(expected) <= TICK, "{sum}");
        // They rest in the pauses: what they are charged with is never more than they used.
        let sum = said(1_000, [5 * MILLI, 3 * MILLI], [9 * MILLI, 0]);
        assert!((1..=expected + TICK).contains(&sum), "{sum}");
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        let mut others = Others::default();
        assert_eq!(others.observe(None, Some(1)), None);
        assert_eq!(others.observe(Some(1), None), None);
        assert_eq!(others.observe(Some(5), Some(7)), Some(-2));
        assert_eq!(others.observe(Some(5), Some(9)), Some(-2));
        assert_eq!(others.observe(Some(9), Some(9)), Some(0));
        assert_eq!(growth(Some(-2), Some(0)), Some(2));
        assert_eq!(growth(Some(0), Some(-2)), Some(0));
        assert_eq!(growth(None, Some(0)), None);
    }
}
