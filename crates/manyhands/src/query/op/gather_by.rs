//! What operators that gather by key have in common: `distinct`, `group_by`, `count_by`, `fold_by` and the sets.
//!
//! Not here: how items become groups (`query/hash/`), and what a group is, which each operator says.

use crate::engine::consumer::Ending;
use crate::parallel::source::owned::OwnedItems;
use crate::query::Query;
use crate::query::hash::groups::Groups;
use crate::query::hash::local::Gather;
use crate::query::items::Items;
use crate::query::order::Order;
use crate::query::pipeline::{Breaker, Pipeline};
use crate::query::run::QueryRun;
use std::hash::Hash;

/// What `make` makes of each key and its group, by the groups' first items if `in_order`.
pub(super) fn gathered<P, K, V, F, A, R, E>(
    mut base: P,
    mut groups: Groups<K, V, F, A>,
    in_order: bool,
    run: &QueryRun<'_, E>,
    make: impl Fn(K, A::Group) -> R,
) -> Vec<R>
where
    P: Pipeline,
    K: Hash + Eq + Send,
    V: Send,
    F: Fn(P::Item) -> Option<(K, V)> + Sync,
    A: Gather<V>,
    E: Ending,
{
    base.drive(u64::MAX, &mut groups, &run.for_merging());
    drop(base);
    groups.conclude(in_order, make)
}

/// See [`gathered`].
struct GatherBy<P, S, A, M> {
    base: P,
    name: &'static str,
    split: S,
    gather: A,
    make: M,
    in_order: bool,
}

impl<P, K, V, R, S, A, M> Breaker for GatherBy<P, S, A, M>
where
    P: Pipeline,
    K: Hash + Eq + Send,
    V: Send,
    R: Send,
    S: Fn(P::Item) -> Option<(K, V)> + Send + Sync,
    A: Gather<V> + Send,
    M: Fn(K, A::Group) -> R + Send,
{
    type Item = R;
    type Positions = OwnedItems<R>;

    fn open<E: Ending>(self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let groups = Groups::new(self.split, self.gather, self.base.positions_left());
        let items = gathered(self.base, groups, self.in_order, run, self.make);
        Items::of_vec(items)
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), self.name.into()]
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// What `make` makes of each key and its group. See [`gathered`].
    pub(super) fn gather_by<K: Hash + Eq + Send, V: Send, A: Gather<V> + Send, R: Send>(
        self,
        name: &'static str,
        split: impl Fn(P::Item) -> Option<(K, V)> + Send + Sync,
        gather: A,
        make: impl Fn(K, A::Group) -> R + Send,
    ) -> Query<'a, impl Pipeline<Item = R>, O, E> {
        self.breaking(|base| GatherBy {
            base,
            name,
            split,
            gather,
            make,
            in_order: O::IS_KEPT,
        })
    }
}
