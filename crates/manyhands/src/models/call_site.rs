//! The mark of a call site's key: while loops are recorded, no loop finds its profile by the key as it is.
//!
//! Threads: two. Operations: one gives a profile another key, the other begins to record.
//! Property: the key is marked in the end, whichever comes first.

use super::check;
use crate::call_site::key::{Key, Recording};
use loom::sync::Arc;
use loom::thread;

#[test]
fn a_site_that_takes_a_place_while_recording_begins_is_recorded() {
    check(|| {
        let shared = Arc::new((Key::new(), Recording::new()));
        let taker = Arc::clone(&shared);
        let taking = thread::spawn(move || taker.0.replace(7, &taker.1));
        shared.1.begin([&shared.0].into_iter());
        taking.join().unwrap();
        assert!(!shared.0.is_unmarked(7));
    });
}
