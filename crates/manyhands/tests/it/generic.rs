//! Generic code: functions over any source, any query and any collection, and structures that keep them. What they need
//! can be named and bounded; most of the checking is the compiler's.

use crate::support::within;
use manyhands::cancel::{Cancelled, Token};
use manyhands::parallel::{
    self, AsyncSource, Control, Ending, LocalOptions, Options, Outcome, Source,
};
use manyhands::query::{
    Deterministic, FromQuery, Order, Ordered, Pipeline, Query, Unordered, prelude::*,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Mutex;

/// Any plain query, in and out.
fn doubled<'a>(
    query: Query<'a, impl Pipeline<Item = u32>>,
) -> Query<'a, impl Pipeline<Item = u64>> {
    query.map(|n| u64::from(n) * 2)
}

/// Any query, in and out: ordered or not, cancellable or not, deterministic or not.
fn lengths<'a, S, P, O, E>(
    query: Query<'a, P, O, E>,
) -> Query<'a, impl Pipeline<Item = usize>, O, E>
where
    S: AsRef<str> + Send,
    P: Pipeline<Item = S>,
    O: Order,
    E: Ending,
{
    let texts = query.filter(|text| !text.as_ref().is_empty());
    texts.map(|text| text.as_ref().len()).distinct()
}

/// Any query, to an end.
fn largest<T: Ord + Send, E: Ending>(
    query: Query<'_, impl Pipeline<Item = T>, impl Order, E>,
) -> E::Output<Option<T>> {
    query.max()
}

/// Any query into any collection.
fn gathered<T: Send, C: FromQuery<T>, E: Ending>(
    query: Query<'_, impl Pipeline<Item = T>, impl Order, E>,
) -> E::Output<C> {
    query.collect()
}

/// An operator that needs an order.
fn every_other<'a, T: Send, E: Ending>(
    query: Query<'a, impl Pipeline<Item = T> + 'a, Ordered, E>,
) -> Query<'a, impl Pipeline<Item = T>, Ordered, E> {
    query.step_by(2)
}

/// Any query as an operand.
fn without<'a, T: Send + Sync + Eq + Hash>(
    query: Query<'a, impl Pipeline<Item = T>>,
    other: impl IntoParQuery<Item = T>,
) -> Query<'a, impl Pipeline<Item = T>> {
    query.except(other)
}

#[test]
fn functions_take_and_return_any_query() {
    within(60, || {
        let token = Token::never();
        let words = || ["many", "hands", "", "make"].into_par_query();
        assert_eq!(doubled([1, 2].into_par_query()).to_vec(), [2, 4]);
        let plain: Vec<usize> = lengths(words()).to_vec();
        let in_time: Result<Vec<usize>, Cancelled> =
            gathered(lengths(words().cancellation(&token)));
        assert_eq!((plain, in_time), (vec![4, 5], Ok(vec![4, 5])));
        let any_order: HashSet<usize> = gathered(lengths(words().unordered()));
        assert_eq!(any_order, HashSet::from([4, 5]));
        let both = lengths(words().unordered().deterministic().cancellation(&token));
        assert_eq!(largest(both), Ok(Some(5)));
        let both = lengths(words().cancellation(&token).deterministic());
        assert_eq!(largest(every_other(both)), Ok(Some(4)));
        assert_eq!(without((0..5).into_par_query(), [1, 2]).to_vec(), [0, 3, 4]);
    });
}

/// A structure that keeps a query with settings and a token.
struct Report<'a, P> {
    rows: Query<'a, P, Unordered, Deterministic<&'a Token>>,
}

impl<P: Pipeline<Item = f64>> Report<'_, P> {
    fn total(self) -> Result<f64, Cancelled> {
        self.rows.sum()
    }
}

/// A structure that names the query of its source.
struct View<'a> {
    numbers: Query<'static, <&'a [u32] as IntoParQuery>::Pipeline>,
}

/// What has rows to query.
trait Table {
    fn rows(&self) -> Query<'_, impl Pipeline<Item = &u32>>;
}

impl Table for Vec<u32> {
    fn rows(&self) -> Query<'_, impl Pipeline<Item = &u32>> {
        self.par_query().filter(|n| **n > 1)
    }
}

impl Table for VecDeque<u32> {
    fn rows(&self) -> Query<'_, impl Pipeline<Item = &u32>> {
        self.par_query()
    }
}

#[test]
fn structures_and_traits_keep_and_give_queries() {
    within(60, || {
        let token = Token::never();
        let rows = vec![0.5, 0.25].into_par_query().unordered();
        let report = Report {
            rows: rows.deterministic().cancellation(&token),
        };
        assert_eq!(report.total(), Ok(0.75));
        let numbers = [1, 2, 3];
        let view = View {
            numbers: numbers[1..].par_query(),
        };
        assert_eq!(view.numbers.copied().to_vec(), [2, 3]);
        fn total(table: &impl Table) -> u32 {
            table.rows().sum()
        }
        assert_eq!((total(&vec![1, 2]), total(&VecDeque::from([1, 2]))), (2, 3));
    });
}

/// Any source of loops.
fn total<S: Source<Item = u32>, E: Ending>(
    options: &Options<'_, E>,
    source: S,
) -> E::Output<Option<u32>> {
    options.map_reduce(source, |n| n, |a, b| a + b)
}

/// Any collection, by reference: its loop, and its query.
fn texts<C: ?Sized>(collection: &C) -> Vec<String>
where
    for<'a> &'a C: Source<Item = &'a u32> + IntoParQuery<Item = &'a u32>,
{
    let texts = parallel::map(collection, u32::to_string);
    assert_eq!(collection.par_query().map(u32::to_string).to_vec(), texts);
    texts
}

/// Any collection, by mutable reference.
fn increment<C: ?Sized>(collection: &mut C)
where
    for<'a> &'a mut C: Source<Item = &'a mut u32>,
{
    parallel::for_each(collection, |n| *n += 1);
}

/// A structure that keeps a source, and options with a state.
struct Later<'a, S, Init, Finish, E = ()> {
    source: S,
    options: LocalOptions<Options<'a, E>, Init, Finish>,
}

impl<S, L, Init, Finish, E> Later<'_, S, Init, Finish, E>
where
    S: Source,
    Init: Fn() -> L + Sync,
    Finish: Fn(L) + Sync,
    E: Ending,
{
    fn run(self, body: impl Fn(S::Item, &Control<'_>, &mut L) + Sync) -> E::Output<Outcome> {
        self.options.for_each(self.source, body)
    }
}

/// Any source of an async loop.
async fn each_text<S>(source: S) -> Vec<String>
where
    S: AsyncSource<Item = u32>,
{
    parallel::map_async(source, |n| async move { n.to_string() }).await
}

#[test]
fn functions_and_structures_take_any_source() {
    within(60, || {
        let token = Token::never();
        let options = Options::new();
        assert_eq!(total(&options, 0..4), Some(6));
        assert_eq!(total(&options, HashSet::from([1, 2])), Some(3));
        let cancellable = options.cancellation(&token);
        assert_eq!(
            total(&cancellable, parallel::from_iter([1, 2])),
            Ok(Some(3))
        );
        let mut vector = vec![1, 2];
        increment(&mut vector);
        increment(&mut vector[..]);
        let mut deque = VecDeque::from(vector.clone());
        increment(&mut deque);
        assert_eq!(texts(&vector), ["3", "4"]);
        assert_eq!(texts(&deque), ["4", "5"]);
        assert_eq!(texts(&BTreeSet::from([7, 6])), ["6", "7"]);
        let found = Mutex::new(HashMap::new());
        let later = Later {
            source: &vector,
            options: cancellable.local(Vec::new, |mine: Vec<u32>| {
                found
                    .lock()
                    .unwrap()
                    .extend(mine.into_iter().map(|n| (n, n)));
            }),
        };
        let outcome = later.run(|n, _, mine| mine.push(*n)).unwrap();
        assert!(outcome.is_completed());
        assert_eq!(found.into_inner().unwrap().len(), 2);
        let tasks = manyhands::task::block_on(each_text(vec![1, 2]));
        assert_eq!(
            tasks,
            parallel::from_iter([1, 2])
                .into_par_query()
                .map(|n| n.to_string())
                .to_vec()
        );
    });
}

/// Any collection, of a vector and of a query.
fn made<C: FromQuery<T> + PartialEq + std::fmt::Debug, T: Send + Clone>(items: Vec<T>) -> C {
    let collected: C = parallel::from_iter(items.clone())
        .into_par_query()
        .collect();
    assert_eq!(C::from_vec(items), collected);
    collected
}

#[test]
fn a_collection_of_a_vector_is_that_of_a_query() {
    within(60, || {
        let pairs = vec![(1, 'a'), (2, 'b'), (1, 'c')];
        assert_eq!(made::<HashMap<_, _>, _>(pairs.clone()).len(), 2);
        assert_eq!(made::<BTreeMap<_, _>, _>(pairs)[&1], 'c');
        assert_eq!(made::<HashSet<_>, _>(vec![3, 3]).len(), 1);
        assert_eq!(
            made::<BTreeSet<_>, _>(vec![3, 2, 3]),
            BTreeSet::from([2, 3])
        );
        assert_eq!(made::<VecDeque<_>, _>(vec![3, 2]), [3, 2]);
        assert_eq!(made::<Box<[_]>, _>(vec![3, 2]), [3, 2].into());
        assert_eq!(made::<String, _>(vec!["a", "bc"]), "abc");
        assert_eq!(made::<Option<Vec<_>>, _>(vec![Some(1), None]), None);
        assert_eq!(
            made::<Result<String, u8>, _>(vec![Ok('a'), Err(1), Err(2)]),
            Err(1)
        );
    });
}
