//! How much may wait at this end: what came and was not taken yet, or what is to go and was not sent yet.
//!
//! Messages may be lost, so what finds no room is. Without this a flood would fill the memory of an end that is slower than it.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for a number of bytes.
#[derive(Clone)]
pub(super) struct Room(Arc<Semaphore>);

/// Keeps a message's room until all copies of this are dropped.
#[derive(Debug, Clone)]
pub(crate) struct Place(
    #[expect(dead_code, reason = "it is only dropped")] Arc<OwnedSemaphorePermit>,
);

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM_BYTES / UNIT_BYTES)))
    }

    /// A place for a message; `None` if there is no room for it.
    pub(super) fn place(&self, bytes: usize) -> Option<Place> {
        let units = u32::try_from(bytes / UNIT_BYTES + 1).ok()?;
        let permit = Arc::clone(&self.0).try_acquire_many_owned(units).ok()?;
        Some(Place(Arc::new(permit)))
    }
}

/// As much as of long messages that are on their way.
const ROOM_BYTES: usize = 2 << 30;
/// What a short message counts as.
const UNIT_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FRAME_BYTES_MAX;

    #[test]
    fn what_waits_has_an_end_and_room_comes_back() {
        let room = Room::new();
        let long = || room.place(FRAME_BYTES_MAX as usize);
        let longest: Vec<Place> = std::iter::from_fn(long).collect();
        assert_eq!(longest.len(), 7);
        let short: Vec<Place> = std::iter::from_fn(|| room.place(0)).collect();
        assert!(short.len() < 5_000, "{} short ones", short.len());
        let copy = longest[0].clone();
        drop(longest);
        assert!((0..6).all(|_| long().is_some()));
        drop(short);
        let longest: Vec<Place> = std::iter::from_fn(long).collect();
        assert_eq!(longest.len(), 6, "a copy keeps its place");
        drop(copy);
        assert!(long().is_some());
    }
}
