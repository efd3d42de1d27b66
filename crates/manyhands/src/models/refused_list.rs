//! The list of those that were refused a thread (`runtime/worker/refused_list.rs`).
//!
//! Threads: one that is refused a thread, one that sleeps unless the list has an entry, one that tries for those on the list.
//! Operations: add, look, try all. Property: no thread sleeps for ever beside an entry: it sees the flag, or is woken; what comes
//! back while others try stays on the list, and the flag with it.

use super::{Count, beside, check};
use crate::runtime::worker::refused_list::RefusedList;
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

struct Model {
    list: RefusedList<usize>,
    sleeper: Parker,
    tried: Count,
}

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            list: RefusedList::default(),
            sleeper: Parker::default(),
            tried: Count::new(),
        })
    }

    fn add(&self, entry: usize) {
        self.list.add(entry, usize::eq, || self.sleeper.unpark());
    }

    /// Tries for those on the list; the first of all comes back.
    fn try_all(&self) {
        self.list.try_all(|listed| {
            if self.tried.add(listed.len()) == 0 {
                self.add(listed[0]);
            }
        });
    }

    /// Waits for nothing but the tries, of which there will be this many.
    fn sleep_and_try(&self, tries: usize) {
        while self.tried.now() < tries {
            if self.list.is_any() {
                // It would sleep for a while.
                self.try_all();
                thread::yield_now();
            } else {
                self.sleeper.park();
            }
        }
    }
}

#[test]
fn a_thread_that_falls_asleep_sees_the_entry_or_is_woken() {
    check(|| {
        let model = Model::new();
        let refused = beside(&model, |model| model.add(7));
        model.sleep_and_try(2);
        refused.join().unwrap();
        assert!(!model.list.is_any(), "nothing is left to try");
    });
}

#[test]
fn an_entry_that_comes_while_others_are_tried_is_seen_until_it_is_tried() {
    check(|| {
        let model = Model::new();
        model.add(1);
        let refused = beside(&model, |model| model.add(2));
        let tries = beside(&model, |model| model.try_all());
        model.try_all();
        refused.join().unwrap();
        tries.join().unwrap();
        let mut is_left = false;
        let had_flag = model.list.is_any();
        model.list.try_all(|_| is_left = true);
        assert_eq!(had_flag, is_left, "the flag tells of entries");
    });
}
