//! Collections of indexmap, hashbrown and ndarray: looped over by position where they can be cut, and as what queries are
//! collected into.

use crate::support::in_time;
use hashbrown::{HashMap, HashSet};
use indexmap::{IndexMap, map};
use manyhands::Runtime;
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options, Producer};
use manyhands::query::{ExecutionMode, FromQuery, Pipeline, Query, prelude::*};
use ndarray::iter::{AxisChunksIterMut, AxisIter};
use ndarray::{Array1, Array2, ArrayViewMut2, Axis, Ix1, Ix2};
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The entries of an ordered map.
struct Entries<'a, K, V>(&'a map::Slice<K, V>);

impl<'a, K: Sync, V: Sync> Producer for Entries<'a, K, V> {
    type Item = (&'a K, &'a V);
    fn len(&self) -> usize {
        self.0.len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at(index);
        (Self(left), Self(right))
    }
    fn into_iter(self) -> impl Iterator<Item = Self::Item> {
        self.0.iter()
    }
}

/// The values of an ordered map, to be changed.
struct EntriesMut<'a, K, V>(&'a mut map::Slice<K, V>);

impl<'a, K: Send + Sync, V: Send> Producer for EntriesMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);
    fn len(&self) -> usize {
        self.0.len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.0.split_at_mut(index);
        (Self(left), Self(right))
    }
    fn into_iter(self) -> impl Iterator<Item = Self::Item> {
        self.0.iter_mut()
    }
}

/// The rows of an array.
struct Rows<'a, T>(AxisIter<'a, T, Ix1>);

impl<'a, T: Sync> Producer for Rows<'a, T> {
    type Item = ndarray::ArrayView1<'a, T>;
    fn len(&self) -> usize {
        self.0.len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (above, below) = self.0.split_at(index);
        (Self(above), Self(below))
    }
    fn into_iter(self) -> impl Iterator<Item = Self::Item> {
        self.0
    }
}

/// Bands of rows of an array, to be changed.
struct BandsMut<'a, T>(AxisChunksIterMut<'a, T, Ix2>);

impl<'a, T: Send + Sync> Producer for BandsMut<'a, T> {
    type Item = ArrayViewMut2<'a, T>;
    fn len(&self) -> usize {
        self.0.len()
    }
    fn split_at(self, index: usize) -> (Self, Self) {
        let (above, below) = self.0.split_at(index);
        (Self(above), Self(below))
    }
    fn into_iter(self) -> impl Iterator<Item = Self::Item> {
        self.0
    }
}

/// A collection of another crate, made of a query.
struct Made<C>(C);

impl<K: Hash + Eq + Send, V: Send> FromQuery<(K, V)> for Made<IndexMap<K, V>> {
    fn from_vec(items: Vec<(K, V)>) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<K: Hash + Eq + Send, V: Send> FromQuery<(K, V)> for Made<HashMap<K, V>> {
    fn from_vec(items: Vec<(K, V)>) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Hash + Eq + Send> FromQuery<T> for Made<HashSet<T>> {
    fn from_vec(items: Vec<T>) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Send> FromQuery<T> for Made<Array1<T>> {
    fn from_vec(items: Vec<T>) -> Self {
        Self(Array1::from_vec(items))
    }
}

/// On a pool of two workers; queries let others join at once.
fn on_pool(work: impl FnOnce() + Send + 'static) {
    in_time(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        runtime.install(work);
    });
}

fn shared<P: Pipeline>(query: Query<'static, P>) -> Query<'static, P> {
    query.execution_mode(ExecutionMode::Parallel)
}

const LENS: [usize; 5] = [0, 1, 2, 7, 1_000];

#[test]
fn an_ordered_map_is_looped_over_by_position_and_collected_in_order() {
    on_pool(|| {
        for len in LENS {
            let pairs = || shared((0..len).into_par_query()).map(|n| (n.to_string(), n));
            let Made(mut map): Made<IndexMap<String, usize>> = pairs().collect();
            assert!(map.values().copied().eq(0..len));
            assert_eq!(map.get_index_of("1"), (len > 1).then_some(1));
            parallel::for_each(EntriesMut(map.as_mut_slice()), |(key, n)| *n += key.len());
            let expected: Vec<_> = (0..len).map(|n| n + n.to_string().len()).collect();
            let entries = || Entries(map.as_slice());
            assert_eq!(parallel::map(entries(), |(_, n)| *n), expected);
            let query = || shared(entries().into_par_query().map(|(_, n)| *n));
            assert_eq!(query().to_vec(), expected);
            assert_eq!(query().rev().last(), expected.first().copied());
            assert!(query().enumerate().all(|(n, value)| expected[n] == value));
        }
    });
}

#[test]
fn the_last_of_equal_keys_remains() {
    on_pool(|| {
        let pairs = || shared((0..1_000).into_par_query()).map(|n| (n % 10, n));
        let Made(map): Made<IndexMap<usize, usize>> = pairs().collect();
        assert!(map.into_iter().eq((0..10).map(|key| (key, 990 + key))));
        let Made(map): Made<HashMap<usize, usize>> = pairs().collect();
        assert!((0..10).all(|key| map[&key] == 990 + key));
    });
}

#[test]
fn a_hash_table_is_pulled_or_listed_and_collected() {
    on_pool(|| {
        for len in LENS {
            let Made(mut map): Made<HashMap<usize, usize>> =
                shared((0..len).into_par_query()).map(|n| (n, 0)).collect();
            parallel::for_each(parallel::from_iter(&mut map), |(key, n)| *n = key * 2);
            let entries: Vec<_> = map.iter().collect();
            assert!(entries.par_query().all(|(key, n)| **n == *key * 2));
            let Made(set): Made<HashSet<usize>> =
                shared(parallel::from_iter(&map).into_par_query())
                    .map(|(_, n)| *n)
                    .collect();
            assert_eq!(set, (0..len).map(|n| 2 * n).collect());
        }
    });
}

#[test]
fn the_rows_of_an_array_are_looped_over_by_position() {
    on_pool(|| {
        for len in LENS {
            let mut array = Array2::<usize>::zeros((len, 3));
            let mut bands = BandsMut(array.axis_chunks_iter_mut(Axis(0), 4));
            assert_eq!(bands.len(), len.div_ceil(4));
            bands = bands.split_at(0).1;
            let number = |(n, mut band): (usize, ArrayViewMut2<'_, usize>)| band.fill(n);
            shared(bands.into_par_query()).enumerate().for_each(number);
            let rows = || Rows(array.axis_iter(Axis(0)));
            let expected: Vec<_> = (0..len).map(|n| n / 4 * 3).collect();
            assert_eq!(parallel::map(rows(), |row| row.sum()), expected);
            let sums = shared(rows().into_par_query()).map(|row| row.sum());
            let Made(sums): Made<Array1<usize>> = sums.collect();
            assert_eq!(sums.to_vec(), expected);
        }
    });
}

#[test]
fn a_loop_that_panics_or_is_cancelled_leaves_the_map_whole() {
    on_pool(|| {
        let shared = Arc::new(());
        let mut map: IndexMap<usize, Arc<()>> =
            (0..500).map(|n| (n, Arc::clone(&shared))).collect();
        let stop = TokenSource::new();
        let cancelled = Options::new().cancellation(&stop.token()).for_each(
            EntriesMut(map.as_mut_slice()),
            |(key, item)| {
                *item = Arc::default();
                if *key == 250 {
                    stop.cancel();
                }
            },
        );
        assert!(cancelled.is_err());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            parallel::for_each(EntriesMut(map.as_mut_slice()), |(key, item)| {
                *item = Arc::clone(&shared);
                assert_ne!(*key, 250, "as planned");
            });
        }));
        assert!(panicked.is_err());
        let collected = catch_unwind(AssertUnwindSafe(|| {
            let items = Entries(map.as_slice()).into_par_query().map(|(key, item)| {
                assert_ne!(*key, 400, "as planned");
                (*key, Arc::clone(item))
            });
            items.collect::<Made<IndexMap<_, _>>>().0
        }));
        assert!(collected.is_err());
        let held = map
            .values()
            .filter(|item| Arc::ptr_eq(item, &shared))
            .count();
        assert_eq!((map.len(), Arc::strong_count(&shared)), (500, held + 1));
    });
}
