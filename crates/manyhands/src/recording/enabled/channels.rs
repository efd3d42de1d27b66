//! With the feature: the list of channels. Same functions as in `recording/disabled.rs`.
//!
//! A channel that is made while recording is open is put into the list with its address, and taken out when its last end
//! is dropped.
//!
//! # Access
//! A reader of the list looks at channels by their addresses while it holds the list's lock. An end of a channel is dropped
//! before the memory that it shares with the others is freed, and the last one takes the channel out of the list first,
//! which needs the lock. So a channel in the list is in place.
//!
//! A channel whose own lock is held is not waited for: the holder may be about to make or drop another channel, in a
//! closure of the user.
//!
//! Unsafe: channels are looked at by their addresses.

use crate::recording::enabled::{is_open, moment};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, clock, lock};
use manyhands_wire::{Channel, Load, place, printable};
use std::any::type_name;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

/// A channel, as far as it can be looked at from any thread.
pub(crate) trait ObservedChannel {
    /// What is in it; `None` if it is in use.
    fn load(&self) -> Option<Load>;
}

static CHANNELS: Mutex<BTreeMap<u64, Entry>> = Mutex::new(BTreeMap::new());

/// What a channel knows of its place in the list: its number there, or 0.
#[derive(Debug, Default)]
pub(crate) struct ChannelRecord(AtomicU64);

struct Entry {
    channel: *const (),
    /// Reads the channel at the address `channel`, which is of the type that this function was made for.
    load: unsafe fn(*const ()) -> Option<Load>,
    name: Option<Box<str>>,
    item_type: &'static str,
    made_at: &'static Location<'static>,
    capacity: Option<usize>,
    made: u64,
}

// SAFETY: the address is used under the list's lock only, and by `load`, which reads counts and no items under the
// channel's own lock, from whichever thread.
unsafe impl Send for Entry {}

impl ChannelRecord {
    /// `channel`, which contains this, was made and has its ends.
    #[inline]
    #[track_caller]
    pub(crate) fn made<T, C: ObservedChannel>(
        &self,
        channel: &C,
        name: Option<Box<str>>,
        capacity: Option<usize>,
    ) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if !is_open() {
            return;
        }
        // Relaxed: a count.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Relaxed: written before the channel is shared.
        self.0.store(number, Ordering::Relaxed);
        let entry = Entry {
            channel: ptr::from_ref(channel).cast(),
            // SAFETY: it is called with the address above, while the channel is in place.
            load: |channel: *const ()| unsafe { &*channel.cast::<C>() }.load(),
            name,
            item_type: type_name::<T>(),
            made_at: Location::caller(),
            capacity,
            made: clock::ticks(),
        };
        lock(&CHANNELS).insert(number, entry);
    }

    /// An end was removed, whose reference to the channel is still there. After the last one the channel leaves the list.
    #[inline]
    pub(crate) fn end_removed(&self, is_last: bool) {
        // Relaxed: written before the channel was shared.
        let number = self.0.load(Ordering::Relaxed);
        if is_last && number != 0 {
            let entry = lock(&CHANNELS).remove(&number);
            drop(entry);
        }
    }
}

/// The channels that exist and are wanted, by number and what is in them; the oldest first.
pub(crate) fn read(mut is_wanted: impl FnMut(u64, Option<Load>) -> bool) -> Vec<Channel> {
    let channels = lock(&CHANNELS);
    let now = moment();
    let channel = |(&number, entry): (&u64, &Entry)| {
        // SAFETY: the channel is in the list, whose lock is held, so it is in place; the function is the one for its type.
        let load = unsafe { (entry.load)(entry.channel) };
        is_wanted(number, load).then(|| Channel {
            number,
            name: entry.name.as_deref().map(printable),
            item_type: printable(entry.item_type),
            made_at: place(entry.made_at),
            capacity: entry.capacity,
            resource: format!("{:x}", entry.channel.addr()),
            age_us: now.micros_since(entry.made),
            load,
        })
    };
    channels.iter().filter_map(channel).collect()
}
