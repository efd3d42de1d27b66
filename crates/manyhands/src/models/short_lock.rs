//! The short lock.
//!
//! Threads: two that each take the lock and add one, twice.
//! Property: they are inside one at a time, each sees what the others did before it, and all get in.

use super::{beside, check};
use crate::sync::short_lock::ShortLock;
use loom::sync::Arc;

fn add_twice(lock: &ShortLock<u32>) {
    (0..2).for_each(|_| *lock.lock() += 1);
}

#[test]
fn holders_are_alone_and_see_what_was_done_before() {
    check(|| {
        let lock = Arc::new(ShortLock::new(0));
        let other = beside(&lock, |lock| add_twice(&lock));
        add_twice(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock(), 4);
    });
}
