//! Every operator against its sequential twin, on generated inputs.

use crate::setting::{Setting, any_setting};
use manyhands::parallel;
use manyhands::query::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::test_runner::FileFailurePersistence;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 40,
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as Box<_>),
        ..ProptestConfig::default()
    }
}

/// Three sources with the same items: one that knows positions, one behind a filter, and an iterator. Each
/// is given to both closures.
macro_rules! same {
    ($setting:expr, $items:expr, |$query:ident| $parallel:expr, |$twin:ident| $sequential:expr) => {{
        let (setting, items): (Setting, &Vec<i32>) = ($setting, &$items);
        let expected = {
            let $twin = items.iter().copied();
            $sequential
        };
        let found = {
            let $query = setting.set(items.clone().into_par_query());
            $parallel
        };
        assert_eq!(found, expected, "by position, {setting:?}");
        let found = {
            let $query = setting.set(items.clone().into_par_query()).filter(|_| true);
            $parallel
        };
        assert_eq!(found, expected, "after a filter, {setting:?}");
        let found = {
            let $query = setting.set(parallel::from_iter(items.clone()).into_par_query());
            $parallel
        };
        assert_eq!(found, expected, "from an iterator, {setting:?}");
    }};
}

type Items = Vec<i32>;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn operators_on_single_items_do_what_iterators_do(items in vec(any::<i32>(), 0..150), setting in any_setting()) {
        same!(setting, items, |q| q.map(i64::from).to_vec(), |t| t.map(i64::from).collect::<Vec<_>>());
        same!(setting, items, |q| q.filter(|n| n % 3 == 0).to_vec(), |t| t.filter(|n| n % 3 == 0).collect::<Items>());
        same!(setting, items, |q| q.filter_map(|n| n.checked_mul(9)).to_vec(), |t| t.filter_map(|n| n.checked_mul(9)).collect::<Items>());
        same!(setting, items, |q| q.flat_map(|n| vec![n; (n & 3) as usize]).to_vec(), |t| t.flat_map(|n| vec![n; (n & 3) as usize]).collect::<Items>());
        same!(setting, items, |q| q.map(|n| (n % 2 == 0).then_some(n)).flatten().to_vec(), |t| t.filter(|n| n % 2 == 0).collect::<Items>());
        same!(setting, items, |q| q.inspect(|_| ()).to_vec(), |t| t.collect::<Items>());
        same!(setting, items, |q| q.default_if_empty(-1).to_vec(), |t| { let mut all: Items = t.collect(); if all.is_empty() { all.push(-1); } all });
    }

    #[test]
    fn operators_on_positions_do_what_iterators_do(items in vec(any::<i32>(), 0..150), count in 0..170_usize, setting in any_setting()) {
        same!(setting, items, |q| q.enumerate().to_vec(), |t| t.enumerate().collect::<Vec<_>>());
        same!(setting, items, |q| q.rev().to_vec(), |t| t.rev().collect::<Items>());
        same!(setting, items, |q| q.take(count).to_vec(), |t| t.take(count).collect::<Items>());
        same!(setting, items, |q| q.skip(count).to_vec(), |t| t.skip(count).collect::<Items>());
        same!(setting, items, |q| q.take_last(count).to_vec(), |t| { let all: Items = t.collect(); all[all.len().saturating_sub(count)..].to_vec() });
        same!(setting, items, |q| q.skip_last(count).to_vec(), |t| { let all: Items = t.collect(); all[..all.len().saturating_sub(count)].to_vec() });
        same!(setting, items, |q| q.step_by(count + 1).to_vec(), |t| t.step_by(count + 1).collect::<Items>());
        same!(setting, items, |q| q.chunks(count + 1).to_vec(), |t| t.collect::<Items>().chunks(count + 1).map(<[i32]>::to_vec).collect::<Vec<_>>());
        same!(setting, items, |q| q.chain(0..5).to_vec(), |t| t.chain(0..5).collect::<Items>());
        let twin: Vec<&[i32]> = items.windows(count + 1).collect();
        assert_eq!(setting.set(items.par_windows(count + 1)).to_vec(), twin);
    }

    #[test]
    fn zip_has_the_shorter_length_and_right_pairs(items in vec(any::<i32>(), 0..150), other in vec(any::<u8>(), 0..150), setting in any_setting()) {
        same!(setting, items, |q| q.zip(other.par_query()).to_vec(), |t| t.zip(&other).collect::<Vec<_>>());
        same!(setting, items, |q| q.zip(parallel::from_iter(&other).into_par_query().filter(|n| **n > 7)).to_vec(), |t| t.zip(other.iter().filter(|n| **n > 7)).collect::<Vec<_>>());
    }

    #[test]
    fn while_forms_stop_at_the_first_failure(items in vec(0..100_i32, 0..150), limit in 0..100_i32, setting in any_setting()) {
        same!(setting, items, |q| q.take_while(|n| *n <= limit).to_vec(), |t| t.take_while(|n| *n <= limit).collect::<Items>());
        same!(setting, items, |q| q.skip_while(|n| *n <= limit).to_vec(), |t| t.skip_while(|n| *n <= limit).collect::<Items>());
        same!(setting, items, |q| q.map_while(|n| (n <= limit).then_some(-n)).to_vec(), |t| t.map_while(|n| (n <= limit).then_some(-n)).collect::<Items>());
        same!(setting, items, |q| q.enumerate().take_while(|(i, n)| *i < 50 && *n < 90).to_vec(), |t| t.enumerate().take_while(|(i, n)| *i < 50 && *n < 90).collect::<Vec<_>>());
    }

    #[test]
    fn searches_find_what_iterators_find(items in vec(0..60_i32, 0..150), wanted in 0..70_i32, setting in any_setting()) {
        same!(setting, items, |q| q.any(|n| n == wanted), |t| { let mut t = t; t.any(|n| n == wanted) });
        same!(setting, items, |q| q.all(|n| n != wanted), |t| { let mut t = t; t.all(|n| n != wanted) });
        same!(setting, items, |q| q.contains(&wanted), |t| { let mut t = t; t.any(|n| n == wanted) });
        same!(setting, items, |q| q.enumerate().find(|(_, n)| *n == wanted), |t| t.enumerate().find(|(_, n)| *n == wanted));
        same!(setting, items, |q| q.find_any(|n| *n == wanted), |t| { let mut t = t; t.find(|n| *n == wanted) });
        same!(setting, items, |q| q.position(|n| n == wanted), |t| { let mut t = t; t.position(|n| n == wanted) });
        same!(setting, items, |q| q.first(), |t| { let mut t = t; t.next() });
        same!(setting, items, |q| q.last(), |t| t.last());
        same!(setting, items, |q| q.element_at(wanted as usize), |t| { let mut t = t; t.nth(wanted as usize) });
        same!(setting, items, |q| q.filter(|n| *n == wanted).single().ok(), |t| { let found: Items = t.filter(|n| *n == wanted).collect(); <[i32; 1]>::try_from(found).ok().map(|[n]| n) });
        same!(setting, items, |q| q.find_map(|n| (n > wanted).then_some(n * 2)), |t| { let mut t = t; t.find_map(|n| (n > wanted).then_some(n * 2)) });
    }

    #[test]
    fn single_results_are_what_iterators_give(items in vec(any::<i32>(), 0..150), setting in any_setting()) {
        same!(setting, items, |q| q.map(i64::from).sum::<i64>(), |t| t.map(i64::from).sum::<i64>());
        same!(setting, items, |q| q.count(), |t| t.count());
        same!(setting, items, |q| q.min(), |t| t.min());
        same!(setting, items, |q| q.max(), |t| t.max());
        same!(setting, items, |q| q.enumerate().min_by_key(|(_, n)| n % 5), |t| t.enumerate().min_by_key(|(_, n)| n % 5));
        same!(setting, items, |q| q.enumerate().max_by_key(|(_, n)| n % 5), |t| t.enumerate().max_by_key(|(_, n)| n % 5));
        same!(setting, items, |q| q.enumerate().min_by(|a, b| (a.1 % 5).cmp(&(b.1 % 5))), |t| t.enumerate().min_by(|a, b| (a.1 % 5).cmp(&(b.1 % 5))));
        same!(setting, items, |q| q.enumerate().max_by(|a, b| (a.1 % 5).cmp(&(b.1 % 5))), |t| t.enumerate().max_by(|a, b| (a.1 % 5).cmp(&(b.1 % 5))));
        same!(setting, items, |q| q.map(|n| n.to_string()).reduce(|a, b| a + &b), |t| t.map(|n| n.to_string()).reduce(|a, b| a + &b));
        same!(setting, items, |q| q.fold(Vec::new, |mut all, n| { all.push(n); all }, |a, b| [a, b].concat()), |t| t.collect::<Items>());
        same!(setting, items, |q| q.checked_sum(), |t| i32::try_from(t.map(i64::from).sum::<i64>()).ok());
        same!(setting, items, |q| q.average(), |t| { let count = t.clone().count(); (count > 0).then(|| t.map(i64::from).sum::<i64>() as f64 / count as f64) });
        same!(setting, items, |q| q.partition(|n| n % 2 == 0), |t| t.partition::<Items, _>(|n| n % 2 == 0));
        same!(setting, items, |q| q.enumerate().unzip(), |t| t.enumerate().unzip::<_, _, Vec<_>, Vec<_>>());
    }

    #[test]
    fn sequence_equal_sees_each_difference(items in vec(any::<i32>(), 1..100), at in any::<proptest::sample::Index>(), setting in any_setting()) {
        let (mut other, mut longer) = (items.clone(), items.clone());
        other[at.index(items.len())] ^= 1;
        longer.push(0);
        same!(setting, items, |q| q.sequence_equal(items.clone()), |_t| true);
        same!(setting, items, |q| q.sequence_equal(other.clone()), |_t| false);
        same!(setting, items, |q| q.sequence_equal(longer.clone()), |_t| false);
    }

    #[test]
    fn texts_are_cut_where_iterators_cut_them(text in "[a-bäß \r\n\u{3000},]{0,80}", setting in any_setting()) {
        assert_eq!(setting.set(text.par_chars()).collect::<String>(), text);
        assert_eq!(setting.set(text.par_lines()).to_vec(), text.lines().collect::<Vec<_>>());
        assert_eq!(setting.set(text.par_split_whitespace()).to_vec(), text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(setting.set(text.par_split(',')).to_vec(), text.split(',').collect::<Vec<_>>());
        assert_eq!(setting.set(text.par_split('ä')).to_vec(), text.split('ä').collect::<Vec<_>>());
    }

    #[test]
    fn iteration_gives_the_same_in_steps(items in vec(any::<i32>(), 0..300), setting in any_setting()) {
        same!(setting, items, |q| q.into_iter().collect::<Items>(), |t| t.collect::<Items>());
        same!(setting, items, |q| q.rev().chain(0..99).default_if_empty(1).into_iter().collect::<Items>(), |t| t.rev().chain(0..99).collect::<Items>());
        same!(setting, items, |q| q.with_iter(|items| items.collect::<Items>()), |t| t.collect::<Items>());
        same!(setting, items, |q| q.rev().chain(0..99).with_iter(|items| items.step_by(3).collect::<Items>()), |t| t.rev().chain(0..99).step_by(3).collect::<Items>());
    }

    #[test]
    fn scans_give_the_sums_up_to_each_item(items in vec(any::<i32>(), 0..150), count in 0..170_usize, setting in any_setting()) {
        let texts = |n: i32| (n % 10).to_string();
        // Joining texts is associative, and not commutative.
        same!(setting, items, |q| q.map(texts).inclusive_scan(|a, b| format!("{a}{b}")).to_vec(), |t| t.map(texts).scan(String::new(), |sum, text| { sum.push_str(&text); Some(sum.clone()) }).collect::<Vec<_>>());
        same!(setting, items, |q| q.map(texts).exclusive_scan("-".to_owned(), |a, b| format!("{a}{b}")).to_vec(), |t| t.map(texts).scan("-".to_owned(), |sum, text| { let before = sum.clone(); sum.push_str(&text); Some(before) }).collect::<Vec<_>>());
        same!(setting, items, |q| q.map(i64::from).inclusive_scan(|a, b| a + b).take(count).rev().to_vec(), |t| { let mut sums: Vec<i64> = t.map(i64::from).scan(0, |sum, n| { *sum += n; Some(*sum) }).take(count).collect(); sums.reverse(); sums });
    }

    #[test]
    fn unordered_queries_give_the_same_items(items in vec(any::<i32>(), 0..150), count in 0..170_usize, setting in any_setting()) {
        let sorted = |mut items: Items| { items.sort_unstable(); items };
        let unordered = || setting.set(items.par_query()).unordered().copied();
        assert_eq!(sorted(unordered().filter(|n| n % 2 == 0).to_vec()), sorted(items.iter().copied().filter(|n| n % 2 == 0).collect()));
        assert_eq!(unordered().take_any(count).count(), items.len().min(count));
        assert_eq!(unordered().filter(|_| true).skip_any(count).count(), items.len().saturating_sub(count));
    }
}
