//! Maps, sets, queues and channels, by their own iterators.

use crate::channel::{self, Receiver};
use crate::query::Query;
use crate::query::source::{FromIter, IntoParQuery, from_iter};
use std::collections::{
    BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque, binary_heap, btree_map,
    btree_set, hash_map, hash_set, linked_list, vec_deque,
};

/// Collections whose iterators are pulled in chunks. Moving an item out, or a reference to one, is quick, so it costs
/// little that only one runner at a time does so.
macro_rules! collections {
    ($([$($generics:tt)*] $collection:ty, $iterator:ty;)*) => {$(
        impl<$($generics)*> IntoParQuery for $collection {
            type Item = <$iterator as Iterator>::Item;
            type Pipeline = FromIter<$iterator>;

            fn into_par_query(self) -> Query<'static, Self::Pipeline> {
                from_iter(self)
            }
        }
    )*};
}

collections! {
    [K: Send, V: Send, S] HashMap<K, V, S>, hash_map::IntoIter<K, V>;
    ['a, K: Sync, V: Sync, S] &'a HashMap<K, V, S>, hash_map::Iter<'a, K, V>;
    ['a, K: Send + Sync, V: Send, S] &'a mut HashMap<K, V, S>, hash_map::IterMut<'a, K, V>;
    [K: Send, V: Send] BTreeMap<K, V>, btree_map::IntoIter<K, V>;
    ['a, K: Sync, V: Sync] &'a BTreeMap<K, V>, btree_map::Iter<'a, K, V>;
    ['a, K: Send + Sync, V: Send] &'a mut BTreeMap<K, V>, btree_map::IterMut<'a, K, V>;
    [T: Send, S] HashSet<T, S>, hash_set::IntoIter<T>;
    ['a, T: Sync, S] &'a HashSet<T, S>, hash_set::Iter<'a, T>;
    [T: Send] BTreeSet<T>, btree_set::IntoIter<T>;
    ['a, T: Sync] &'a BTreeSet<T>, btree_set::Iter<'a, T>;
    [T: Send] VecDeque<T>, vec_deque::IntoIter<T>;
    ['a, T: Sync] &'a VecDeque<T>, vec_deque::Iter<'a, T>;
    ['a, T: Send] &'a mut VecDeque<T>, vec_deque::IterMut<'a, T>;
    [T: Send] BinaryHeap<T>, binary_heap::IntoIter<T>;
    ['a, T: Sync] &'a BinaryHeap<T>, binary_heap::Iter<'a, T>;
    [T: Send] Receiver<T>, channel::IntoIter<T>;
    [T: Send] LinkedList<T>, linked_list::IntoIter<T>;
    ['a, T: Sync] &'a LinkedList<T>, linked_list::Iter<'a, T>;
}
