//! Queries that end early within the endless iterators of `flat_map`.
#![expect(clippy::cognitive_complexity, reason = "tables of assertions")]

use crate::setting::Setting;
use crate::support::{blow, few_settings, panics, wait_until, within_limit};
use manyhands::query::prelude::*;
use manyhands::{Runtime, cancel, parallel};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// What is sought: an item of the first iterator.
const SOUGHT: (u32, u32) = (0, 1_000);

/// Endless items of one number. Those of 0 come to what is sought only when others are being made, too.
struct Endless<'a> {
    number: u32,
    next: u32,
    begun: &'a AtomicUsize,
    others: usize,
}

impl Iterator for Endless<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        if self.next == 0 {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        if (self.number, self.next) == SOUGHT {
            wait_until("other iterators to begin", || {
                self.begun.load(Ordering::SeqCst) > self.others
            });
        }
        if self.number > 0 {
            // They take little memory while they are kept.
            thread::yield_now();
        }
        let item = (self.number, self.next);
        self.next = self.next.wrapping_add(1);
        Some(item)
    }
}

/// The endless items of four numbers, over a range and over an iterator.
macro_rules! each_source {
    ($setting:expr, |$query:ident| $check:block) => {{
        let setting: Setting = $setting;
        let begun = &AtomicUsize::new(0);
        let others = usize::from(setting.degree > 1);
        let inner = move |number| Endless {
            number,
            next: 0,
            begun,
            others,
        };
        {
            begun.store(0, Ordering::SeqCst);
            let $query = setting.set((0..4).into_par_query()).flat_map(inner);
            $check
        }
        {
            begun.store(0, Ordering::SeqCst);
            let numbers = setting.set(parallel::from_iter(0..4).into_par_query());
            let $query = numbers.map(inner).flatten();
            $check
        }
    }};
}

#[test]
fn any_match_ends_the_search_within_other_items() {
    within_limit(|| {
        for setting in few_settings() {
            let is_sought = |item: &(u32, u32)| *item == SOUGHT;
            each_source!(setting, |query| {
                assert_eq!(query.find_any(is_sought), Some(SOUGHT));
            });
            each_source!(setting, |query| {
                assert!(query.any(|item| item == SOUGHT));
            });
            each_source!(setting, |query| {
                assert!(!query.all(|item| item != SOUGHT));
            });
            each_source!(setting, |query| { assert!(query.contains(&SOUGHT)) });
            each_source!(setting, |query| {
                let some = query.unordered().filter(is_sought).take_any(1);
                assert_eq!(some.to_vec(), [SOUGHT]);
            });
            each_source!(setting, |query| {
                let sought = query.filter(|item| item.0 == 0 && item.1 >= SOUGHT.1);
                assert!(sought.single().is_err());
            });
        }
    });
}

#[test]
fn the_first_match_ends_the_search_within_items_above() {
    within_limit(|| {
        for setting in few_settings() {
            let is_sought = |item: &(u32, u32)| *item == SOUGHT;
            let from = |item: &(u32, u32)| item.0 == 0 && item.1 >= SOUGHT.1;
            each_source!(setting, |query| {
                assert_eq!(query.find(is_sought), Some(SOUGHT));
            });
            each_source!(setting, |query| {
                assert_eq!(query.filter(from).first(), Some(SOUGHT));
            });
            each_source!(setting, |query| {
                let some = query.filter(from).take(3).to_vec();
                assert_eq!(some, [SOUGHT, (0, 1_001), (0, 1_002)]);
            });
            each_source!(setting, |query| {
                assert_eq!(query.filter(from).element_at(1), Some((0, 1_001)));
            });
            each_source!(setting, |query| {
                let before = query.take_while(|item| *item != SOUGHT);
                assert_eq!(before.count(), 1_000);
            });
            each_source!(setting, |query| {
                assert_eq!(query.position(|item| item == SOUGHT), Some(1_000));
            });
            each_source!(setting, |query| {
                let rest = query.skip_while(|item| *item != SOUGHT);
                assert_eq!(rest.take(2).to_vec(), [SOUGHT, (0, 1_001)]);
            });
        }
    });
}

#[test]
fn failures_panics_and_cancellations_end_a_query_within_items() {
    within_limit(|| {
        for setting in few_settings() {
            each_source!(setting, |query| {
                let tried = query.map(|item| if item == SOUGHT { Err(()) } else { Ok(item) });
                assert!(tried.collect::<Result<Vec<_>, ()>>().is_err());
            });
            each_source!(setting, |query| {
                let fails = |item| if item == SOUGHT { Err(()) } else { Ok(()) };
                assert!(query.try_for_each(fails).is_err());
            });
            each_source!(setting, |query| {
                assert!(panics(|| query.for_each(|item| {
                    if item == SOUGHT {
                        blow();
                    }
                })));
            });
            let source = cancel::TokenSource::new();
            let token = source.token();
            each_source!(setting, |query| {
                let cancel = |item| {
                    if item == SOUGHT {
                        source.cancel();
                    }
                };
                assert!(query.cancellation(&token).for_each(cancel).is_err());
            });
        }
    });
}

#[test]
fn a_panic_of_a_caller_that_began_alone_ends_the_items_of_others() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(3).build().unwrap();
        let is_opened = AtomicBool::new(false);
        let numbers = (0..2_u32).into_par_query().runtime(&runtime);
        let endless = numbers.flat_map(|number| {
            if number == 0 {
                wait_until("another thread to take the second item", || {
                    is_opened.load(Ordering::SeqCst)
                });
                blow();
            }
            is_opened.store(true, Ordering::SeqCst);
            std::iter::repeat_with(thread::yield_now)
        });
        assert!(panics(|| endless.for_each(drop)));
    });
}

#[test]
fn dropping_a_stream_ends_it_within_an_item() {
    within_limit(|| {
        let (alive, made) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let (held, making) = (Arc::clone(&alive), Arc::clone(&made));
        let endless = (0..1_usize).into_par_query().flat_map(move |_| {
            let (held, making) = (Arc::clone(&held), Arc::clone(&making));
            std::iter::repeat_with(move || {
                thread::yield_now();
                making.fetch_add(1, Ordering::Relaxed);
                Arc::strong_count(&held)
            })
        });
        let stream = endless.filter(|_| false).stream();
        wait_until("an item", || made.load(Ordering::Relaxed) > 0);
        drop(stream);
        wait_until("the stream's end", || Arc::strong_count(&alive) == 1);
    });
}

#[test]
fn a_lone_runner_makes_nothing_beyond_the_last_item_needed() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let made = AtomicUsize::new(0);
    let query = || {
        let numbers = (0..3_usize).into_par_query().runtime(&runtime);
        let inner = |_| std::iter::repeat_with(|| made.fetch_add(1, Ordering::Relaxed));
        numbers.degree_of_parallelism(1).unwrap().flat_map(inner)
    };
    let made_by = |what: &str, expected: usize| {
        assert_eq!(made.swap(0, Ordering::Relaxed), expected, "{what}");
    };
    assert_eq!(query().first(), Some(0));
    made_by("first", 1);
    assert_eq!(query().take(7).count(), 7);
    made_by("take", 7);
    assert_eq!(query().skip_while(|n| *n < 5).first(), Some(5));
    made_by("skip_while", 6);
    assert_eq!(query().skip_while(|n| *n < 5).take(3).to_vec(), [5, 6, 7]);
    made_by("skip_while and take", 8);
    assert_eq!(query().take_while(|n| *n < 5).count(), 5);
    made_by("take_while", 6);
}
