//! Sorts, sets, groups and joins against their sequential twins. Items carry their number, which shows which of equal
//! ones was kept, and in which order.

use crate::setting::{Setting, any_setting};
use crate::support::{few_settings, within_limit};
use manyhands::query::{self, Pipeline, Query, prelude::*};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::test_runner::FileFailurePersistence;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// A key and the item's number.
type Item = (u8, usize);

/// Two keys and the item's number.
type Pair = ((u8, u8), usize);

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 40,
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as Box<_>),
        ..ProptestConfig::default()
    }
}

fn numbered(keys: &[u8]) -> Vec<Item> {
    keys.iter().copied().zip(0..).collect()
}

/// The groups of some items, by their first items.
fn groups_of<K: std::hash::Hash + Eq + Copy, T: Copy>(
    items: &[T],
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let (mut numbers, mut groups) = (HashMap::new(), Vec::<(K, Vec<T>)>::new());
    for item in items {
        let key = key(item);
        let number = *numbers.entry(key).or_insert(groups.len());
        if number == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[number].1.push(*item);
    }
    groups
}

fn firsts(items: &[Item]) -> Vec<Item> {
    let mut seen = HashSet::new();
    items
        .iter()
        .copied()
        .filter(|item| seen.insert(item.0))
        .collect()
}

fn check_groups(items: &[Item], setting: Setting) {
    let groups = groups_of(items, |item| item.0);
    let query = || setting.set(items.par_query()).copied();
    let found = query()
        .group_by(|item| item.0)
        .map(query::Group::into_parts);
    assert_eq!(found.to_vec(), groups, "{setting:?}");
    let counts: Vec<_> = groups
        .iter()
        .map(|(key, items)| (*key, items.len()))
        .collect();
    assert_eq!(
        query().count_by(|item| item.0).to_vec(),
        counts,
        "{setting:?}"
    );
    let sums: Vec<_> = groups
        .iter()
        .map(|(key, items)| (*key, items.iter().map(|item| item.1).sum::<usize>()))
        .collect();
    let found = query().fold_by(
        |item| item.0,
        || 0,
        |sum, item| *sum += item.1,
        |sum, other| *sum += other,
    );
    assert_eq!(found.to_vec(), sums, "{setting:?}");
    let texts: Vec<_> = groups
        .iter()
        .map(|(key, items)| {
            (
                *key,
                items
                    .iter()
                    .fold(key.to_string(), |text, item| text + &item.1.to_string()),
            )
        })
        .collect();
    let found = query().aggregate_by(
        |item| item.0,
        u8::to_string,
        |text, item| *text += &item.1.to_string(),
    );
    assert_eq!(found.to_vec(), texts, "{setting:?}");
    let mut found = query()
        .unordered()
        .group_by(|item| item.0)
        .map(query::Group::into_parts)
        .to_vec();
    let mut expected = groups;
    found.sort_by_key(|group| group.0);
    expected.sort_by_key(|group| group.0);
    assert_eq!(found, expected, "{setting:?}");
}

fn check_sets(items: &[Item], others: &[u8], setting: Setting) {
    let query = || setting.set(items.par_query()).copied();
    let others_set: HashSet<u8> = others.iter().copied().collect();
    assert_eq!(query().distinct_by(|item| item.0).to_vec(), firsts(items));
    let both = firsts(items)
        .into_iter()
        .filter(|item| others_set.contains(&item.0));
    assert_eq!(
        query()
            .intersect_by(others.par_query().copied(), |item| item.0)
            .to_vec(),
        both.collect::<Vec<_>>()
    );
    let rest = firsts(items)
        .into_iter()
        .filter(|item| !others_set.contains(&item.0));
    assert_eq!(
        query()
            .except_by(others.par_query().copied(), |item| item.0)
            .to_vec(),
        rest.collect::<Vec<_>>()
    );
    let all: Vec<Item> = items
        .iter()
        .copied()
        .chain(others.iter().map(|key| (*key, usize::MAX)))
        .collect();
    let more = others.par_query().map(|key| (*key, usize::MAX));
    assert_eq!(query().union_by(more, |item| item.0).to_vec(), firsts(&all));

    let keys = || query().map(|item| item.0);
    let key_of = |items: Vec<Item>| items.into_iter().map(|item| item.0).collect::<Vec<_>>();
    let in_others =
        |wanted: bool| move |set: &HashSet<u8>, item: &Item| set.contains(&item.0) == wanted;
    assert_eq!(keys().distinct().to_vec(), key_of(firsts(items)));
    let both = firsts(items)
        .into_iter()
        .filter(|item| in_others(true)(&others_set, item));
    assert_eq!(
        keys().intersect(others.par_query().copied()).to_vec(),
        key_of(both.collect())
    );
    let rest = firsts(items)
        .into_iter()
        .filter(|item| in_others(false)(&others_set, item));
    assert_eq!(
        keys().except(others.par_query().copied()).to_vec(),
        key_of(rest.collect())
    );
    assert_eq!(
        keys().union(others.par_query().copied()).to_vec(),
        key_of(firsts(&all))
    );
    let some: HashSet<u8> = keys().unordered().distinct().to_vec().into_iter().collect();
    assert_eq!(some.len(), firsts(items).len());
}

fn check_joins(items: &[Item], others: &[Item], setting: Setting) {
    let partners = |key: u8| others.iter().filter(move |other| other.0 == key);
    let query = || setting.set(items.par_query()).copied();
    let pairs: Vec<_> = items
        .iter()
        .flat_map(|item| partners(item.0).map(|other| (*item, *other)))
        .collect();
    let found = query().join(
        others,
        |item| item.0,
        |other| other.0,
        |item, other| (*item, **other),
    );
    assert_eq!(found.to_vec(), pairs, "{setting:?}");
    let left: Vec<_> = items
        .iter()
        .flat_map(|item| {
            let mut found: Vec<_> = partners(item.0)
                .map(|other| (*item, Some(*other)))
                .collect();
            if found.is_empty() {
                found.push((*item, None));
            }
            found
        })
        .collect();
    let found = query().left_join(
        others,
        |item| item.0,
        |other| other.0,
        |item, other| (*item, other.map(|other| **other)),
    );
    assert_eq!(found.to_vec(), left, "{setting:?}");
    let grouped: Vec<_> = items
        .iter()
        .map(|item| (*item, partners(item.0).copied().collect::<Vec<_>>()))
        .collect();
    let found = query().group_join(
        others,
        |item| item.0,
        |other| other.0,
        |item, others| (item, others.map(|other| **other).collect::<Vec<_>>()),
    );
    assert_eq!(found.to_vec(), grouped, "{setting:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn groups_are_complete_and_in_the_order_of_their_first_items(keys in vec(0..20_u8, 0..200), setting in any_setting()) {
        check_groups(&numbered(&keys), setting);
    }

    #[test]
    fn sets_keep_the_first_of_equal_items_in_its_place(keys in vec(0..40_u8, 0..200), others in vec(0..40_u8, 0..50), setting in any_setting()) {
        check_sets(&numbered(&keys), &others, setting);
    }

    #[test]
    fn joins_pair_every_match_in_the_order_of_both_sides(keys in vec(0..20_u8, 0..60), others in vec(0..20_u8, 0..60), setting in any_setting()) {
        check_joins(&numbered(&keys), &numbered(&others), setting);
    }

    #[test]
    fn sorts_are_stable_and_further_keys_settle_ties(keys in vec((0..4_u8, 0..4_u8), 0..200), setting in any_setting()) {
        let items: Vec<_> = keys.into_iter().zip(0_usize..).collect();
        let query = || setting.set(items.par_query()).copied();
        let sorted = |compare: fn(&Pair, &Pair) -> std::cmp::Ordering| {
            let mut sorted = items.clone();
            sorted.sort_by(compare);
            sorted
        };
        let by_first = sorted(|a, b| a.0.0.cmp(&b.0.0));
        assert_eq!(query().order_by(|item| item.0.0).to_vec(), by_first);
        assert_eq!(query().unordered().order_by(|item| item.0.0).take(5).to_vec(), by_first.iter().copied().take(5).collect::<Vec<_>>());
        assert_eq!(query().order_by_descending(|item| item.0.0).to_vec(), sorted(|a, b| b.0.0.cmp(&a.0.0)));
        let both = query().order_by(|item| item.0.0).then_by_descending(|item| item.0.1);
        assert_eq!(both.to_vec(), sorted(|a, b| a.0.0.cmp(&b.0.0).then(b.0.1.cmp(&a.0.1))));
        let all = query().order_by_descending(|item| item.0.1).then_by(|item| item.0.0).then_with(|a, b| b.1.cmp(&a.1));
        assert_eq!(all.to_vec(), sorted(|a, b| b.0.1.cmp(&a.0.1).then(a.0.0.cmp(&b.0.0)).then(b.1.cmp(&a.1))));
        assert_eq!(query().order_descending().to_vec(), sorted(|a, b| b.cmp(a)));
        for count in [0, 1, 2, items.len() / 2, items.len(), items.len() + 1] {
            assert_eq!(query().order_by(|item| item.0.0).take(count).to_vec(), by_first[..count.min(items.len())]);
            let part = query().order_by(|item| item.0.0).skip(count / 2).take(count).enumerate();
            assert_eq!(part.to_vec(), by_first.iter().copied().skip(count / 2).take(count).enumerate().collect::<Vec<_>>());
        }
        assert_eq!(query().filter(|item| item.1 % 3 > 0).order().to_vec(), items.iter().copied().filter(|item| item.1 % 3 > 0).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_lookup_is_complete(keys in vec(any::<u8>(), 0..200), setting in any_setting()) {
        let items = numbered(&keys);
        let lookup = setting.set(items.par_query()).copied().to_lookup(|item| item.0);
        let groups = groups_of(&items, |item| item.0);
        assert_eq!(lookup.len(), groups.len());
        assert_eq!(lookup.is_empty(), groups.is_empty());
        assert!(lookup.iter().map(|(key, items)| (*key, items.to_vec())).eq(groups.iter().cloned()));
        for key in 0..=u8::MAX {
            let expected: Vec<_> = items.iter().copied().filter(|item| item.0 == key).collect();
            assert_eq!(lookup.items(&key), expected);
            assert_eq!(lookup.contains(&key), !expected.is_empty());
        }
        assert!(lookup.into_iter().eq(groups));
    }
}

/// The items of this query have these groups and counts, by their first numbers.
fn check_groups_and_counts<P: Pipeline<Item = (u64, u64)>>(
    query: impl Fn() -> Query<'static, P>,
    groups: &[(u64, Vec<(u64, u64)>)],
    what: &str,
) {
    let found = query().group_by(|item| item.0);
    let found = found.map(query::Group::into_parts).to_vec();
    assert!(found == groups, "groups of {what}");
    let found = query().count_by(|item| item.0).to_vec();
    let counts = groups.iter().map(|(key, items)| (*key, items.len()));
    assert!(found.into_iter().eq(counts), "counts of {what}");
}

/// Enough items for tables that grow and are merged, with few and with many keys.
#[test]
fn many_items_with_few_and_many_keys_keep_every_promise() {
    const LEN: u64 = if cfg!(sanitized) { 70_000 } else { 150_000 };
    within_limit(|| {
        for keys in [1, 1_000, 60_000, u64::MAX] {
            let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys;
            let items: Vec<(u64, u64)> = (0..LEN).map(|n| (scattered(n), n)).collect();
            let groups = groups_of(&items, |item| item.0);
            for setting in few_settings() {
                let query = || setting.set(items.par_query()).copied();
                let what = format!("{keys} keys, {setting:?}");
                check_groups_and_counts(query, &groups, &what);
                let found = query().distinct_by(|item| item.0).to_vec();
                assert!(
                    found
                        .into_iter()
                        .eq(groups.iter().map(|(_, items)| items[0])),
                    "first of {keys} keys, {setting:?}"
                );
                let wanted = (0..LEN).into_par_query().filter(|n| n % 3 == 0);
                let found = query()
                    .except_by(wanted.map(scattered), |item| item.0)
                    .to_vec();
                let unwanted: HashSet<u64> =
                    (0..LEN).filter(|n| n % 3 == 0).map(scattered).collect();
                let rest = groups
                    .iter()
                    .filter(|(key, _)| !unwanted.contains(key))
                    .map(|(_, items)| items[0]);
                assert!(
                    found.into_iter().eq(rest),
                    "rest of {keys} keys, {setting:?}"
                );
                let found = (0..999)
                    .into_par_query()
                    .map(scattered)
                    .group_join(
                        query(),
                        |key| *key,
                        |item| item.0,
                        |key, found| (key, found.count()),
                    )
                    .to_vec();
                let counts: HashMap<u64, usize> = groups
                    .iter()
                    .map(|(key, items)| (*key, items.len()))
                    .collect();
                assert!(
                    found
                        .into_iter()
                        .eq((0..999).map(scattered).map(|key| (key, counts[&key]))),
                    "partners of {keys} keys, {setting:?}"
                );
                let found = query().order_by(|item| item.0).to_vec();
                let mut sorted = items.clone();
                sorted.sort_by_key(|item| item.0);
                assert!(found == sorted, "sorted by {keys} keys, {setting:?}");
            }
        }
    });
}

/// Nobody knows how many items a chain has. So runners distribute them by hash as soon as there are many keys.
#[test]
fn groups_of_an_unknown_number_of_items_keep_every_promise() {
    const LEN: u64 = if cfg!(sanitized) { 70_000 } else { 150_000 };
    within_limit(|| {
        for keys in [60_000, u64::MAX] {
            let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % keys;
            let items: Vec<(u64, u64)> = (0..LEN).map(|n| (scattered(n), n)).collect();
            let groups = groups_of(&items, |item| item.0);
            for setting in few_settings() {
                let query = || setting.set(items.par_query()).copied().chain(Vec::new());
                let what = format!("{keys} keys, {setting:?}");
                check_groups_and_counts(query, &groups, &what);
                let found = query().except_by([groups[0].0], |item| item.0).to_vec();
                let firsts = groups.iter().skip(1).map(|(_, items)| items[0]);
                assert!(
                    found.into_iter().eq(firsts),
                    "first of {keys} keys, {setting:?}"
                );
            }
        }
    });
}

#[test]
fn the_first_items_of_a_sort_are_those_of_all_items_sorted() {
    within_limit(|| {
        let items: Vec<(u64, u64)> = (0..20_000).map(|n| (n * 7_919 % 5_003, n)).collect();
        let mut sorted = items.clone();
        sorted.sort_by_key(|item| item.0);
        let mut reversed = items.clone();
        reversed.sort_by_key(|item| Reverse(item.0));
        for setting in few_settings() {
            let query = || setting.set(items.par_query()).copied();
            assert_eq!(query().order_by(|item| item.0).to_vec(), sorted);
            for count in [0, 1, 100, 3_000, 20_000] {
                let first = query().order_by(|item| item.0).take(count);
                assert!(first.to_vec() == sorted[..count], "{count}, {setting:?}");
                let items = query().filter(|_| true);
                let last = items.order_by_descending(|item| item.0).take(count);
                assert!(last.to_vec() == reversed[..count], "{count}, {setting:?}");
                let compared = query().order_with(|a, b| a.0.cmp(&b.0)).take(count);
                assert!(compared.to_vec() == sorted[..count], "{count}, {setting:?}");
            }
        }
    });
}

#[test]
fn a_key_that_takes_long_is_not_computed_for_each_comparison() {
    within_limit(|| {
        for len in [0, 1, 20, 999, 5_000_u64] {
            let calls = AtomicUsize::new(0);
            let key = |n: &u64| {
                calls.fetch_add(1, Relaxed);
                (0..200).fold(*n, |key, _| std::hint::black_box(key ^ 5))
            };
            let sorted = (0..len).into_par_query().rev().order_by(key).to_vec();
            assert!(sorted.into_iter().eq(0..len));
            // Some are computed to measure their cost.
            let (calls, len) = (calls.into_inner(), usize::try_from(len).unwrap());
            assert!(calls <= len + len.min(32), "{calls} keys of {len} items");
        }
    });
}

#[test]
fn an_operator_that_needs_all_items_is_explained() {
    let query = [1, 2]
        .into_par_query()
        .filter(|n| *n > 1)
        .group_by(|n| *n)
        .degree_of_parallelism(1)
        .unwrap();
    let explanation = query.explain();
    assert!(
        explanation.ends_with("filter; gathered; group_by"),
        "{explanation}"
    );
}

/// A few matches are kept in one table, very many in parts, with the same result. They are large here, so that some
/// thousands are very many.
#[test]
fn few_and_many_partners_are_found_in_the_same_order() {
    within_limit(|| {
        for len in [1, 4_095, 12_200, 12_300_u64] {
            // Most keys once, every tenth item's key several times.
            let key = |n: u64| if n.is_multiple_of(10) { n % 70 } else { n };
            let mut by_key = HashMap::<u64, Vec<u64>>::new();
            (0..len).for_each(|n| by_key.entry(key(n)).or_default().push(n));
            let pairs: Vec<_> = (0..len + 9)
                .flat_map(|n| by_key.get(&n).into_iter().flatten().map(move |m| (n, *m)))
                .collect();
            let missing: Vec<_> = (0..len + 9).filter(|n| !by_key.contains_key(n)).collect();
            for setting in few_settings() {
                let query = || setting.set((0..len + 9).into_par_query());
                let others = || (0..len).into_par_query();
                let large = others().map(|n| (n, [n; 512]));
                let found = query().join(large, |n| *n, |m| key(m.0), |n, m| (*n, m.1[511]));
                assert!(found.to_vec() == pairs, "{len} partners, {setting:?}");
                let found = query().except(others().map(key));
                assert!(found.to_vec() == missing, "without {len}, {setting:?}");
            }
        }
    });
}

/// Look-ups in a large table are made many at a time. Here most of the time none of those has a partner.
#[test]
fn items_far_apart_find_their_partners() {
    within_limit(|| {
        // More than a processor's own cache holds.
        let numbers = 0..1_200_000_u64;
        let is_partner = |n: &u64| *n % 1_000 == 7 || *n >= 1_000_000;
        let partners: Vec<u64> = numbers.clone().filter(is_partner).collect();
        let found: Vec<u64> = (0..100).map(|n| n * 1_000 + 7).collect();
        for setting in few_settings() {
            let query = || setting.set((0..100_000_u64).into_par_query());
            let listed = query().join(&partners, |n| *n, |m| **m, |n, m| *n + **m);
            assert!(listed.to_vec() == found.iter().map(|n| 2 * n).collect::<Vec<_>>());
            let filtered = || numbers.clone().into_par_query().filter(is_partner);
            let pairs = || query().join(filtered(), |n| *n, |m| *m, |n, m| (*n, *m));
            assert!(pairs().to_vec() == found.iter().map(|n| (*n, *n)).collect::<Vec<_>>());
            assert_eq!(pairs().find(|pair| pair.0 > 98_500), Some((99_007, 99_007)));
            let all = query().left_join(filtered(), |n| *n, |m| *m, |n, m| (*n, m.copied()));
            assert!(
                all.to_vec()
                    == (0..100_000)
                        .map(|n| (n, is_partner(&n).then_some(n)))
                        .collect::<Vec<_>>()
            );
        }
    });
}
