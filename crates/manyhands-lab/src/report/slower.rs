//! What has become slower between two runs: the question of a build server.
//!
//! Not here: what became of every time, which is [`compare`](super::compare).

use super::{
    compare::{Change, Times, changes, pairs},
    units::{count, ratio_cell},
};
use crate::findings::Findings;

/// A sentence for each arm and size that is slower after than before by more than this share, by the
/// whole of its 95 % interval.
///
/// On the same machine the times are compared. Those of different machines do not compare, so there it is
/// the speed-ups over the baseline.
///
/// Example: see [`compare_json`](super::compare_json).
#[must_use]
pub fn slower(before: &Findings, after: &Findings, share: f64) -> Vec<String> {
    let times = Times::of(before, after);
    let mut sentences = Vec::new();
    for pair in pairs(before, after) {
        let all = changes(pair.before, pair.after, times);
        let of_pair = all.iter().filter_map(|change| sentence(change, share));
        let case = format!("{}, {}", pair.id, pair.before.card.name);
        sentences.extend(of_pair.map(|said| format!("{case}: {said}")));
    }
    sentences
}

fn sentence(change: &Change<'_>, share: f64) -> Option<String> {
    let (what, ratio) = match (change.time, change.gain) {
        (Some(time), _) => ("time before over time after", time),
        (None, gain) => ("speed-up after over speed-up before", gain?),
    };
    (ratio.high < (1.0 + share).recip()).then(|| {
        let (arm, n) = (change.arm, count(change.n));
        format!(
            "'{arm}' at n = {n} is slower: {what} {}.",
            ratio_cell(ratio)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn only_what_is_slower_by_its_whole_interval_is_named() {
        let (before, mut after) = (fixture::findings(), fixture::other_findings());
        after.head.machine = before.head.machine.clone();
        // The fixture's times are a quarter longer afterwards.
        let found = slower(&before, &after, 0.05);
        assert!(!found.is_empty());
        assert!(found[0].contains("'sequential' at n = "), "{found:?}");
        assert_eq!(slower(&before, &after, 0.5), [""; 0]);
        assert_eq!(slower(&before, &before, 0.0), [""; 0]);
    }

    #[test]
    fn times_of_different_machines_fail_nobody() {
        let (before, after) = (fixture::findings(), fixture::other_findings());
        // The fixture's speed-ups are as they were.
        assert_eq!(slower(&before, &after, 0.05), [""; 0]);
    }
}
