//! Maps, sets, lists and channels, by their own iterators; arrays, boxed slices, options, queues and heaps, as vectors; what of
//! them is borrowed, as slices.

use crate::channel::{self, Receiver};
use crate::parallel::source::{
    ByPosition, Chained, FromIter, MutableItems, OwnedItems, SharedItems, Source, from_iter,
};
use std::collections::{
    BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque, btree_map, btree_set,
    hash_map, hash_set, linked_list,
};
use std::sync::Arc;

/// Collections whose iterators are pulled in chunks. Moving an item out, or a reference to one, is quick, so it costs
/// little that only one runner at a time does so.
macro_rules! collections {
    ($([$($generics:tt)*] $collection:ty, $iterator:ty;)*) => {$(
        impl<$($generics)*> Source for $collection {
            type Item = <$iterator as Iterator>::Item;
            type Feed = FromIter<$iterator>;

            fn into_feed(self) -> Self::Feed {
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
    [T: Send] Receiver<T>, channel::IntoIter<T>;
    [T: Send] LinkedList<T>, linked_list::IntoIter<T>;
    ['a, T: Sync] &'a LinkedList<T>, linked_list::Iter<'a, T>;
}

/// What is seen as a vector or a slice.
macro_rules! by_position {
    ($([$($generics:tt)*] $collection:ty, $item:ty, $items:ty, $convert:expr;)*) => {$(
        impl<$($generics)*> Source for $collection {
            type Item = $item;
            type Feed = ByPosition<$items>;

            fn into_feed(self) -> Self::Feed {
                $convert(self).into_feed()
            }
        }
    )*};
}

by_position! {
    [T: Send, const N: usize] [T; N], T, OwnedItems<T>, Vec::from;
    [T: Send] Box<[T]>, T, OwnedItems<T>, <[T]>::into_vec;
    ['a, T: Sync] &'a Box<[T]>, &'a T, SharedItems<'a, T>, Box::as_ref;
    ['a, T: Sync] &'a Arc<[T]>, &'a T, SharedItems<'a, T>, Arc::as_ref;
    ['a, T: Sync] &'a Arc<Vec<T>>, &'a T, SharedItems<'a, T>, Arc::as_ref;
    [T: Send] Option<T>, T, OwnedItems<T>, Vec::from_iter;
    [T: Send] BinaryHeap<T>, T, OwnedItems<T>, BinaryHeap::into_vec;
    ['a, T: Sync] &'a BinaryHeap<T>, &'a T, SharedItems<'a, T>, BinaryHeap::as_slice;
    [T: Send] VecDeque<T>, T, OwnedItems<T>, Vec::from;
    ['a, T: Sync] &'a Vec<T>, &'a T, SharedItems<'a, T>, Vec::as_slice;
    ['a, T: Send] &'a mut Vec<T>, &'a mut T, MutableItems<'a, T>, Vec::as_mut_slice;
    ['a, T: Sync, const N: usize] &'a [T; N], &'a T, SharedItems<'a, T>, <[T; N]>::as_slice;
    ['a, T: Send, const N: usize] &'a mut [T; N], &'a mut T, MutableItems<'a, T>, <[T; N]>::as_mut_slice;
}

impl<'a, T: Sync> Source for &'a VecDeque<T> {
    type Item = &'a T;
    type Feed = ByPosition<Chained<SharedItems<'a, T>, SharedItems<'a, T>>>;

    fn into_feed(self) -> Self::Feed {
        let (front, back) = self.as_slices();
        ByPosition(Chained(front.into_feed().0, back.into_feed().0))
    }
}

impl<'a, T: Send> Source for &'a mut VecDeque<T> {
    type Item = &'a mut T;
    type Feed = ByPosition<Chained<MutableItems<'a, T>, MutableItems<'a, T>>>;

    fn into_feed(self) -> Self::Feed {
        let (front, back) = self.as_mut_slices();
        ByPosition(Chained(front.into_feed().0, back.into_feed().0))
    }
}
