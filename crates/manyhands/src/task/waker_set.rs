//! Wakers of any number of futures that wait for the same event.
//!
//! It has no lock: its user keeps it under one, and clones, wakes and drops wakers outside.

use std::task::Waker;

/// The set.
#[derive(Debug, Default)]
pub(super) struct WakerSet {
    places: Vec<Option<Waker>>,
    free: Vec<usize>,
}

/// A waiter's key in the set, or none yet.
#[derive(Debug, Default)]
pub(super) struct WakerKey(Option<usize>);

impl WakerSet {
    /// Registers the waiter's waker, which was cloned outside the lock; returns its earlier one, or this one if that is the
    /// same.
    #[must_use = "a waker is dropped outside the lock"]
    pub(super) fn register(&mut self, key: &mut WakerKey, waker: Waker) -> Option<Waker> {
        let index = *key.0.get_or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.places.push(None);
                self.places.len() - 1
            })
        });
        let place = &mut self.places[index];
        if place.as_ref().is_some_and(|known| known.will_wake(&waker)) {
            return Some(waker);
        }
        place.replace(waker)
    }

    /// Forgets the waiter.
    #[must_use = "a waker is dropped outside the lock"]
    pub(super) fn remove(&mut self, key: &mut WakerKey) -> Option<Waker> {
        let index = key.0.take()?;
        // After `take_all` the key is no longer valid.
        let waker = self.places.get_mut(index)?.take();
        self.free.push(index);
        waker
    }

    /// Takes all wakers, finally: no waiter registers any more.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.places).into_iter().flatten()
    }
}
