//! Results that can be merged: what a query that is wrapped whole returns for each part of its input.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, btree_map, hash_map},
    hash::{BuildHasher, Hash},
    ops::AddAssign,
};

/// A result for a part of the input that can take up the result for the part behind it.
///
/// Merging must be associative: `(a ∪ b) ∪ c` is `a ∪ (b ∪ c)`. It need not be commutative, because parts are merged in
/// the order of the input. Into how many parts an input is cut depends on how long it takes, so a result that depends on
/// that would not repeat; numbers with a fraction are not here for this reason.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Greatest, Merge, Total};
/// use std::collections::BTreeMap;
///
/// let mut counts = BTreeMap::from([("a", Total(1)), ("b", Total(5))]);
/// counts.merge(BTreeMap::from([("a", Total(2))]));
/// assert_eq!(counts["a"], Total(3));
///
/// let mut both = (vec![1, 2], Greatest(7));
/// both.merge((vec![3], Greatest(5)));
/// assert_eq!(both, (vec![1, 2, 3], Greatest(7)));
/// ```
pub trait Merge {
    /// Takes up the result of the next part.
    fn merge(&mut self, next: Self);
}

/// A sum, also a count.
///
/// Example: see [`Merge`].
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Total<T>(pub T);

/// The least of some values.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Least, Merge};
///
/// let mut least = Some(Least("b"));
/// least.merge(None);
/// least.merge(Some(Least("a")));
/// assert_eq!(least, Some(Least("a")));
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Least<T>(pub T);

/// The greatest of some values.
///
/// Example: see [`Merge`].
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Greatest<T>(pub T);

macro_rules! totals {
    ($($number:ty)*) => {$(
        impl Merge for Total<$number> {
            fn merge(&mut self, next: Self) {
                self.0.add_assign(next.0);
            }
        }
    )*};
}
totals!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);

impl<T: Ord> Merge for Least<T> {
    fn merge(&mut self, next: Self) {
        // Of two that are equal the first stays.
        if next.0.cmp(&self.0).is_lt() {
            *self = next;
        }
    }
}

impl<T: Ord> Merge for Greatest<T> {
    fn merge(&mut self, next: Self) {
        if next.0.cmp(&self.0).is_gt() {
            *self = next;
        }
    }
}

impl Merge for () {
    fn merge(&mut self, (): Self) {}
}

/// `None` adds nothing.
impl<T: Merge> Merge for Option<T> {
    fn merge(&mut self, next: Self) {
        match (self.as_mut(), next) {
            (Some(own), Some(next)) => own.merge(next),
            (None, Some(next)) => *self = Some(next),
            (_, None) => {}
        }
    }
}

impl Merge for String {
    fn merge(&mut self, next: Self) {
        self.push_str(&next);
    }
}

impl<T> Merge for Vec<T> {
    fn merge(&mut self, next: Self) {
        self.extend(next);
    }
}

impl<T: Ord> Merge for BTreeSet<T> {
    fn merge(&mut self, next: Self) {
        self.extend(next);
    }
}

impl<T: Eq + Hash, S: BuildHasher> Merge for HashSet<T, S> {
    fn merge(&mut self, next: Self) {
        self.extend(next);
    }
}

/// Values of the same key are merged.
impl<K: Ord, V: Merge> Merge for BTreeMap<K, V> {
    fn merge(&mut self, next: Self) {
        for (key, value) in next {
            match self.entry(key) {
                btree_map::Entry::Vacant(entry) => drop(entry.insert(value)),
                btree_map::Entry::Occupied(mut entry) => entry.get_mut().merge(value),
            }
        }
    }
}

/// Values of the same key are merged.
impl<K: Eq + Hash, V: Merge, S: BuildHasher> Merge for HashMap<K, V, S> {
    fn merge(&mut self, next: Self) {
        for (key, value) in next {
            match self.entry(key) {
                hash_map::Entry::Vacant(entry) => drop(entry.insert(value)),
                hash_map::Entry::Occupied(mut entry) => entry.get_mut().merge(value),
            }
        }
    }
}

impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, next: Self) {
        self.0.merge(next.0);
        self.1.merge(next.1);
    }
}

impl<A: Merge, B: Merge, C: Merge> Merge for (A, B, C) {
    fn merge(&mut self, next: Self) {
        self.0.merge(next.0);
        self.1.merge(next.1);
        self.2.merge(next.2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// What a part of the numbers becomes, of every kind at once.
    fn of(part: &[u32]) -> impl Merge + PartialEq + std::fmt::Debug + use<> {
        let numbers = part.iter().copied();
        let by_tens = numbers.clone().map(|n| (n / 10, vec![n]));
        let mut groups = BTreeMap::new();
        for (key, value) in by_tens {
            groups.entry(key).or_insert_with(Vec::new).extend(value);
        }
        let count: HashMap<u32, Total<u32>> = groups
            .iter()
            .map(|(key, values)| (*key, Total(values.iter().sum())))
            .collect();
        let ends = (
            numbers.clone().min().map(Least),
            numbers.clone().max().map(Greatest),
        );
        let text: String = part.iter().map(u32::to_string).collect();
        let sets: (BTreeSet<u32>, HashSet<u32>) = (numbers.clone().collect(), numbers.collect());
        ((groups, count, ends), text, sets)
    }

    #[test]
    fn however_an_input_is_cut_its_parts_merge_to_the_same() {
        let input: Vec<u32> = (0..9).map(|n| n * 7 % 23).collect();
        for first in 0..=input.len() {
            for second in first..=input.len() {
                let mut merged = of(&input[..first]);
                merged.merge(of(&input[first..second]));
                merged.merge(of(&input[second..]));
                assert_eq!(merged, of(&input), "{first} {second}");
            }
        }
    }

    /// Ordered backwards for a heap, by `Ord` alone.
    #[expect(
        clippy::derive_ord_xor_partial_ord,
        reason = "common, and what iterators do not mind"
    )]
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
    struct Backwards(u32);

    impl Ord for Backwards {
        fn cmp(&self, other: &Self) -> Ordering {
            other.0.cmp(&self.0)
        }
    }

    #[test]
    fn the_least_and_the_greatest_go_by_ord_as_iterators_do() {
        let both = [Backwards(1), Backwards(2)];
        let [mut ends, next] = both.map(|one| (Least(one), Greatest(one)));
        ends.merge(next);
        let expected = both.iter().copied().min().zip(both.iter().copied().max());
        assert_eq!(Some((ends.0.0, ends.1.0)), expected);
    }
}
