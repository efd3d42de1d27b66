//! polars-core: a column sorted, and rows grouped, on the pool that polars has of its own.

use polars_core::prelude::*;

/// A million numbers with a name.
pub(crate) fn column() -> Int64Chunked {
    Int64Chunked::from_vec("key".into(), numbers(i64::MAX))
}

/// Sorts the column; returns a few of its numbers, folded.
pub(crate) fn sorted(column: &Int64Chunked) -> i64 {
    let sorted = column.sort(false);
    let few = sorted.iter().step_by(1000).flatten();
    few.fold(0, |sum, number| sum.rotate_left(1) ^ number)
}

/// A million rows with ten thousand keys.
pub(crate) fn frame() -> DataFrame {
    let keys = Int64Chunked::from_vec("key".into(), numbers(10_000));
    let column = keys.into_series().into_column();
    DataFrame::new(column.len(), vec![column]).expect("one column, as high as itself")
}

/// How many groups of rows with the same key there are.
pub(crate) fn groups(frame: &DataFrame) -> usize {
    let groups = frame.group_by(["key"]).expect("there is such a column");
    groups.get_groups().len()
}

fn numbers(end: i64) -> Vec<i64> {
    let number = |i: i64| i.wrapping_mul(0x1E37_79B9_7F4A_7C15).rem_euclid(end);
    (0..1_000_000).map(number).collect()
}
