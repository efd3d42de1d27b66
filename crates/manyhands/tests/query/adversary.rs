//! Data prepared by an attacker who knows the code: sorts and keys take at most a small multiple of the
//! comparisons that they take on other data. Counted, not timed.

use crate::support::{few_settings, within_limit};
use manyhands::query::prelude::*;
use manyhands::{Runtime, parallel::Options};
use std::cmp::Ordering as Order;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

const LEN: usize = 20_000;

/// Decides which value is smaller only when it is asked, so that a value that is compared with many others turns out
/// to be smaller than nearly all (McIlroy, *A Killer Adversary for Quicksort*, 1999).
struct Adversary(Mutex<Decided>);

struct Decided {
    /// `usize::MAX` while it is open.
    values: Vec<usize>,
    next: usize,
    candidate: usize,
    comparisons: usize,
}

impl Adversary {
    fn new(len: usize) -> Self {
        Self(Mutex::new(Decided {
            values: vec![usize::MAX; len],
            next: 0,
            candidate: 0,
            comparisons: 0,
        }))
    }

    fn compare(&self, left: usize, right: usize) -> Order {
        let mut decided = self.0.lock().expect("nothing panics under it");
        let decided = &mut *decided;
        decided.comparisons += 1;
        let is_open = |decided: &Decided, item: usize| decided.values[item] == usize::MAX;
        if is_open(decided, left) && is_open(decided, right) {
            let settled = if left == decided.candidate {
                left
            } else {
                right
            };
            decided.values[settled] = decided.next;
            decided.next += 1;
        }
        if is_open(decided, left) {
            decided.candidate = left;
        } else if is_open(decided, right) {
            decided.candidate = right;
        }
        decided.values[left].cmp(&decided.values[right])
    }

    /// How many comparisons were made, and the values that were decided on.
    fn into_outcome(self) -> (usize, Vec<usize>) {
        let decided = self.0.into_inner().expect("nothing panics under it");
        let open = decided.next..;
        let values = decided.values.into_iter().zip(open);
        let values = values.map(|(value, later)| value.min(later));
        (decided.comparisons, values.collect())
    }
}

/// A pool on which expensive comparisons are shared.
static POOL: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::builder().workers(2).build().expect("starts"));

fn options() -> Options<'static> {
    Options::new()
        .runtime(&POOL)
        .degree_of_parallelism(2)
        .expect("at least 1")
}

/// Sorts or selects among these numbers, by a comparison.
type Work<'a> = &'a (dyn Fn(&mut Vec<usize>, &(dyn Fn(usize, usize) -> Order + Sync)) + Sync);

/// At most this number of comparisons for each item, also on the data that the adversary has decided on.
fn check(what: &str, work: Work<'_>, most_per_item: usize) {
    let adversary = Adversary::new(LEN);
    let mut items: Vec<usize> = (0..LEN).collect();
    work(&mut items, &|left, right| adversary.compare(left, right));
    let (comparisons, values) = adversary.into_outcome();
    assert!(
        comparisons <= most_per_item * LEN,
        "{what}: {comparisons} comparisons by an adversary"
    );
    let replayed = AtomicUsize::new(0);
    let mut items: Vec<usize> = (0..LEN).collect();
    work(&mut items, &|left, right| {
        replayed.fetch_add(1, Ordering::Relaxed);
        // So that it pays to share.
        std::hint::black_box((0..20).fold(left, |n, m| n ^ m));
        values[left].cmp(&values[right])
    });
    let replayed = replayed.into_inner();
    assert!(
        replayed <= most_per_item * LEN,
        "{what}: {replayed} comparisons of prepared data"
    );
}

#[test]
fn no_prepared_data_makes_sorts_compare_much_more() {
    within_limit(|| {
        let sort: Work<'_> = &|items, compare| options().sort_by(items, |a, b| compare(*a, *b));
        check("sort", sort, 2 * LEN.ilog2() as usize);
        let unstable: Work<'_> =
            &|items, compare| options().sort_unstable_by(items, |a, b| compare(*a, *b));
        check("sort_unstable", unstable, 6 * LEN.ilog2() as usize);
        for setting in few_settings() {
            check(
                "order_with",
                &|items, compare| {
                    let items: Vec<usize> = std::mem::take(items);
                    let query = setting.set(items.into_par_query());
                    query.order_with(|a, b| compare(*a, *b)).to_vec();
                },
                2 * LEN.ilog2() as usize,
            );
            for count in [1, 100, LEN / 4] {
                check(
                    "take behind order_with",
                    &|items, compare| {
                        let items: Vec<usize> = std::mem::take(items);
                        let query = setting.set(items.into_par_query());
                        let sorted = query.order_with(|a, b| compare(*a, *b)).take(count);
                        assert_eq!(sorted.to_vec().len(), count);
                    },
                    80,
                );
            }
        }
    });
}

/// How often keys were compared.
static EQUALITIES: AtomicUsize = AtomicUsize::new(0);

/// A key that counts.
#[derive(Debug, Clone, Copy, PartialOrd, Ord)]
struct Key<T>(T);

impl<T: PartialEq> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        EQUALITIES.fetch_add(1, Ordering::Relaxed);
        self.0 == other.0
    }
}

impl<T: Eq> Eq for Key<T> {}

impl<T: Hash> Hash for Key<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Runs all operators that look keys up; few comparisons distinguish `LEN` different keys.
fn check_keys<T: Hash + Eq + Ord + Copy + Send + Sync + 'static>(what: &str, keys: &[T]) {
    let distinct: HashSet<T> = keys.iter().copied().collect();
    assert_eq!(distinct.len(), LEN, "{what}");
    let counted = |name: &str, work: &dyn Fn() -> usize| {
        EQUALITIES.store(0, Ordering::Relaxed);
        assert_eq!(work(), LEN, "{what} {name}");
        let equalities = EQUALITIES.load(Ordering::Relaxed);
        assert!(
            equalities <= 8 * LEN,
            "{what} {name}: {equalities} comparisons of keys"
        );
    };
    for setting in few_settings() {
        let own: Vec<T> = keys.to_vec();
        let query = || setting.set(own.clone().into_par_query()).map(Key);
        counted("distinct", &|| query().distinct().count());
        counted("distinct_by", &|| query().distinct_by(|key| *key).count());
        counted("group_by", &|| query().group_by(|key| *key).count());
        counted("count_by", &|| query().count_by(|key| *key).count());
        counted("union", &|| query().union(query()).count());
        counted("intersect", &|| query().intersect(query()).count());
        counted("except", &|| LEN + query().except(query()).count());
        counted("join", &|| {
            query()
                .join(query(), |key| *key, |key| *key, |a, _| *a)
                .count()
        });
        counted("fold_by", &|| {
            query()
                .fold_by(
                    |key| *key,
                    || 0,
                    |sum, _| *sum += 1,
                    |sum, more| *sum += more,
                )
                .count()
        });
        counted("collect", &|| {
            let map: HashMap<_, _> = query().map(|key| (key, ())).collect();
            map.len()
        });
    }
}

#[test]
fn no_series_of_keys_known_to_be_bad_for_other_hash_functions_collides_here() {
    within_limit(|| {
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        // The inverse of the golden ratio: products with it are small.
        let mut inverse = GOLDEN;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(GOLDEN.wrapping_mul(inverse)));
        }
        assert_eq!(inverse.wrapping_mul(GOLDEN), 1);
        let series: [(&str, &dyn Fn(u64) -> u64); 8] = [
            ("in a row", &|n| n),
            ("high bits", &|n| n << 48),
            ("middle bits", &|n| n << 24),
            ("mirrored", &|n| n.reverse_bits()),
            ("small products", &|n| n.wrapping_mul(inverse)),
            ("high products", &|n| (n << 48).wrapping_mul(inverse)),
            ("middle products", &|n| (n << 20).wrapping_mul(inverse)),
            ("both halves", &|n| n << 32 | n),
        ];
        for (what, key) in series {
            let keys: Vec<u64> = (0..LEN as u64).map(key).collect();
            check_keys(what, &keys);
            let pairs: Vec<(u64, u64)> = keys.iter().map(|&n| (n, n.wrapping_neg())).collect();
            check_keys(what, &pairs);
        }
    });
}

#[test]
fn a_key_is_computed_once_for_each_item_whatever_it_gives() {
    within_limit(|| {
        for setting in few_settings() {
            for len in [2, 30, 500, 5_000_usize] {
                let calls: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
                let random = AtomicUsize::new(1);
                let key = |n: &usize| {
                    calls[*n].fetch_add(1, Ordering::Relaxed);
                    let number = random.fetch_add(0x9E37_79B9, Ordering::Relaxed);
                    number.wrapping_mul(0x85EB_CA6B) % 1_009
                };
                for take in [len, (len / 8).max(1)] {
                    let sorted = setting.set((0..len).into_par_query()).order_by(key);
                    let mut sorted = sorted.then_by_descending(|_| ()).take(take).to_vec();
                    sorted.sort_unstable();
                    sorted.dedup();
                    assert_eq!(sorted.len(), take, "{setting:?}");
                    let once = calls
                        .iter()
                        .all(|calls| calls.swap(0, Ordering::Relaxed) == 1);
                    assert!(once, "{setting:?}, {take} of {len}");
                }
            }
        }
        let _ = Vec::<u8>::new().into_par_query().order().count();
    });
}

/// What stays of equal keys is what stays in the standard library's collections.
#[test]
fn of_equal_items_a_collection_keeps_the_one_that_the_standard_library_keeps() {
    use std::collections::{BTreeMap, BTreeSet};
    within_limit(|| {
        /// Equal by the first part.
        #[derive(Debug, Clone, Copy)]
        struct Named(usize, usize);
        impl PartialEq for Named {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }
        impl Eq for Named {}
        impl PartialOrd for Named {
            fn partial_cmp(&self, other: &Self) -> Option<Order> {
                Some(self.cmp(other))
            }
        }
        impl Ord for Named {
            fn cmp(&self, other: &Self) -> Order {
                self.0.cmp(&other.0)
            }
        }
        impl Hash for Named {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }
        // Some repeat thrice and some thirty times: sets and maps are made in two ways.
        for keys in [100, 1_000] {
            let item = |n: usize| Named(n % keys, n);
            let pair = |n: usize| (item(n), n);
            let flat = |named: Named| (named.0, named.1);
            let twin = || (0..3_000).map(item);
            let set: Vec<_> = twin()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(flat)
                .collect();
            let map = (0..3_000).map(pair).collect::<BTreeMap<_, _>>();
            let map: Vec<_> = map.into_iter().map(|(key, n)| (flat(key), n)).collect();
            let mut hash_set: Vec<_> = twin()
                .collect::<HashSet<_>>()
                .into_iter()
                .map(flat)
                .collect();
            hash_set.sort_unstable();
            let hash_map = (0..3_000).map(pair).collect::<HashMap<_, _>>();
            let mut hash_map: Vec<_> = hash_map
                .into_iter()
                .map(|(key, n)| (flat(key), n))
                .collect();
            hash_map.sort_unstable();
            for setting in few_settings() {
                let query = || setting.set((0..3_000).into_par_query());
                let found = query().map(item).collect::<BTreeSet<_>>();
                assert!(found.into_iter().map(flat).eq(set.iter().copied()));
                let found = query().map(pair).collect::<BTreeMap<_, _>>();
                let found = found.into_iter().map(|(key, n)| (flat(key), n));
                assert!(found.eq(map.iter().copied()));
                let found = query().map(item).collect::<HashSet<_>>();
                let mut found: Vec<_> = found.into_iter().map(flat).collect();
                found.sort_unstable();
                assert_eq!(found, hash_set);
                let found = query().map(pair).collect::<HashMap<_, _>>();
                let mut found: Vec<_> = found.into_iter().map(|(key, n)| (flat(key), n)).collect();
                found.sort_unstable();
                assert_eq!(found, hash_map);
            }
        }
    });
}
