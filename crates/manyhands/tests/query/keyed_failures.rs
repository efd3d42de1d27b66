//! Panics in every closure of sorts, sets, groups and joins, and in keys' comparisons: each item is dropped
//! exactly once. And keys that contradict themselves.

use crate::setting::Setting;
use crate::support::{Counted, Ledger, blow, few_settings, panics, within_limit};
use manyhands::Runtime;
use manyhands::query::ExecutionMode;
use manyhands::query::prelude::*;
use std::cmp::Ordering as Order;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const LEN: i32 = 9;

/// Panics at one of all calls.
struct Fuse {
    left: AtomicUsize,
}

impl Fuse {
    fn burn(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            blow();
        }
    }
}

/// A key whose comparison burns the fuse; it is counted too.
struct Key<'a>(Counted, &'a Fuse);

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.1.burn();
        self.0.number == other.0.number
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.burn();
        self.0.number.hash(state);
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Order {
        self.1.burn();
        self.0.number.cmp(&other.0.number)
    }
}

/// Runs a query whose closures burn the fuse.
type Chain = fn(&Arc<Ledger>, &Fuse, Setting);

fn chains() -> [(&'static str, Chain); 9] {
    /// A key that three items share.
    fn key<'a>(item: &Counted, ledger: &Arc<Ledger>, fuse: &'a Fuse) -> Key<'a> {
        fuse.burn();
        Key(ledger.make(item.number % 3), fuse)
    }
    macro_rules! chain {
        ($name:literal, |$query:ident, $other:ident, $key:ident, $fuse:ident| $chain:expr) => {
            ($name, |ledger, $fuse, setting| {
                let $query = setting.set(ledger.make_all(LEN).into_par_query());
                let $other = ledger.make_all(LEN);
                let $key = |item: &Counted| key(item, ledger, $fuse);
                drop($chain);
            })
        };
    }
    [
        chain!("order_by", |q, _other, key, fuse| q.order_by(key).to_vec()),
        chain!("then_by", |q, _other, key, fuse| q
            .order_by_descending(|_| 0)
            .then_by(key)
            .to_vec()),
        chain!("distinct_by", |q, _other, key, fuse| q
            .distinct_by(key)
            .to_vec()),
        chain!("except_by", |q, other, key, fuse| {
            let keys = other.into_par_query().map(|item| key(&item)).take(2);
            q.except_by(keys, key).to_vec()
        }),
        chain!("group_by", |q, _other, key, fuse| q.group_by(key).to_vec()),
        chain!("count_by", |q, _other, key, fuse| q.count_by(key).to_vec()),
        chain!("fold_by", |q, _other, key, fuse| {
            let fold = |all: &mut Vec<Counted>, item| {
                fuse.burn();
                all.push(item);
            };
            q.fold_by(key, Vec::new, fold, |all, more| all.extend(more))
                .to_vec()
        }),
        chain!("to_lookup", |q, _other, key, fuse| q.to_lookup(key)),
        chain!("join", |q, other, key, fuse| {
            let pair = |item: &Counted, other: &Counted| {
                fuse.burn();
                (item.number, other.number)
            };
            q.join(other, key, key, pair).to_vec()
        }),
    ]
}

#[test]
fn a_panic_at_any_call_of_any_closure_surfaces_and_drops_each_item_once() {
    within_limit(|| {
        for (name, chain) in chains() {
            for setting in few_settings() {
                for calls in 0.. {
                    let fuse = Fuse {
                        left: AtomicUsize::new(calls),
                    };
                    let ledger = Arc::new(Ledger::default());
                    let panicked = panics(|| chain(&ledger, &fuse, setting));
                    ledger.assert_settled(&format!("{name}, call {calls}, {setting:?}"));
                    // Below zero the count has wrapped round.
                    let has_blown = fuse.left.load(Ordering::SeqCst) > usize::MAX / 2;
                    assert_eq!(panicked, has_blown, "{name}, call {calls}, {setting:?}");
                    if !has_blown {
                        break;
                    }
                }
            }
        }
    });
}

/// Counts many keys, each of them three times, so that runners distribute their items.
fn count_handed_out(ledger: &Arc<Ledger>, fuse: &Fuse) {
    const KEYS: i32 = 200_000;
    let setting = Setting {
        pool: 1,
        degree: 2,
        mode: ExecutionMode::Parallel,
    };
    let key = |item: &Counted| {
        fuse.burn();
        Key(ledger.make(item.number % KEYS), fuse)
    };
    let fold = |(first, count): &mut (Option<Counted>, usize), item| {
        fuse.burn();
        first.get_or_insert(item);
        *count += 1;
    };
    let combine = |(first, count): &mut (Option<Counted>, usize), (other, more)| {
        fuse.burn();
        *first = first.take().or(other);
        *count += more;
    };
    let numbers = setting.set((0..3 * KEYS).into_par_query());
    let items = numbers.map(|number| ledger.make(number));
    let groups = items
        .fold_by(key, || (None, 0), fold, combine)
        .to_vec()
        .into_iter();
    let counts = groups.map(|(key, (_, count))| (key.0.number, count));
    assert!(counts.eq((0..KEYS).map(|number| (number, 3))));
}

#[test]
fn a_panic_while_items_of_many_keys_are_handed_out_drops_each_once() {
    within_limit(|| {
        for calls in [50_000, 900_000, 1_900_000, usize::MAX / 2] {
            let fuse = Fuse {
                left: AtomicUsize::new(calls),
            };
            let ledger = Arc::new(Ledger::default());
            let panicked = panics(|| count_handed_out(&ledger, &fuse));
            ledger.assert_settled(&format!("call {calls}"));
            assert_eq!(panicked, calls < usize::MAX / 2, "call {calls}");
        }
    });
}

#[test]
fn a_key_whose_drop_panics_keeps_no_item_from_being_dropped() {
    within_limit(|| {
        for setting in few_settings() {
            for end in ["max_by_key", "distinct_by", "order_by", "group_by"] {
                let what = format!("{end}, {setting:?}");
                let fuse = Fuse {
                    left: AtomicUsize::new(usize::MAX),
                };
                let (items, keys) = (Arc::new(Ledger::default()), Ledger::with_bomb(LEN - 1));
                let key = |item: &Counted| Key(keys.make(item.number), &fuse);
                let query = setting.set(items.make_all(LEN).into_par_query());
                let panicked = panics(|| match end {
                    "max_by_key" => drop(query.max_by_key(key)),
                    "distinct_by" => drop(query.distinct_by(key).to_vec()),
                    "order_by" => drop(query.order_by(key).to_vec()),
                    _ => query
                        .group_by(key)
                        .to_vec()
                        .into_iter()
                        .flatten()
                        .for_each(drop),
                });
                assert!(panicked, "{what}");
                items.assert_settled(&what);
                keys.assert_settled(&what);
            }
        }
    });
}

/// A number that at every third comparison equals nothing.
struct Fickle<'a>(u32, &'a AtomicUsize);

impl PartialEq for Fickle<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 && !self.1.fetch_add(1, Ordering::Relaxed).is_multiple_of(3)
    }
}

impl Eq for Fickle<'_> {}

impl Hash for Fickle<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn keys_that_contradict_themselves_make_more_groups_and_lose_no_item() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        let comparisons = AtomicUsize::new(0);
        for _ in 0..20 {
            let numbers = (0..2_000_u32).into_par_query().runtime(&runtime);
            let counts = numbers
                .execution_mode(ExecutionMode::Parallel)
                .count_by(|n| Fickle(n % 50, &comparisons))
                .to_vec();
            let total: usize = counts.iter().map(|(_, count)| count).sum();
            assert_eq!(total, 2_000);
        }
    });
}
