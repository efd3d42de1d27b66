//! Adding items to a vector when nobody knows how many come.
//!
//! [`Vec::extend`] stores the length with each item and reads it again for the next one, because making room could change
//! it. That takes longer than many an item. Here the length is stored once for all items that fit.
//!
//! Unsafe: items are written behind the vector's last one.

use std::ops::ControlFlow;

/// Adds these items at the end.
#[inline]
pub(crate) fn append<T>(to: &mut Vec<T>, mut items: impl Iterator<Item = T>) {
    loop {
        let room = to.capacity() - to.len();
        let places = to.spare_capacity_mut().as_mut_ptr();
        let mut added = Added { to, count: 0 };
        let flow = items.try_for_each(|item| {
            if added.count == room {
                return ControlFlow::Break(item);
            }
            let place = places.wrapping_add(added.count);
            // SAFETY: there are `room` places, and nobody else uses them meanwhile.
            unsafe { place.cast::<T>().write(item) };
            added.count += 1;
            ControlFlow::Continue(())
        });
        drop(added);
        match flow {
            ControlFlow::Continue(()) => return,
            // Makes room.
            ControlFlow::Break(item) => to.push(item),
        }
    }
}

/// Gives back room of which most is not used, once all items are there.
#[inline]
pub(crate) fn give_back_room<T>(items: &mut Vec<T>) {
    if items.len() < items.capacity() / 4 {
        items.shrink_to_fit();
    }
}

/// Items that were written, also when the next one panics.
struct Added<'a, T> {
    to: &'a mut Vec<T>,
    count: usize,
}

impl<T> Drop for Added<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this number of places behind the last item was written.
        unsafe { self.to.set_len(self.to.len() + self.count) };
    }
}

/// No more room than this is made before it is needed: what is not used is given back, and was never touched.
pub(crate) const ROOM_BYTES_MAX: usize = 16 << 20;
