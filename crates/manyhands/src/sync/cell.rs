//! A cell with the interface of loom's, over the standard library's. The models have loom's own, whose accesses they watch.
//!
//! Not a lock: the user's protocol decides which thread may touch the value, and when.
//!
//! Unsafe: the value is reached through a raw pointer.

/// A value that several threads may reach.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell around `value`.
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// A pointer to the value; the caller's protocol decides when it may be used.
    #[inline]
    pub(crate) fn get_mut(&self) -> MutPtr<T> {
        MutPtr(self.0.get())
    }
}

/// A pointer to the value.
pub(crate) struct MutPtr<T>(*mut T);

impl<T> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// 1. The cell is valid, and no other thread reaches its value while the reference is used.
    #[inline]
    #[expect(
        clippy::mut_from_ref,
        reason = "the signature of loom's, and the caller answers for being alone"
    )]
    pub(crate) unsafe fn deref(&self) -> &mut T {
        // SAFETY: 1., by the caller's promise.
        unsafe { &mut *self.0 }
    }
}
