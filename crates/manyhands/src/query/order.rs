//! Whether a query keeps its source's order, as types.

use std::fmt::Debug;

/// The query keeps its source's order.
#[doc(alias = "AsOrdered")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordered;

/// The query's items may come in any order.
#[doc(alias = "AsUnordered")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unordered;

/// [`Ordered`] or [`Unordered`]. Sealed.
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
