//! OpenMP's static schedule from libgomp, compiled by the build script from `openmp.c`.

use std::ffi::c_void;

use crate::loops::Loops;

// Signatures as in `openmp.c`.
unsafe extern "C" {
    fn peers_openmp_range(
        len: usize,
        body: extern "C" fn(*const c_void, usize, usize),
        ctx: *const c_void,
    );
    fn peers_openmp_saxpy(len: usize, scale: f32, x: *const f32, y: *mut f32);
    fn peers_openmp_sum(len: usize, values: *const u64) -> u64;
}

#[derive(Debug)]
pub(crate) struct OpenMp;

impl Loops for OpenMp {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        let ctx = (&raw const body).cast::<c_void>();
        // SAFETY: `share::<B>` gets the `B` it expects, shared between threads as `Sync` allows,
        // and the region ends before `body` does.
        unsafe { peers_openmp_range(len, share::<B>, ctx) };
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        assert_eq!(x.len(), y.len(), "saxpy of unequal slices");
        // SAFETY: both slices have `len` elements and the borrow of `y` is exclusive.
        unsafe { peers_openmp_saxpy(x.len(), scale, x.as_ptr(), y.as_mut_ptr()) };
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        // SAFETY: the slice has `len` elements.
        unsafe { peers_openmp_sum(values.len(), values.as_ptr()) }
    }
}

/// One thread's share of the range. A panic of the body would abort at this boundary.
extern "C" fn share<B: Fn(usize) + Sync>(ctx: *const c_void, low: usize, high: usize) {
    // SAFETY: `for_range` passed a pointer to a live `B`.
    let body = unsafe { &*ctx.cast::<B>() };
    for index in low..high {
        body(index);
    }
}
