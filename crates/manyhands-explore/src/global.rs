//! Statics of one schedule: what lasts for the process elsewhere lasts for one schedule here.
//!
//! Unsafe: values are given out as `'static` and freed when the next schedule begins.

use crate::world;
use std::ops::Deref;

/// A static that each schedule makes anew. See the macro `global`.
#[derive(Debug)]
pub struct Global<T: 'static>(pub fn() -> T);

impl<T: 'static> Deref for Global<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let key = std::ptr::from_ref(self).addr();
        let known = world::global(key).unwrap_or_else(|| {
            let made = std::ptr::from_ref(leak((self.0)())).cast();
            world::set_global(key, made);
            made
        });
        // SAFETY: made by the function of this very static, and kept until the schedule is over.
        unsafe { &*known.cast::<T>() }
    }
}

/// Keeps a value until the schedule is over; no thread of the schedule runs longer.
pub fn leak<T: 'static>(value: T) -> &'static T {
    let value = Box::into_raw(Box::new(value));
    world::keep(value.cast(), |value| {
        // SAFETY: from a box, and dropped once, when no thread runs any more.
        drop(unsafe { Box::from_raw(value.cast::<T>()) });
    });
    // SAFETY: kept until the schedule is over.
    unsafe { &*value }
}

/// Declares statics, which each schedule makes anew.
#[macro_export]
macro_rules! global {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $(
            $(#[$attribute])*
            static $name: $crate::Global<$type> =
                $crate::Global(|| $value);
        )*
    };
}
