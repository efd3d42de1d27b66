//! Panics of the program's own code, as texts.

use manyhands::AggregatePanic;
use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs a closure; what it panicked with is the error.
pub(crate) fn caught<R>(call: impl FnOnce() -> R) -> Result<R, String> {
    // What the closure has touched is not used any more when it has panicked.
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = text_of(&*payload);
        // Dropping it may panic too, with a value that then stays.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(mem::forget);
        text
    })
}

/// What a payload says, or several together. It must find room in a message, so of a long text this is the beginning.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    match (text, payload.downcast_ref::<AggregatePanic>()) {
        (Some(text), _) => shortened(text),
        (None, Some(several)) => shortened(&several.to_string()),
        (None, None) => "a value that is no text".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= TEXT_BYTES_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

const TEXT_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_beginning_is_kept_and_marked() {
        for (text, expected) in [
            (String::new(), String::new()),
            ("ä".repeat(10), "ä".repeat(10)),
            ("x".repeat(TEXT_BYTES_MAX), "x".repeat(TEXT_BYTES_MAX)),
            ("x".repeat(1 << 20), "x".repeat(TEXT_BYTES_MAX) + "…"),
            (
                "x".to_owned() + &"ä".repeat(1 << 20),
                "x".to_owned() + &"ä".repeat(TEXT_BYTES_MAX / 2) + "…",
            ),
        ] {
            let caught = caught(|| -> () { std::panic::panic_any(text) });
            assert!(caught == Err(expected));
        }
    }
}
