//! Items of a query as a map or a set.
//!
//! A table that grows with its items takes two to three times as long as one that is made with room for all, and adding a table
//! to another one takes as long as adding its items. So where keys differ, runners gather items, and the caller makes the
//! table of them, as an iterator's `collect` does. Where keys repeat, runners make tables, which stay small. The last items of a
//! part show whether they do: once there are a thousand, and again whenever there are four times as many. So a part keeps at most
//! a hundred items for each key. It grows as a vector does, but not beyond the number of all positions: with that much room to
//! spare beside the table the system's allocator gave memory back in each call, and 19,000 items took twice as long.
//!
//! Not here: which collections are tables (`terminal/from_query.rs`).

use crate::engine::Ending;
use crate::parallel::append::append;
use crate::parallel::reduce::Fold;
use crate::parallel::source::to_usize;
use crate::query::gather::fold;
use crate::query::{Pipeline, QueryRun};

/// A table of all items, of which the function gives the number of keys; `None` if the query was cancelled.
pub(crate) fn into_table<P: Pipeline, C, E: Ending>(
    mut pipeline: P,
    len: fn(&C) -> usize,
    run: &QueryRun<'_, E>,
) -> Option<C>
where
    C: Default + Extend<P::Item> + IntoIterator<Item = P::Item> + Send,
{
    let most = pipeline.positions_left().unwrap_or(u64::MAX);
    let part = fold(&mut pipeline, &IntoTable { len, most }, run);
    drop(pipeline);
    part.map(|part| match part {
        Some(Part::Items { items, .. }) => table_of(items),
        Some(Part::Table(table)) => table,
        None => C::default(),
    })
}

struct IntoTable<C> {
    /// The number of keys of a table.
    len: fn(&C) -> usize,
    /// There are no more items than this.
    most: u64,
}

/// What was made of adjacent items.
enum Part<T, C> {
    Items {
        items: Vec<T>,
        /// Whether keys repeat is looked at once there are so many.
        look_at: usize,
    },
    /// Their keys repeat.
    Table(C),
}

impl<T: Send, C> Fold<T> for IntoTable<C>
where
    C: Default + Extend<T> + IntoIterator<Item = T> + Send,
{
    type Value = Part<T, C>;

    #[inline]
    fn fold<I: Iterator<Item = T>>(
        &self,
        before: Option<Self::Value>,
        added: I,
    ) -> Option<Self::Value> {
        let (mut items, look_at) = match before {
            Some(Part::Table(mut table)) => {
                table.extend(added);
                return Some(Part::Table(table));
            }
            Some(Part::Items { items, look_at }) => (items, look_at),
            None => (Vec::new(), SAMPLE),
        };
        self.make_room(&mut items, added.size_hint().0);
        append(&mut items, added);
        Some(self.part_of(items, look_at))
    }

    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value {
        let (mut items, look_at) = match left {
            Part::Table(table) => return Part::Table(right.added_to(table)),
            Part::Items { items, look_at } => (items, look_at),
        };
        match right {
            Part::Table(_) if look_at == SAMPLE => Part::Table(right.added_to(table_of(items))),
            Part::Table(later) => {
                items.extend(later);
                Part::Items { items, look_at }
            }
            Part::Items {
                items: later,
                look_at: other,
            } => {
                self.make_room(&mut items, later.len());
                items.extend(later);
                self.part_of(items, look_at.max(other))
            }
        }
    }
}

impl<T, C: Default + Extend<T> + IntoIterator<Item = T>> Part<T, C> {
    /// A table of earlier items, and these.
    fn added_to(self, mut table: C) -> C {
        match self {
            Self::Items { items, .. } => table.extend(items),
            Self::Table(later) => table.extend(later),
        }
        table
    }
}

impl<C> IntoTable<C> {
    /// Makes room for `added` items more: twice as much as there is, but not for more than there are in all.
    #[inline]
    fn make_room<T>(&self, items: &mut Vec<T>, added: usize) {
        let needed = items.len() + added;
        if needed > items.capacity() {
            let doubled = to_usize(self.most.min(2 * items.capacity() as u64));
            items.reserve_exact(needed.max(doubled) - items.len());
        }
    }

    /// Makes a table of the items if enough keys repeat among the last ones; looks once there are `look_at` items.
    fn part_of<T>(&self, mut items: Vec<T>, look_at: usize) -> Part<T, C>
    where
        C: Default + Extend<T> + IntoIterator<Item = T>,
    {
        let len = items.len();
        if len < look_at {
            return Part::Items { items, look_at };
        }
        let sampled = SAMPLE.max(len / 16);
        let sample: C = table_of(items.drain(len - sampled..));
        let repeated = sampled - (self.len)(&sample);
        // Of the longer samples: as many as repeat at random if there are four items for each key.
        let enough = (sampled / 2).min(2 * sampled / (len / sampled));
        if repeated < enough {
            items.extend(sample);
            let look_at = 4 * len;
            return Part::Items { items, look_at };
        }
        let mut table: C = table_of(items);
        table.extend(sample);
        Part::Table(table)
    }
}

/// A table of these items, which is made with room for all.
fn table_of<T, C: Default + Extend<T>>(items: impl IntoIterator<Item = T>) -> C {
    let mut table = C::default();
    table.extend(items);
    table
}

/// As many items at least show whether keys repeat.
const SAMPLE: usize = 1024;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{IntoTable, Part, SAMPLE};
    use crate::parallel::reduce::Fold;
    use std::collections::HashMap;

    type Map = HashMap<usize, usize>;

    /// So many items from `first` on, with as many keys.
    fn items(first: usize, count: usize, keys: usize) -> impl Iterator<Item = (usize, usize)> {
        (first..first + count).map(move |number| (number % keys, number))
    }

    const INTO_TABLE: IntoTable<Map> = IntoTable {
        len: Map::len,
        most: u64::MAX,
    };

    fn part(first: usize, count: usize, keys: usize) -> Part<(usize, usize), Map> {
        let part = INTO_TABLE.fold(None, items(first, count, keys));
        part.expect("there are items")
    }

    #[test]
    fn a_part_has_no_room_for_more_items_than_there_are() {
        let most = 5 * SAMPLE + 1;
        let into_table = IntoTable {
            most: most as u64,
            ..INTO_TABLE
        };
        let (blocks, block_len) = (5, SAMPLE / 2);
        let grown = (0..blocks).fold(None, |part, number| {
            into_table.fold(part, items(number * block_len, block_len, most))
        });
        let begun = blocks * block_len;
        let rest = into_table.fold(None, items(begun, most - begun, most));
        let joined = into_table.combine(grown.expect("it has items"), rest.expect("it, too"));
        assert!(matches!(
            joined,
            Part::Items { items, .. } if items.len() == most && items.capacity() == most
        ));
    }

    #[test]
    fn a_part_becomes_a_table_once_half_of_a_sample_of_its_keys_repeats() {
        let is_table = |count, keys| matches!(part(0, count, keys), Part::Table(_));
        assert!(!is_table(SAMPLE - 1, 1));
        assert!(is_table(SAMPLE, SAMPLE / 2));
        assert!(!is_table(SAMPLE, SAMPLE / 2 + 1));
    }

    /// As a loop over an iterator makes them, whose runners take a few items in turn.
    #[test]
    fn many_small_parts_become_a_table_if_keys_repeat_in_them_together() {
        let into_table = INTO_TABLE;
        let joined = |keys| {
            let parts = (0..SAMPLE).map(|number| part(10 * number, 10, keys));
            parts.reduce(|left, right| into_table.combine(left, right))
        };
        assert!(matches!(joined(7), Some(Part::Table(table)) if table.len() == 7));
        assert!(
            matches!(joined(10 * SAMPLE), Some(Part::Items { items, .. }) if items.len() == 10 * SAMPLE)
        );
        let before_a_table = into_table.combine(part(0, 10, 7), part(10, SAMPLE, 7));
        assert!(matches!(before_a_table, Part::Table(table) if table.len() == 7));
    }

    #[test]
    fn a_part_that_grows_becomes_a_table_although_its_first_keys_differ() {
        let into_table = INTO_TABLE;
        let (block, keys) = (SAMPLE / 2, 2 * SAMPLE);
        let grown = |keys| {
            let blocks = (0..200).map(|number| items(number * block, block, keys));
            blocks.fold(None, |part, block| into_table.fold(part, block))
        };
        assert!(matches!(grown(keys), Some(Part::Table(table)) if table.len() == keys));
        assert!(
            matches!(grown(200 * block), Some(Part::Items { items, .. }) if items.len() == 200 * block)
        );
    }

    #[test]
    fn of_equal_keys_the_last_value_remains_whatever_the_parts_are() {
        let into_table = INTO_TABLE;
        let kinds = [(10, 7), (2 * SAMPLE, 7), (2 * SAMPLE, 2 * SAMPLE)];
        for (first_count, first_keys) in kinds {
            for (count, keys) in kinds {
                let first = || items(0, first_count, first_keys);
                let later = || items(first_count, count, keys);
                let joined = into_table.combine(
                    part(0, first_count, first_keys),
                    part(first_count, count, keys),
                );
                let more = items(0, 3, 5);
                let all = into_table.fold(Some(joined), more);
                let found: Map = match all.expect("there are items") {
                    Part::Items { items, .. } => items.into_iter().collect(),
                    Part::Table(table) => table,
                };
                let expected: Map = first().chain(later()).chain(items(0, 3, 5)).collect();
                assert_eq!(found, expected, "{first_keys} and {keys} keys");
            }
        }
    }
}
