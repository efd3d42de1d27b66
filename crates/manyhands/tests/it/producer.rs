//! Collections that a user cuts: their order, their ends, and implementations that do not keep their promises. And the
//! collections of the standard library.

use crate::support::{
    Counted, Ledger, blow, busy_micros, message_of, on_each_runtime, panics_of, within,
};
use manyhands::Runtime;
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options, Producer};
use manyhands::query::{ExecutionMode, prelude::*};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const COUNT: usize = 500;
/// At the beginning, in the middle, at the last item, never.
const PLACES: [usize; 5] = [0, 1, 250, COUNT - 1, COUNT];

/// The items of a vector, cut anywhere.
struct Deck<T>(Vec<T>);

impl<T: Send> Producer for Deck<T> {
    type Item = T;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn split_at(mut self, index: usize) -> (Self, Self) {
        let others = self.0.split_off(index);
        (self, Self(others))
    }

    fn into_iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter()
    }
}

#[test]
fn loops_and_queries_keep_the_order_of_what_is_cut() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        for len in [0, 1, 2, 3, 100, 700] {
            let deck = || Deck((0..len).collect::<Vec<u64>>());
            let body = |n: u64| {
                busy_micros(n % 5);
                n.to_string()
            };
            let texts: Vec<_> = (0..len).map(|n| n.to_string()).collect();
            assert_eq!(parallel::map(deck(), body), texts);
            let tried = parallel::try_map(deck(), |n| Ok::<_, ()>(body(n)));
            assert_eq!(tried.unwrap(), texts);
            let query = || {
                let at_once = deck().into_par_query();
                at_once.execution_mode(ExecutionMode::Parallel)
            };
            assert_eq!(query().map(body).to_vec(), texts);
            assert!(query().explain().ends_with("items"));
            let backwards: Vec<_> = (0..len).rev().collect();
            assert_eq!(query().rev().to_vec(), backwards);
            assert_eq!(query().last(), len.checked_sub(1));
            let pairs: Vec<_> = (0..len).zip(10..).skip(2).step_by(3).collect();
            let ours = query().zip(10..u64::MAX - 1).skip(2).step_by(3);
            assert_eq!(ours.to_vec(), pairs);
            let sum = query().deterministic().sum::<u64>();
            assert_eq!(sum, (0..len).sum::<u64>());
        }
    });
}

#[test]
fn what_is_cut_is_dropped_once_however_the_loop_ends() {
    on_each_runtime(|runtime| {
        for at in PLACES {
            for end in ["panic", "cancel", "stop", "break", "query", "rev"] {
                let ledger = Ledger::new(COUNT);
                run(Deck(ledger.make_all()), runtime, at, end);
                ledger.assert_settled();
            }
        }
    });
}

fn run(deck: Deck<Counted>, runtime: &Runtime, at: usize, end: &str) {
    let source = TokenSource::new();
    let token = source.token();
    let options = Options::new().runtime(runtime).cancellation(&token);
    let look = |item: Counted, leave: &dyn Fn()| {
        busy_micros(2);
        if item.id == at {
            match end {
                "cancel" => source.cancel(),
                "stop" | "break" => leave(),
                _ => blow(item),
            }
        }
    };
    let query = |deck: Deck<_>| deck.into_par_query().runtime(runtime).cancellation(&token);
    let panics = panics_of(|| match end {
        "query" => drop(query(deck).skip(1).for_each(|item| look(item, &|| ()))),
        "rev" => drop(query(deck).rev().map(|item| look(item, &|| ())).to_vec()),
        "stop" => drop(options.for_each_with_control(deck, |item, control| {
            look(item, &|| control.stop());
        })),
        _ => drop(options.for_each_with_control(deck, |item, control| {
            look(item, &|| control.break_at_current());
        })),
    });
    let is_panic =
        at < COUNT && matches!(end, "panic" | "rev") || end == "query" && (1..COUNT).contains(&at);
    assert_eq!(panics.len(), usize::from(is_panic), "{end} at {at}");
}

/// Says that it has other items than it has; or panics when it is cut, or made an iterator of, for the `n`th time.
struct Liar {
    deck: Deck<Counted>,
    len: usize,
    cuts: Arc<AtomicUsize>,
    iterators: Arc<AtomicUsize>,
}

impl Liar {
    fn new(deck: Vec<Counted>, len: usize) -> Self {
        let never = || Arc::new(AtomicUsize::new(usize::MAX));
        Self {
            deck: Deck(deck),
            len,
            cuts: never(),
            iterators: never(),
        }
    }
}

fn count_down(left: &AtomicUsize, what: &str) {
    if left.fetch_sub(1, Ordering::SeqCst) == 0 {
        blow(what.to_owned());
    }
}

impl Producer for Liar {
    type Item = Counted;

    fn len(&self) -> usize {
        self.len
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        count_down(&self.cuts, "cut");
        let border = index.min(self.deck.len());
        let (left, right) = self.deck.split_at(border);
        let part = |deck, len| Self {
            deck,
            len,
            cuts: Arc::clone(&self.cuts),
            iterators: Arc::clone(&self.iterators),
        };
        (part(left, index), part(right, self.len - index))
    }

    fn into_iter(self) -> impl Iterator<Item = Counted> {
        count_down(&self.iterators, "iterator");
        self.deck.into_iter()
    }
}

/// Loops and queries over what `make` makes; all of them panic with one of these messages.
fn refuse(make: impl Fn(&Arc<Ledger>) -> Liar, messages: &[&str]) {
    type Run = fn(Liar);
    let runs: [(&str, Run); 6] = [
        ("for_each", |liar| parallel::for_each(liar, drop)),
        ("map", |liar| {
            drop(parallel::map(liar, |item| (busy_micros(1), item)));
        }),
        ("try_map", |liar| drop(parallel::try_map(liar, Ok::<_, ()>))),
        ("collect", |liar| drop(liar.into_par_query().to_vec())),
        ("rev", |liar| drop(liar.into_par_query().rev().to_vec())),
        ("zip", |liar| {
            drop(liar.into_par_query().zip(0..9 * COUNT).chunks(7).to_vec());
        }),
    ];
    for (name, run) in runs {
        let ledger = Ledger::new(COUNT);
        let panics = panics_of(|| run(make(&ledger)));
        assert!(!panics.is_empty(), "{name} gave a result");
        for panic in panics {
            let message = message_of(&panic);
            let is_known = messages.iter().any(|known| message.contains(known));
            assert!(is_known, "{name}: {message}");
        }
        ledger.assert_settled();
    }
}

#[test]
fn a_source_that_has_other_items_than_it_says_is_a_panic_that_says_so() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        for len in [COUNT + 1, 2 * COUNT] {
            refuse(|ledger| Liar::new(ledger.make_all(), len), &["fewer items"]);
        }
        for len in [1, COUNT - 1] {
            refuse(|ledger| Liar::new(ledger.make_all(), len), &["more items"]);
        }
        let ledger = Ledger::new(COUNT);
        parallel::for_each(Liar::new(ledger.make_all(), 0), drop);
        ledger.assert_settled();
        let endless = || Liar::new(Ledger::new(9).make_all(), usize::MAX);
        assert!(!panics_of(|| parallel::map(endless(), drop)).is_empty());
        assert_eq!(panics_of(|| parallel::map(endless(), |item| item)).len(), 1);
    });
}

#[test]
fn a_source_that_panics_when_it_is_cut_or_begun_ends_the_loop() {
    on_each_runtime(|runtime| {
        let _entered = runtime.enter();
        for nth in [0, 1, 2] {
            let cut = |ledger: &Arc<Ledger>| {
                let liar = Liar::new(ledger.make_all(), COUNT);
                liar.cuts.store(nth, Ordering::SeqCst);
                liar
            };
            let begun = |ledger: &Arc<Ledger>| {
                let liar = Liar::new(ledger.make_all(), COUNT);
                liar.iterators.store(nth, Ordering::SeqCst);
                liar
            };
            if runtime.workers() > 1 {
                refuse(cut, &["cut"]);
            }
            refuse(begun, &["iterator"]);
        }
    });
}

#[test]
fn collections_of_the_standard_library_are_sources_of_loops_and_queries() {
    fn sum<'a>(loop_over: impl parallel::Source<Item = &'a usize>) -> usize {
        let total = AtomicUsize::new(0);
        parallel::for_each(loop_over, |n| {
            total.fetch_add(*n, Ordering::SeqCst);
        });
        total.into_inner()
    }
    within(60, || {
        let numbers = 1..=100;
        let pairs = || numbers.clone().map(|n| (n, n));
        let mut map: HashMap<usize, usize> = pairs().collect();
        parallel::for_each(&mut map, |(_, n)| *n += 1);
        let total: usize = parallel::map(&map, |(_, n)| *n).into_iter().sum();
        assert_eq!(total, 5_150);
        assert_eq!(parallel::map(map, |(key, _)| key).len(), 100);
        let mut tree: BTreeMap<usize, usize> = pairs().collect();
        parallel::for_each(&mut tree, |(_, n)| *n += 1);
        let in_order: Vec<_> = (2..=101).collect();
        assert_eq!(parallel::map(&tree, |(_, n)| *n), in_order);
        assert_eq!(tree.par_query().map(|(_, n)| *n).to_vec(), in_order);
        assert_eq!(sum(&numbers.clone().collect::<HashSet<_>>()), 5_050);
        assert_eq!(sum(&numbers.clone().collect::<BTreeSet<_>>()), 5_050);
        assert_eq!(sum(&numbers.clone().collect::<VecDeque<_>>()), 5_050);
        assert_eq!(sum(&numbers.clone().collect::<BinaryHeap<_>>()), 5_050);
        assert_eq!(sum(&numbers.clone().collect::<LinkedList<_>>()), 5_050);
        let boxed: Box<[usize]> = numbers.clone().collect();
        assert_eq!(parallel::map(boxed, |n| n).len(), 100);
        assert_eq!(parallel::map(Some(7), |n| n + 1), [8]);
        let one_by_one = parallel::from_iter(0..9).unbuffered().into_par_query();
        assert_eq!(
            one_by_one.map(|n| n * 2).to_vec(),
            parallel::from_iter(0..9)
                .into_par_query()
                .map(|n| n * 2)
                .to_vec()
        );
    });
}

#[test]
fn a_queue_whose_items_lie_in_two_slices_is_a_source_by_position() {
    within(60, || {
        let numbers = || 0..COUNT;
        let mut ring: VecDeque<usize> = (COUNT / 3..COUNT).collect();
        for number in (0..COUNT / 3).rev() {
            ring.push_front(number);
        }
        assert!(!ring.as_slices().1.is_empty(), "it begins in the middle");
        assert_eq!(parallel::map(&ring, |n| *n), Vec::from_iter(numbers()));
        let last_first = ring.par_query().rev().map(|n| *n).to_vec();
        assert_eq!(last_first, Vec::from_iter(numbers().rev()));
        let beside = ring.par_query().zip(numbers()).skip(COUNT / 4);
        assert!(beside.all(|(a, b)| *a == b));
        parallel::for_each(&mut ring, |n| *n *= 2);
        let ledger = Ledger::new(COUNT);
        let mut counted: VecDeque<_> = ledger.make_all().into();
        counted.rotate_left(COUNT / 3);
        let taken = counted.into_par_query().take(COUNT / 2).map(drop);
        assert_eq!(taken.count(), COUNT / 2);
        ledger.assert_settled();
        assert_eq!(parallel::map(ring, |n| n / 2), Vec::from_iter(numbers()));
    });
}

#[test]
fn a_boxed_slice_and_what_an_arc_shares_are_sources_by_position() {
    within(60, || {
        let numbers: Vec<usize> = (0..COUNT).collect();
        let boxed: Box<[usize]> = numbers.clone().into();
        let shared: Arc<[usize]> = numbers.clone().into();
        let vector = Arc::new(numbers.clone());
        assert_eq!(parallel::map(&boxed, |n| *n), numbers);
        assert_eq!(parallel::map(&shared, |n| *n), numbers);
        assert_eq!(parallel::map(&vector, |n| *n), numbers);
        let beside = boxed
            .par_query()
            .zip(&shared)
            .rev()
            .zip(vector.par_query().rev());
        assert!(beside.all(|((a, b), c)| a == b && b == c));
    });
}
