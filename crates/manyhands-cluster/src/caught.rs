//! Panics of the program's own code, as texts.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs a closure; what it panicked with is the error.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    // What the closure has touched is not used any more when it has panicked.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or(UNNAMED).to_owned();
        // Dropping it may panic too, with a value that then stays.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(mem::forget);
        text
    })
}

/// What a payload is called that is no text.
pub(crate) const UNNAMED: &str = "a value that is no text";
