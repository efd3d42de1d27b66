//! Averages, and sums that detect overflow.
//!
//! Integers of up to 64 bits are added up in 128, where 2^63 of them fit; so neither result depends on how
//! the items were grouped.

use crate::engine::Ending;
use crate::parallel::reduce::Fold;
use crate::query::{Order, Pipeline, Query};
use std::marker::PhantomData;

/// A primitive number, or a reference to one. Sealed.
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// assert_eq!([1_u8, 2, 4].par_query().average(), Some(7.0 / 3.0));
/// assert_eq!([200_u8, 100].into_par_query().checked_sum(), None); // 300 is no `u8`
/// ```
pub trait Number: Send + sealed::Sealed {
    /// The type in which sums are added up.
    #[doc(hidden)]
    type Total: Send + Default;

    /// The number itself.
    type Value;

    #[doc(hidden)]
    fn add_to(self, total: Option<Self::Total>) -> Option<Self::Total>;

    #[doc(hidden)]
    fn combine(left: Self::Total, right: Self::Total) -> Option<Self::Total>;

    #[doc(hidden)]
    fn value(total: Self::Total) -> Option<Self::Value>;

    #[doc(hidden)]
    fn divide(total: Self::Total, count: usize) -> f64;
}

mod sealed {
    pub trait Sealed {}
}

/// Numbers by the type in which they are added up, which holds each: how two totals are added, and what number a total is.
/// `as` to a float is intended.
macro_rules! numbers {
    ($($total:ty, $add:expr, $value:expr, $($type:ty)*;)*) => {$($(
        impl sealed::Sealed for $type {}

        #[expect(clippy::allow_attributes, reason = "not every type fulfils the expectation")]
        #[allow(clippy::cast_lossless, clippy::cast_possible_truncation, clippy::redundant_closure_call, clippy::unnecessary_cast, clippy::unnecessary_fallible_conversions, clippy::useless_conversion, reason = "one text for all types")]
        impl Number for $type {
            type Total = $total;
            type Value = Self;

            #[inline]
            fn add_to(self, total: Option<$total>) -> Option<$total> {
                Self::combine(total?, self as $total)
            }

            #[inline]
            fn combine(left: $total, right: $total) -> Option<$total> {
                $add(left, right)
            }

            fn value(total: $total) -> Option<Self> {
                $value(total)
            }

            fn divide(total: $total, count: usize) -> f64 {
                total as f64 / count as f64
            }
        }
    )*)*};
}

numbers! {
    u128, u128::checked_add, |total: u128| Self::try_from(total).ok(), u8 u16 u32 u64 u128 usize;
    i128, i128::checked_add, |total: i128| Self::try_from(total).ok(), i8 i16 i32 i64 i128 isize;
    f64, |left: f64, right: f64| Some(left + right), |total: f64| Some(total as Self), f32 f64;
}

impl<T: sealed::Sealed> sealed::Sealed for &T {}

impl<T: Number + Copy + Sync> Number for &T {
    type Total = T::Total;
    type Value = T::Value;

    #[inline]
    fn add_to(self, total: Option<T::Total>) -> Option<T::Total> {
        (*self).add_to(total)
    }

    fn combine(left: T::Total, right: T::Total) -> Option<T::Total> {
        T::combine(left, right)
    }

    fn value(total: T::Total) -> Option<T::Value> {
        T::value(total)
    }

    fn divide(total: T::Total, count: usize) -> f64 {
        T::divide(total, count)
    }
}

/// Adds up and counts. A total that has overflowed is `None`.
struct Adding<T>(PhantomData<fn() -> T>);

impl<T: Number> Fold<T> for Adding<T> {
    type Value = (Option<T::Total>, usize);

    #[inline]
    fn fold<I: Iterator<Item = T>>(
        &self,
        value: Option<Self::Value>,
        items: I,
    ) -> Option<Self::Value> {
        let start = value.unwrap_or_else(|| (Some(T::Total::default()), 0));
        Some(items.fold(start, |(total, count), item| {
            (item.add_to(total), count + 1)
        }))
    }

    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value {
        let totals = left.0.zip(right.0);
        let total = totals.and_then(|(left, right)| T::combine(left, right));
        (total, left.1 + right.1)
    }
}

impl<P: Pipeline<Item: Number>, O: Order, E: Ending> Query<'_, P, O, E> {
    /// All items added up; `None` if the sum does not fit its type. Of 128-bit integers also if the sum of some of
    /// them does not, although that of all would.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([200_u8, 55].par_query().checked_sum(), Some(255));
    /// assert_eq!([200_u8, 56].par_query().checked_sum(), None);
    /// ```
    #[doc(alias = "Sum")]
    #[track_caller]
    pub fn checked_sum(self) -> E::Output<Option<<P::Item as Number>::Value>> {
        self.end_with(Adding(PhantomData), |_, sum| {
            let (total, _) = sum.unwrap_or_else(|| (Some(Default::default()), 0));
            total.and_then(P::Item::value)
        })
    }

    /// The arithmetic mean; `None` if there are no items, or if 128-bit integers overflow.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((1..=4).into_par_query().average(), Some(2.5));
    /// ```
    #[track_caller]
    pub fn average(self) -> E::Output<Option<f64>> {
        self.end_with(Adding(PhantomData), |_, sum| match sum {
            Some((Some(total), count)) if count > 0 => Some(P::Item::divide(total, count)),
            _ => None,
        })
    }
}
