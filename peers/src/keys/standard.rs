//! One thread, the standard library's map with the hash function that it has by default: what a first user counts with.

use std::collections::HashMap;

use crate::keys::Keys;

#[derive(Debug)]
pub(crate) struct Standard;

impl Keys for Standard {
    fn count(values: &[u64]) -> Vec<(u64, usize)> {
        let mut counts = HashMap::new();
        for &value in values {
            *counts.entry(value).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }
}
