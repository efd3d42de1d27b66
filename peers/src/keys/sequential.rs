//! One thread: hashbrown's maps with their fast hash function, the standard library's sorts.

use crate::keys::{Keys, Row};
use hashbrown::HashMap;

#[derive(Debug)]
pub(crate) struct Sequential;

/// How often each value occurs.
pub(crate) fn count(values: &[u64]) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for &value in values {
        *counts.entry(value).or_insert(0) += 1;
    }
    counts
}

impl Keys for Sequential {
    fn count(values: &[u64]) -> Vec<(u64, usize)> {
        count(values).into_iter().collect()
    }

    fn join(values: &[u64], table: &[Row]) -> u64 {
        let table: HashMap<u64, u64> = table.iter().copied().collect();
        let found = values
            .iter()
            .filter_map(|value| Some(value ^ table.get(value)?));
        found.fold(0, u64::wrapping_add)
    }

    fn sort(values: &mut [u64]) {
        values.sort_unstable();
    }

    fn sort_stable(values: &mut [u64]) {
        values.sort();
    }
}
