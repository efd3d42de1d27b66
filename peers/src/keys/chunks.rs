//! By hand: a thread and a chunk of the values for each processor, results merged by the first. Its threads
//! are new ones each time.

use std::thread;

use hashbrown::HashMap;

use crate::keys::sequential::{Sequential, count};
use crate::keys::{Keys, Row};

#[derive(Debug)]
pub(crate) struct Chunks;

/// Both maps' counts.
pub(crate) fn merged(left: HashMap<u64, usize>, right: HashMap<u64, usize>) -> HashMap<u64, usize> {
    let (mut large, small) = if left.len() < right.len() {
        (right, left)
    } else {
        (left, right)
    };
    for (key, count) in small {
        *large.entry(key).or_insert(0) += count;
    }
    large
}

/// What `work` makes of each chunk, at the same time.
fn of_chunks<R: Send>(values: &[u64], work: impl Fn(&[u64]) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let len = values.len().div_ceil(processors).max(1);
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = values
            .chunks(len)
            .map(|chunk| scope.spawn(move || work(chunk)))
            .collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("counts do not panic"));
        results.collect()
    })
}

impl Keys for Chunks {
    fn count(values: &[u64]) -> Vec<(u64, usize)> {
        let counts = of_chunks(values, count).into_iter();
        counts
            .reduce(merged)
            .unwrap_or_default()
            .into_iter()
            .collect()
    }

    fn join(values: &[u64], table: &[Row]) -> u64 {
        let table: HashMap<u64, u64> = table.iter().copied().collect();
        let sums = of_chunks(values, |values| {
            let found = values
                .iter()
                .filter_map(|value| Some(value ^ table.get(value)?));
            found.fold(0, u64::wrapping_add)
        });
        sums.into_iter().fold(0, u64::wrapping_add)
    }

    /// Nobody would sort like this by hand: as the standard library does.
    fn sort(values: &mut [u64]) {
        Sequential::sort(values);
    }

    fn sort_stable(values: &mut [u64]) {
        Sequential::sort_stable(values);
    }
}
