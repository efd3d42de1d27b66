//! With the feature: the names of task groups. Same functions as in `recording/disabled.rs`.
//!
//! A group that was given a name while recording is open is in the list with a number, which the waits for the group have
//! as their resource.

use crate::recording::enabled::is_open;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use std::collections::BTreeMap;

static NAMES: Mutex<BTreeMap<usize, Box<str>>> = Mutex::new(BTreeMap::new());

/// The number of a group in the list, until this is dropped; 0: it is not there.
#[derive(Debug, Default)]
pub(crate) struct GroupName(usize);

impl GroupName {
    /// Of a group with this name.
    pub(crate) fn of(name: String) -> Self {
        if !is_open() {
            return Self::default();
        }
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        // Relaxed: a count.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        lock(&NAMES).insert(number, name.into_boxed_str());
        Self(number)
    }

    /// What waits for the group have as their resource.
    pub(crate) fn resource(&self) -> usize {
        self.0
    }
}

impl Drop for GroupName {
    #[inline]
    fn drop(&mut self) {
        if self.0 != 0 {
            let name = lock(&NAMES).remove(&self.0);
            drop(name);
        }
    }
}

/// The name of the group with this number.
pub(crate) fn name_of(resource: usize) -> Option<String> {
    lock(&NAMES).get(&resource).map(|name| name.to_string())
}
