//! manyhands' loops on its default runtime, without options.

use manyhands::parallel;
use manyhands::query::prelude::*;

use crate::loops::Loops;

#[derive(Debug)]
pub(crate) struct Manyhands;

impl Loops for Manyhands {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        parallel::for_each(0..len, body);
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        // There is no zip yet, so the loop runs over the indices of both slices. Like a zip it
        // checks the lengths once, not each index; and it owns what it captures, because a scale
        // behind a reference might alias `y`. Either would keep it from being vectorized.
        assert_eq!(x.len(), y.len(), "saxpy of unequal slices");
        let y = Elements(y.as_mut_ptr());
        parallel::for_each(0..x.len(), move |index| {
            // SAFETY: the loop calls indices below the length of `x` only.
            let x = unsafe { *x.get_unchecked(index) };
            let element = y.element(index);
            // SAFETY: the loop calls each index below the length of `y` once, so this is the only
            // reference to the element, and the exclusive borrow of `y` outlives the loop.
            let element = unsafe { &mut *element };
            *element += scale * x;
        });
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.into_par_query().sum()
    }
}

/// The start of an exclusively borrowed slice whose elements are handed out one by one.
struct Elements(*mut f32);

impl Elements {
    /// The address of an element, which is there only for an index within the slice.
    fn element(&self, index: usize) -> *mut f32 {
        self.0.wrapping_add(index)
    }
}

// SAFETY: the pointer forbids it; only addresses are shared, and `saxpy` says who writes where.
unsafe impl Sync for Elements {}
