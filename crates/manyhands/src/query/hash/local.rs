//! One runner's groups: found through a plain hash map, and kept in the order of their first items.
//!
//! Items come in ascending order, so an item that finds its group is never the group's first: nothing is kept
//! or compared to know their order but where each run begins.

use crate::query::done::Done;
use crate::query::hash::Place;
use crate::query::hash::hasher::Secret;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::ops::{ControlFlow, Range};

/// How items become groups.
pub(crate) trait Gather<V>: Sync {
    /// What becomes of the items with equal keys.
    type Group: Send;

    /// A group of one item, of this run.
    fn begin(&self, value: V, run: u64) -> Self::Group;

    /// Adds an item of this run; those of a run come in order. `earlier` says that it stands before all
    /// others of the group.
    fn add(&self, group: &mut Self::Group, value: V, run: u64, earlier: bool);

    /// Adds a group with an equal key; what the two have of one run, the first one has the earlier part of.
    /// `earlier` says that the other begins before the first.
    fn merge(&self, group: &mut Self::Group, other: Self::Group, earlier: bool);
}

/// Groups by key.
pub(crate) struct Local<K, G> {
    numbers: HashMap<K, u32, Secret>,
    /// In the order of their first items.
    groups: Vec<G>,
    runs: Vec<Run>,
    /// With so many groups it is full.
    len_max: usize,
}

/// Where the groups of a run begin: those that have their first item there.
struct Run {
    /// The place before that of the first of them.
    last: Place,
    /// The number of the first of them.
    start: u32,
}

/// A group, its key, and where its first item stands.
pub(crate) struct Keyed<K, G> {
    pub(crate) key: K,
    pub(crate) group: G,
    pub(crate) first: Place,
}

impl<K, G> Local<K, G> {
    pub(crate) fn new(secret: Secret) -> Self {
        Self {
            numbers: HashMap::with_hasher(secret),
            groups: Vec::new(),
            runs: Vec::new(),
            len_max: LOCAL_BYTES_MAX / (size_of::<(K, u32)>() + 1 + size_of::<G>()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// How many groups were begun in the last run.
    pub(crate) fn begun(&self) -> u32 {
        let start = self.runs.last().map_or(0, |run| run.start);
        number_of(self.groups.len()) - start
    }

    /// Lets it have twice as many groups.
    pub(crate) fn grow(&mut self) {
        self.len_max *= 2;
    }

    /// What follows comes after this place.
    pub(crate) fn enter(&mut self, last: Place) {
        if self.runs.last().is_none_or(|run| run.last.0 != last.0) {
            let start = number_of(self.groups.len());
            self.runs.push(Run { last, start });
        }
    }
}

impl<K: Hash + Eq, G> Local<K, G> {
    /// There will be so many items.
    pub(crate) fn expect(&mut self, items: usize) {
        if self.groups.is_empty() {
            let len = items.min(LEN_EXPECTED_MAX);
            self.numbers.reserve(len);
            self.groups.reserve(len);
        }
    }

    /// Adds an item of this run. Breaks when it is full.
    #[inline(always)]
    pub(crate) fn add<V, A: Gather<V, Group = G>>(
        &mut self,
        gather: &A,
        run: u64,
        key: K,
        value: V,
    ) -> ControlFlow<()> {
        match self.numbers.entry(key) {
            Entry::Occupied(occupied) => {
                let group = &mut self.groups[*occupied.get() as usize];
                gather.add(group, value, run, false);
            }
            Entry::Vacant(vacant) => {
                let number = number_of(self.groups.len());
                self.groups.push(gather.begin(value, run));
                vacant.insert(number);
                if self.groups.len() >= self.numbers.capacity() {
                    return self.make_room();
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Grows faster than a map would by itself, up to its limit.
    #[cold]
    fn make_room(&mut self) -> ControlFlow<()> {
        let len = self.groups.len();
        if len >= self.len_max {
            return ControlFlow::Break(());
        }
        self.numbers.reserve(len * GROWTH);
        self.groups.reserve(len * GROWTH);
        ControlFlow::Continue(())
    }

    /// All groups, in order.
    pub(crate) fn into_groups(self) -> impl Iterator<Item = (K, G)> {
        let keys = by_number(self.numbers, self.groups.len());
        keys.into_iter()
            .zip(self.groups)
            .map(|(key, group)| (key.expect("each group has a key"), group))
    }

    /// All groups, in order, with the places of their first items.
    pub(crate) fn into_keyed(self) -> impl Iterator<Item = Keyed<K, G>> {
        let keys = by_number(self.numbers, self.groups.len());
        let mut groups = keys.into_iter().zip(self.groups);
        let ranges = ranges(&self.runs, number_of(groups.len()));
        let runs = self.runs.into_iter().zip(ranges);
        let firsts = runs.flat_map(|(run, range)| {
            let (run, number) = run.last;
            range
                .zip(number + 1..)
                .map(move |(_, number)| (run, number))
        });
        firsts.map_while(move |first| {
            let (key, group) = groups.next()?;
            Some(Keyed {
                key: key?,
                group,
                first,
            })
        })
    }
}

/// The groups of several runners, in order.
pub(crate) fn merge_all<K: Hash + Eq, V, A: Gather<V>>(
    gather: &A,
    tables: Done<Local<K, A::Group>>,
) -> Vec<(K, A::Group)> {
    let tables = match tables.into_one() {
        Ok(table) => return table.into_groups().collect(),
        Err(tables) => tables,
    };
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(Local::len);
    let Some(largest) = tables.pop() else {
        return Vec::new();
    };
    let mut merged = Merged::new(largest);
    for table in tables {
        merged.add(gather, table);
    }
    merged.into_groups()
}

/// Tables whose groups are put together. Numbers go on from one table to the next.
struct Merged<K, G> {
    numbers: HashMap<K, u32, Secret>,
    /// `None` where a group was added to another.
    groups: Vec<Option<G>>,
    /// Each run's first position and its groups, in the order of their numbers.
    runs: Vec<(u64, Range<u32>)>,
}

impl<K: Hash + Eq, G> Merged<K, G> {
    fn new(first: Local<K, G>) -> Self {
        let mut merged = Self {
            numbers: first.numbers,
            groups: Vec::new(),
            runs: Vec::new(),
        };
        merged.append(first.groups, &first.runs);
        merged
    }

    /// Adds groups that are not found yet. Returns the first one's number.
    fn append(&mut self, groups: Vec<G>, runs: &[Run]) -> u32 {
        let offset = number_of(self.groups.len());
        let ranges = ranges(runs, number_of(groups.len()));
        let ranges = ranges.map(|range| range.start + offset..range.end + offset);
        let firsts = runs.iter().map(|run| run.last.0);
        self.runs.extend(firsts.zip(ranges));
        self.groups.extend(groups.into_iter().map(Some));
        offset
    }

    fn add<V, A: Gather<V, Group = G>>(&mut self, gather: &A, table: Local<K, G>) {
        let offset = self.append(table.groups, &table.runs);
        self.numbers.reserve(table.numbers.len() / 2);
        for (key, number) in table.numbers {
            let number = number + offset;
            let Some(found) = self.numbers.get_mut(&key) else {
                self.numbers.insert(key, number);
                continue;
            };
            let before = *found;
            let earlier = self.run_of(number) < self.run_of(before);
            let other = self.groups[number as usize].take();
            let mut group = self.groups[before as usize].take();
            if let (Some(group), Some(other)) = (&mut group, other) {
                gather.merge(group, other, earlier);
            }
            if earlier {
                // The key of the first item is kept.
                self.numbers.remove(&key);
                self.numbers.insert(key, number);
                self.groups[number as usize] = group;
            } else {
                self.groups[before as usize] = group;
            }
        }
    }

    /// The first position of the run in which a group begins.
    fn run_of(&self, number: u32) -> u64 {
        let index = self.runs.partition_point(|(_, range)| range.end <= number);
        self.runs[index].0
    }

    fn into_groups(mut self) -> Vec<(K, G)> {
        let mut groups = Vec::with_capacity(self.numbers.len());
        let mut keys = by_number(self.numbers, self.groups.len());
        self.runs.sort_unstable_by_key(|(first, _)| *first);
        for (_, range) in self.runs {
            let range = range.start as usize..range.end as usize;
            let group_of = self.groups[range.clone()].iter_mut();
            let pairs = keys[range].iter_mut().zip(group_of);
            groups.extend(pairs.filter_map(|(key, group)| key.take().zip(group.take())));
        }
        groups
    }
}

/// Each number's key; some numbers may have none.
fn by_number<K>(numbers: HashMap<K, u32, Secret>, len: usize) -> Vec<Option<K>> {
    let mut keys: Vec<_> = (0..len).map(|_| None).collect();
    for (key, number) in numbers {
        keys[number as usize] = Some(key);
    }
    keys
}

/// The numbers of each run's groups.
fn ranges(runs: &[Run], end: u32) -> impl Iterator<Item = Range<u32>> + use<> {
    let starts: Vec<_> = runs.iter().map(|run| run.start).chain([end]).collect();
    (1..starts.len()).map(move |next| starts[next - 1]..starts[next])
}

fn number_of(len: usize) -> u32 {
    u32::try_from(len).expect("a runner has fewer than 2³² groups")
}

/// A table of this size is about as fast as one that stays in a processor's own cache.
const LOCAL_BYTES_MAX: usize = 2 << 20;
/// A full map makes room for so many times its groups.
const GROWTH: usize = 3;
/// So many groups are made room for before the first.
const LEN_EXPECTED_MAX: usize = 112;
