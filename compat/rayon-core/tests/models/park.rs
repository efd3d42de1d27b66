//! What models have in place of `src/park.rs`.

use crate::places::do_naps_end;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::mem;
use std::sync::PoisonError;
use std::time::Duration;

/// As that of `src/park.rs`.
#[derive(Default)]
pub(crate) struct Parker {
    has_token: Mutex<bool>,
    given: Condvar,
}

impl Parker {
    /// Sleeps until there is a token; with a limit, only until other threads have made a step, where naps end.
    pub(crate) fn park(&self, limit: Option<Duration>) -> bool {
        let ends = limit.is_some() && do_naps_end();
        if ends {
            thread::yield_now();
        }
        let lock = || {
            self.has_token
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let mut has_token = lock();
        while !*has_token && !ends {
            let waited = self.given.wait(has_token);
            has_token = waited.unwrap_or_else(PoisonError::into_inner);
        }
        mem::take(&mut *has_token)
    }

    pub(crate) fn unpark(&self) {
        *self
            .has_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_one();
    }
}
