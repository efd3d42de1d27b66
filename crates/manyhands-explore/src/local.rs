//! Thread-local values.

use shuttle::thread::AccessError;
use std::cell::Cell;

/// As the standard library's key, for the coroutines.
#[derive(Debug)]
pub struct LocalKey<T: 'static>(shuttle::thread::LocalKey<T>);

impl<T: 'static> LocalKey<T> {
    pub const fn new(init: fn() -> T) -> Self {
        Self(shuttle::thread::LocalKey {
            init,
            _p: std::marker::PhantomData,
        })
    }

    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.0.with(f)
    }

    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        self.0.try_with(f)
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

/// As the standard library's.
#[macro_export]
macro_rules! per_thread {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr;)*) => {
        $(
            $(#[$attribute])*
            $visibility static $name: $crate::LocalKey<$type> =
                $crate::LocalKey::new(|| $value);
        )*
    };
}
