//! With the feature: the names of task groups, by the numbers of their sets.
//!
//! Not here: which sets there are (`task_set.rs`).

use crate::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

static NAMES: Mutex<BTreeMap<NonZeroU32, Box<str>>> = Mutex::new(BTreeMap::new());

/// A set has this name until [`remove`].
pub(super) fn insert(number: NonZeroU32, name: String) {
    lock(&NAMES).insert(number, name.into_boxed_str());
}

/// A set has ended.
pub(super) fn remove(number: NonZeroU32) {
    let name = lock(&NAMES).remove(&number);
    drop(name);
}

/// The name of the set with this number.
pub(crate) fn name_of(number: NonZeroU32) -> Option<String> {
    lock(&NAMES).get(&number).map(|name| name.to_string())
}
