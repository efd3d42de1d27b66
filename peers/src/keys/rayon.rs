//! rayon: a map for each fold, joined in the end; a map built by one thread and probed by all.

use hashbrown::HashMap;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator, ParallelSliceMut};

use crate::keys::chunks::merged;
use crate::keys::{Keys, Row};

#[derive(Debug)]
pub(crate) struct Rayon;

impl Keys for Rayon {
    fn count(values: &[u64]) -> Vec<(u64, usize)> {
        let counts = values.par_iter().fold(HashMap::new, |mut counts, &value| {
            *counts.entry(value).or_insert(0) += 1;
            counts
        });
        counts.reduce(HashMap::new, merged).into_iter().collect()
    }

    fn join(values: &[u64], table: &[Row]) -> u64 {
        let table: HashMap<u64, u64> = table.iter().copied().collect();
        let found = values
            .par_iter()
            .filter_map(|value| Some(value ^ table.get(value)?));
        found.reduce(|| 0, u64::wrapping_add)
    }

    fn sort(values: &mut [u64]) {
        values.par_sort_unstable();
    }

    fn sort_stable(values: &mut [u64]) {
        values.par_sort();
    }
}
