//! Whether a query keeps its source's order, as types.

use std::fmt::Debug;

/// The query keeps its source's order.
///
/// Example: see [`Order`].
#[doc(alias = "AsOrdered")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordered;

/// The query's items may come in any order.
///
/// Example: see [`Order`].
#[doc(alias = "AsUnordered")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unordered;

/// [`Ordered`] or [`Unordered`]. Sealed.
///
/// # Examples
/// A function that takes queries of either kind, and one that needs their order:
/// ```
/// use manyhands::query::prelude::*;
/// use manyhands::query::{Order, Ordered, Pipeline, Query};
///
/// fn total<O: Order>(query: Query<'_, impl Pipeline<Item = u32>, O>) -> u32 {
///     query.sum()
/// }
/// fn newest(query: Query<'_, impl Pipeline<Item = u32>, Ordered>) -> Option<u32> {
///     query.last()
/// }
/// let numbers = || vec![3, 1, 2].into_par_query();
/// assert_eq!((total(numbers()), total(numbers().unordered())), (6, 6));
/// assert_eq!(newest(numbers()), Some(2));
/// assert!(Ordered::IS_KEPT);
/// ```
pub trait Order: Debug + Copy + Send + Sync + 'static + sealed::Sealed {
    /// Whether the order is kept.
    const IS_KEPT: bool;
}

impl Order for Ordered {
    const IS_KEPT: bool = true;
}

impl Order for Unordered {
    const IS_KEPT: bool = false;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Ordered {}
    impl Sealed for super::Unordered {}
}
