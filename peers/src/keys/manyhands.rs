//! manyhands' queries and sorts on the default runtime; keys in the order of their first values, or in none.

use std::num::Wrapping;

use manyhands::query::prelude::{ParQuery, ParSlice};

use crate::keys::{Keys, Row};

/// As they are.
#[derive(Debug)]
pub(crate) struct Ordered;

/// With the order given up at once.
#[derive(Debug)]
pub(crate) struct Unordered;

macro_rules! keys {
    ($contender:ident, $order:ident) => {
        impl Keys for $contender {
            fn count(values: &[u64]) -> Vec<(u64, usize)> {
                values
                    .par_query()
                    .$order()
                    .count_by(|value| **value)
                    .to_vec()
            }

            fn join(values: &[u64], table: &[Row]) -> u64 {
                let table = table.par_query().copied();
                let values = values.par_query().$order().copied();
                let found = values.join(
                    table,
                    |value| *value,
                    |row| row.0,
                    |value, row| Wrapping(value ^ row.1),
                );
                found.sum::<Wrapping<u64>>().0
            }

            fn sort(values: &mut [u64]) {
                values.par_sort_unstable();
            }

            fn sort_stable(values: &mut [u64]) {
                values.par_sort();
            }
        }
    };
}

keys!(Ordered, ordered);
keys!(Unordered, unordered);
