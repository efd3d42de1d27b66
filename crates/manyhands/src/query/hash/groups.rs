//! Groups of the items with equal keys: lists, counts, sums, sets.
//!
//! Each runner begins with a table of its own ([`local`](crate::query::hash::local)). When that is full, or hardly
//! reduces the number of items, and the runner is not alone, it distributes its items by hash instead
//! ([`spread`](crate::query::hash::spread)), unless there are known to be so few items that a group for each is merged within
//! a processor's own cache.

use crate::engine::{Consumer, Ending};
use crate::parallel::one_or_many::OneOrMany;
use crate::query::hash::local::{Gather, Local, MERGED_LEN_MAX, merge_all};
use crate::query::hash::spread::{NumberedRow, OrderedGroup, Parts, Spread};
use crate::query::hash::{ItemNumbering, hash_of, new_secret, ranking};
use crate::query::pipeline::drop_then;
use crate::query::{Pipeline, QueryRun};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, get_mut, lock};
use foldhash::fast::FixedState;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Groups items, from several runners at once. `split` divides an item into its key and the value that is gathered, or
/// drops it.
pub(crate) struct Groups<K, V, F, A: Gather<V>> {
    split: F,
    gather: A,
    secret: FixedState,
    /// About how many items there are, if that is known.
    items: Option<u64>,
    /// How many runners have begun.
    runners: AtomicUsize,
    /// Tables of runners that have never distributed items.
    whole: Mutex<OneOrMany<Local<K, A::Group>>>,
    parts: Mutex<Option<SharedParts<K, A::Group>>>,
    gathers: PhantomData<fn(V)>,
}

type SharedParts<K, G> = Arc<Parts<K, G>>;

/// What a runner has so far.
pub(crate) struct Runner<K, V, G> {
    local: Local<K, G>,
    /// Items that were added to the table since it was empty.
    items: usize,
    spread: Option<Spread<K, V, G>>,
    places: ItemNumbering,
    /// How many runners had begun before.
    ordinal: usize,
}

impl<K: Hash + Eq + Send, V: Send, F, A: Gather<V>> Groups<K, V, F, A> {
    /// About `items` will come, if that is known.
    pub(crate) fn new(split: F, gather: A, items: Option<u64>) -> Self {
        Self {
            split,
            gather,
            secret: new_secret(),
            items,
            runners: AtomicUsize::new(0),
            whole: Mutex::new(OneOrMany::new()),
            parts: Mutex::new(None),
            gathers: PhantomData,
        }
    }

    /// What `make` makes of each key of a query's items and its group, by the groups' first items if `in_order`.
    pub(crate) fn gather<P: Pipeline, R, E: Ending>(
        mut self,
        mut base: P,
        in_order: bool,
        run: &QueryRun<'_, E>,
        make: impl Fn(K, A::Group) -> R,
    ) -> Vec<R>
    where
        F: Fn(P::Item) -> Option<(K, V)> + Sync,
    {
        base.drive(u64::MAX, &mut self, &run.for_merging());
        drop(base);
        let groups = self.conclude(in_order, make);
        drop_then(self, groups)
    }

    /// What `make` makes of all groups, by their first items if `in_order`. Groups are moved once less than if it were made
    /// of them after this.
    fn conclude<R>(&mut self, in_order: bool, mut make: impl FnMut(K, A::Group) -> R) -> Vec<R> {
        let whole = std::mem::replace(get_mut(&mut self.whole), OneOrMany::new());
        let Some(parts) = get_mut(&mut self.parts).take() else {
            return merge_all(&self.gather, whole, make);
        };
        for local in whole.into_vec() {
            parts.merge(&self.gather, local);
        }
        let parts = parts.take();
        if in_order {
            return ranking::in_order(parts, make);
        }
        let mut groups = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        let entries = parts.into_iter().flatten().map(OrderedGroup::into_group);
        groups.extend(entries.map(|(key, group)| make(key, group)));
        groups
    }

    /// Continues at these positions.
    #[inline]
    fn enter(&self, runner: &mut Runner<K, V, A::Group>, positions: Range<u64>) {
        if positions.start < runner.places.run && runner.spread.is_none() {
            // It has taken over positions that lie before its earlier ones.
            let local = std::mem::replace(&mut runner.local, Local::new(self.secret.clone()));
            runner.items = 0;
            lock(&self.whole).push(local);
        }
        runner.places.enter(positions);
        if runner.spread.is_none() {
            runner.local.enter(runner.places.last());
        }
    }

    /// The runner's table is full: it may grow with the next group, or what it has goes to the parts.
    #[cold]
    fn make_room(&self, runner: &mut Runner<K, V, A::Group>) {
        let len = runner.local.len();
        // Relaxed: a hint.
        let may_grow = if self.runners.load(Ordering::Relaxed) == 1 {
            len < ALONE_LEN_MAX
        } else {
            // A flat map may make many more than are known.
            let are_few = |known: u64| known.max(len as u64) <= MERGED_LEN_MAX as u64;
            let len_max = Local::<K, A::Group>::len_max();
            self.items.is_some_and(are_few) || len < len_max && !runner.has_many_keys()
        };
        if may_grow {
            return;
        }
        let parts = Arc::clone(lock(&self.parts).get_or_insert_with(|| Arc::new(Parts::new())));
        let pays = runner.items / len >= ITEMS_PER_GROUP_MIN;
        let local = std::mem::replace(&mut runner.local, Local::new(self.secret.clone()));
        runner.items = 0;
        runner.places.skip(local.begun());
        parts.merge(&self.gather, local);
        if pays {
            runner.local.enter(runner.places.last());
        } else {
            runner.spread = Some(Spread::new(parts));
        }
    }
}

impl<K, V, G> Runner<K, V, G> {
    /// Whether there seem to be too many keys for a table of its own: of this number of equally likely keys, more
    /// items would have repeated one by now.
    fn has_many_keys(&self) -> bool {
        let len = self.local.len();
        let repeats = self.items - len;
        len >= SPREAD_LEN_MIN && repeats < len * len / (2 * Local::<K, G>::len_max())
    }
}

impl<T, K, V, F, A> Consumer<T> for Groups<K, V, F, A>
where
    K: Hash + Eq + Send,
    V: Send,
    F: Fn(T) -> Option<(K, V)> + Sync,
    A: Gather<V>,
{
    type Runner = Runner<K, V, A::Group>;

    fn start(&self) -> Self::Runner {
        Runner {
            local: Local::new(self.secret.clone()),
            items: 0,
            spread: None,
            places: ItemNumbering::default(),
            // Relaxed: a hint.
            ordinal: self.runners.fetch_add(1, Ordering::Relaxed),
        }
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        mut items: I,
    ) {
        self.enter(runner, positions);
        while runner.spread.is_none() {
            let (local, run) = (&mut runner.local, runner.places.run);
            local.expect(items.size_hint().0);
            let mut count = 0;
            let flow = local.add(&self.gather, run, &mut items, |item| {
                count += 1;
                (self.split)(item)
            });
            runner.items += count;
            if flow.is_continue() {
                local.thin_out(runner.items);
                return;
            }
            self.make_room(runner);
        }
        if let Some(spread) = &mut runner.spread {
            items.for_each(|item| {
                let (run, index) = runner.places.next();
                if let Some((key, value)) = (self.split)(item) {
                    let hash = hash_of(&self.secret, &key);
                    let row = NumberedRow {
                        key,
                        value,
                        hash,
                        index,
                    };
                    spread.add(&self.gather, run, row);
                }
            });
        }
    }

    fn finish(&self, mut runner: Self::Runner) {
        match &mut runner.spread {
            Some(spread) => spread.flush(runner.ordinal, &self.gather),
            None => lock(&self.whole).push(runner.local),
        }
    }
}

/// A runner that is alone keeps a table with fewer groups to itself; their numbers stay far below 2³².
const ALONE_LEN_MAX: usize = 1 << 28;
/// A table that gathers fewer items than this in each group does not pay.
const ITEMS_PER_GROUP_MIN: usize = 4;
/// With fewer groups a runner does not begin to distribute: few items may remain.
const SPREAD_LEN_MIN: usize = 8_192;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Groups;
    use crate::engine::consumer::Consumer;
    use crate::query::hash::local::Gather;
    use crate::sync::lock;

    struct Once;

    impl Gather<()> for Once {
        type Group = ();

        fn begin(&self, (): (), _run: u64) {}

        fn add(&self, (): &mut (), (): (), _run: u64, _earlier: bool) {}

        fn merge(&self, (): &mut (), (): (), _earlier: bool) {}
    }

    #[test]
    fn two_runners_distribute_many_keys_unless_there_are_few_items() {
        let (few, many) = (Some(200_000), Some(1 << 30));
        for (items, distribute) in [(few, false), (many, true), (None, true)] {
            let mut groups = Groups::new(|key: u64| Some((key, ())), Once, items);
            let mut runners = [groups.start(), groups.start()];
            for (start, runner) in [0, 15_000].into_iter().zip(&mut runners) {
                groups.consume(runner, start..start + 15_000, start..start + 15_000);
            }
            runners.into_iter().for_each(|runner| groups.finish(runner));
            assert_eq!(lock(&groups.parts).is_some(), distribute, "{items:?}");
            let in_order = groups.conclude(true, |key, ()| key);
            assert!(in_order.into_iter().eq(0..30_000));
        }
    }
}
