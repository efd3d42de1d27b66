//! How a unit test waits for what another thread does.
//!
//! Not here: waits of the library (`park.rs`).

use crate::sync::clock;
use std::thread;
use std::time::Duration;

/// Yields until it is so. Panics after twenty seconds, and says what was waited for.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = clock::now();
    while !is_so() {
        assert!(clock::now() - begun < LIMIT, "not in time: {what}");
        thread::yield_now();
    }
}

const LIMIT: Duration = Duration::from_secs(20);
