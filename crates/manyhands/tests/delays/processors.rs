//! Which processors a thread, and those it starts, may use.
#![expect(unsafe_code, reason = "calls of the C library")]

/// While this value exists, the calling thread and the threads that it starts use one processor.
#[derive(Debug)]
pub(crate) struct OneProcessor(Option<system::Mask>);

impl OneProcessor {
    /// Does nothing where the system does not allow it.
    pub(crate) fn begin() -> Self {
        Self(system::restrict())
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if let Some(mask) = self.0.take() {
            system::set(&mask);
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    //! Affinity masks of Linux.

    use std::mem::{MaybeUninit, size_of};

    pub(super) type Mask = libc::cpu_set_t;

    /// Leaves one of the processors the caller may use; returns the mask as it was.
    pub(super) fn restrict() -> Option<Mask> {
        let mut before = MaybeUninit::<Mask>::zeroed();
        // SAFETY: the mask has that size and outlives the call; 0 is the calling thread.
        let result = unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), before.as_mut_ptr()) };
        // SAFETY: zero is a mask, and so is what the system wrote.
        let before = unsafe { before.assume_init() };
        if result != 0 {
            return None;
        }
        let limit = usize::try_from(libc::CPU_SETSIZE).ok()?;
        // SAFETY: below the size of a mask.
        let first = (0..limit).find(|&index| unsafe { libc::CPU_ISSET(index, &before) })?;
        // SAFETY: zero is a mask.
        let mut one = unsafe { MaybeUninit::<Mask>::zeroed().assume_init() };
        // SAFETY: below the size of a mask.
        unsafe { libc::CPU_SET(first, &mut one) };
        set(&one);
        Some(before)
    }

    pub(super) fn set(mask: &Mask) {
        // SAFETY: the mask has that size; 0 is the calling thread. If the system refuses, nothing changes.
        unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), mask) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! The processors stay as they are.

    #[derive(Debug)]
    pub(super) struct Mask;

    pub(super) fn restrict() -> Option<Mask> {
        None
    }

    pub(super) fn set(_mask: &Mask) {}
}
