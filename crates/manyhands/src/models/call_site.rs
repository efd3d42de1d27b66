//! The mark of a call site's key: while loops are recorded, no loop finds its profile by the key as it is.
//!
//! Threads: three. Operations: two give a profile their own keys, the third marks the key and then looks for the profile.
//! Property: it finds the profile by none of the keys, whichever comes first.

use super::{beside, check, join_all};
use crate::call_site::Key;
use loom::sync::Arc;

#[test]
fn a_site_that_takes_a_place_while_recording_begins_is_recorded() {
    check(|| {
        let key = Arc::new(Key::default());
        let takers = [7, 8].map(|taken| beside(&key, move |key| key.replace(taken)));
        let assert_marked = || assert!(![7, 8].into_iter().any(|taken| key.is_unmarked(taken)));
        key.mark();
        assert_marked();
        join_all(takers);
        assert_marked();
    });
}
