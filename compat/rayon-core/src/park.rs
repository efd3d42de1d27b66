//! Where a thread sleeps.
//!
//! Not here: who sleeps, and who is woken (`sleep.rs`, `registry.rs`).

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A thread sleeps here. A token that came while it was awake ends the next sleep at once.
#[derive(Default)]
pub(crate) struct Parker {
    has_token: Mutex<bool>,
    given: Condvar,
}

impl Parker {
    /// Sleeps until there is a token, or for `limit`. Returns whether there was one.
    pub(crate) fn park(&self, limit: Option<Duration>) -> bool {
        let mut has_token = self
            .has_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match limit {
            Some(limit) => {
                let waited = self.given.wait_timeout_while(has_token, limit, |has| !*has);
                has_token = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            None => {
                let waited = self.given.wait_while(has_token, |has| !*has);
                has_token = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        std::mem::take(&mut *has_token)
    }

    pub(crate) fn unpark(&self) {
        *self
            .has_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::Parker;
    use std::time::Duration;

    #[test]
    fn a_token_given_before_the_sleep_ends_it() {
        let parker = Parker::default();
        parker.unpark();
        assert!(parker.park(None));
        assert!(!parker.park(Some(Duration::from_millis(1))));
    }
}
