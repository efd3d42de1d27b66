//! hashbrown and indexmap: a map as a source, as what is collected, and sorted.

use hashbrown::HashMap;
use indexmap::IndexMap;
use rayon::prelude::*;

/// Pairs of a million keys.
pub(crate) fn pairs() -> Vec<(u64, u64)> {
    let pair = |key: u64| (key.wrapping_mul(0x9E37_79B9_7F4A_7C15), key);
    (0..1_000_000).map(pair).collect()
}

/// All of them in a map.
pub(crate) fn filled() -> HashMap<u64, u64> {
    pairs().into_iter().collect()
}

/// The sum of what was computed of each entry.
pub(crate) fn sum(map: &HashMap<u64, u64>) -> u64 {
    let computed = map
        .par_iter()
        .map(|(key, value)| key.rotate_left(7) ^ value);
    computed.reduce(|| 0, u64::wrapping_add)
}

/// A map of all pairs; returns how many entries it has.
pub(crate) fn collected(pairs: &mut Vec<(u64, u64)>) -> usize {
    let map: HashMap<u64, u64> = pairs.par_drain(..).collect();
    map.len()
}

/// All of them in a map that has an order.
pub(crate) fn indexed() -> IndexMap<u64, u64> {
    pairs().into_iter().collect()
}

/// Sorts the map by its keys; returns a few of its values, folded.
pub(crate) fn sorted(map: &mut IndexMap<u64, u64>) -> u64 {
    map.par_sort_keys();
    let few = map.values().step_by(1000);
    few.fold(0, |sum, value| sum.rotate_left(1) ^ value)
}
