//! The collections that a query can be collected into.

use crate::engine::{Ending, Until};
use crate::query::earliest::Earliest;
use crate::query::gather::{into_vec, joined};
use crate::query::op::apply::{Applied, Map};
use crate::query::op::flat_op::{FlatOp, Flattened};
use crate::query::tables::into_table;
use crate::query::{Pipeline, QueryRun, drop_then};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// A collection that a query can be collected into.
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// use std::collections::{BTreeMap, HashSet};
/// let words = || ["many", "hands", "many"].into_par_query();
/// assert_eq!(words().collect::<HashSet<_>>().len(), 2);
/// let lengths: BTreeMap<&str, usize> = words().map(|word| (word, word.len())).collect();
/// assert_eq!(lengths["hands"], 5);
/// let parsed: Result<Vec<u8>, _> = ["1", "2"].into_par_query().map(str::parse).collect();
/// assert_eq!(parsed, Ok(vec![1, 2]));
/// ```
///
/// A collection of one's own, or a wrapper of one that another crate defines:
/// ```
/// use manyhands::query::{FromQuery, prelude::*};
/// use std::collections::LinkedList;
///
/// #[derive(Debug, PartialEq)]
/// struct Chain<T>(LinkedList<T>);
///
/// impl<T: Send> FromQuery<T> for Chain<T> {
///     fn from_vec(items: Vec<T>) -> Self {
///         Chain(items.into_iter().collect())
///     }
/// }
///
/// let squares: Chain<u32> = (0..4).into_par_query().map(|n| n * n).collect();
/// assert_eq!(squares, Chain([0, 1, 4, 9].into()));
/// let parsed: Option<Chain<u32>> = [Some(1), None].into_par_query().collect();
/// assert_eq!(parsed, None);
/// ```
#[doc(alias = "FromParallelIterator")]
pub trait FromQuery<T: Send>: Sized {
    /// The collection of all items of a query, which are in order. They are gathered in parallel; this runs on the caller.
    ///
    /// Example: see [`FromQuery`].
    fn from_vec(items: Vec<T>) -> Self;

    /// All items; `None` if the query was cancelled.
    #[doc(hidden)]
    fn from_pipeline<P: Pipeline<Item = T>, E: Ending>(
        pipeline: P,
        run: &QueryRun<'_, E>,
    ) -> Option<Self> {
        into_vec(pipeline, run).map(Self::from_vec)
    }
}

/// A collection that is made from a vector.
macro_rules! from_vec {
    ($($collection:ty $(where $bound:ident)?;)*) => {$(
        impl<T: Send $(+ $bound)?> FromQuery<T> for $collection {
            fn from_vec(items: Vec<T>) -> Self {
                items.into()
            }
        }
    )*};
}

from_vec! {
    Vec<T>;
    Box<[T]>;
    Arc<[T]>;
    VecDeque<T>;
    BinaryHeap<T> where Ord;
}

/// Tables, with what counts their keys; strings, made in parts, with what adds one of later items; and collections that are
/// sorted as a whole, and built once, as the standard library does: the last of equal keys remains, with its value.
macro_rules! from_pipeline {
    ($([$($generics:tt)*] $item:ty => $collection:ty, $made:ident by $how:expr;)*) => {$(
        impl<$($generics)*> FromQuery<$item> for $collection {
            fn from_vec(items: Vec<$item>) -> Self {
                items.into_iter().collect()
            }

            fn from_pipeline<P: Pipeline<Item = $item>, E: Ending>(
                pipeline: P,
                run: &QueryRun<'_, E>,
            ) -> Option<Self> {
                $made(pipeline, $how, run)
            }
        }
    )*};
}

from_pipeline! {
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send] (K, V) => HashMap<K, V, S>, into_table by Self::len;
    [T: Eq + Hash + Send, S: BuildHasher + Default + Send] T => HashSet<T, S>, into_table by Self::len;
    [] char => String, joined by |text: &mut Self, later| text.push_str(&later);
    ['a] &'a char => String, joined by |text: &mut Self, later| text.push_str(&later);
    ['a] &'a str => String, joined by |text: &mut Self, later| text.push_str(&later);
    [] String => String, joined by |text: &mut Self, later| text.push_str(&later);
    [] Box<str> => String, joined by |text: &mut Self, later| text.push_str(&later);
    ['a] Cow<'a, str> => String, joined by |text: &mut Self, later| text.push_str(&later);
    [K: Ord + Send, V: Send] (K, V) => BTreeMap<K, V>, sorted by |left, right| left.0.cmp(&right.0);
    [T: Ord + Send] T => BTreeSet<T>, sorted by T::cmp;
}

/// Nothing, of bodies that only fail: `collect::<Result<(), _>>()` is the first error.
impl FromQuery<()> for () {
    fn from_vec(_: Vec<()>) -> Self {}
}

/// All items, sorted; equal ones keep their order. `None` if the query was cancelled.
fn sorted<P: Pipeline, C: FromQuery<P::Item>, E: Ending>(
    pipeline: P,
    compare: impl Fn(&P::Item, &P::Item) -> Ordering + Sync,
    run: &QueryRun<'_, E>,
) -> Option<C> {
    let mut items = into_vec(pipeline, run)?;
    run.options().sort_by(&mut items, compare);
    (!run.is_cancelled()).then(|| C::from_vec(items))
}

/// The first error, if there is one. Blocks above it are not started.
impl<T: Send, Err: Send, C: FromQuery<T>> FromQuery<Result<T, Err>> for Result<C, Err> {
    fn from_vec(items: Vec<Result<T, Err>>) -> Self {
        // Not by `collect`, which loses the failure if the drop of a value panics.
        let mut failure = None;
        let value = |item: Result<T, Err>| item.map_err(|error| failure = Some(error)).ok();
        let values: Vec<T> = items.into_iter().map_while(value).collect();
        match failure {
            Some(failure) => drop_then(values, Err(failure)),
            None => Ok(C::from_vec(values)),
        }
    }

    fn from_pipeline<P: Pipeline<Item = Result<T, Err>>, E: Ending>(
        pipeline: P,
        run: &QueryRun<'_, E>,
    ) -> Option<Self> {
        let failure = Earliest::new(Until::First);
        let collection = C::from_pipeline(Flattened(pipeline, UpToFailure(&failure)), run)?;
        Some(match failure.into_found() {
            Some(failure) => drop_then(collection, Err(failure)),
            None => Ok(collection),
        })
    }
}

/// `None`, if there is one. Blocks above it are not started.
impl<T: Send, C: FromQuery<T>> FromQuery<Option<T>> for Option<C> {
    fn from_vec(items: Vec<Option<T>>) -> Self {
        items.into_iter().collect::<Option<_>>().map(C::from_vec)
    }

    fn from_pipeline<P: Pipeline<Item = Option<T>>, E: Ending>(
        pipeline: P,
        run: &QueryRun<'_, E>,
    ) -> Option<Self> {
        let attempts = Applied(pipeline, Map(|item: Option<T>| item.ok_or(())));
        Result::<C, ()>::from_pipeline(attempts, run).map(Result::ok)
    }
}

/// The values of items until the first failure, and where that is kept.
struct UpToFailure<'a, F>(&'a Earliest<F>);

impl<V: Send, F: Send> FlatOp<Result<V, F>> for UpToFailure<'_, F> {
    type Output = V;
    const NAME: &'static str = "collect";

    #[inline]
    fn expand<I: Iterator<Item = Result<V, F>>>(
        &self,
        start: u64,
        items: I,
    ) -> impl Iterator<Item = V> {
        let note = move |failure| self.0.keep(start, failure);
        items.map_while(move |item| item.map_err(note).ok())
    }

    fn end(&self) -> u64 {
        self.0.end()
    }
}
