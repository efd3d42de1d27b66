//! Prefetching: loads a cache line ahead of its use.
//!
//! Unsafe: the hint is an intrinsic; any address may be given to it.

/// Prefetches the line of `place`, to be read soon. Does nothing if the processor has no such
/// instruction.
#[inline]
pub fn prefetch_for_reading<T>(place: *const T) {
    // `_MM_HINT_T0`.
    prefetch::<3, T>(place);
}

/// Prefetches the line of `place`, to be written soon. Does nothing if the processor has no
/// such instruction.
#[inline]
pub fn prefetch_for_writing<T>(place: *const T) {
    // `_MM_HINT_ET0`.
    prefetch::<7, T>(place);
}

#[inline]
fn prefetch<const HINT: i32, T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: a hint that never faults, whatever the address.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<HINT>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    let _ = place;
}
