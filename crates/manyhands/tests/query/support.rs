//! Settings to run each query with, deadlines, counted drops, panics; see also `setting.rs`.
#![expect(
    clippy::disallowed_methods,
    reason = "deadlines need the clock; nothing here sleeps"
)]

use crate::setting::Setting;
use manyhands::query::ExecutionMode;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// A sanitizer slows all down, and the machine may do other things.
pub(crate) const LIMIT: Duration = Duration::from_secs(if cfg!(sanitized) { 1_200 } else { 120 });

/// Runs `work` on a thread of its own, and fails if it takes too long.
pub(crate) fn within_limit<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (ended, end) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        work()
    });
    let waited = end.recv_timeout(LIMIT);
    assert!(
        waited != Err(RecvTimeoutError::Timeout),
        "not ended in time"
    );
    thread
        .join()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

/// Waits until `condition` holds; fails after the time limit.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT / 2;
    while !condition() {
        assert!(Instant::now() < deadline, "the deadline has passed: {what}");
        thread::yield_now();
    }
}

/// Every way to run a query that the tests try.
pub(crate) fn settings() -> impl Iterator<Item = Setting> {
    let modes = [ExecutionMode::Auto, ExecutionMode::Parallel];
    (0..3).flat_map(move |pool| {
        [1, 2, 3, 16].into_iter().flat_map(move |degree| {
            modes
                .into_iter()
                .map(move |mode| Setting { pool, degree, mode })
        })
    })
}

/// A few ways, for tests with many cases.
pub(crate) fn few_settings() -> [Setting; 3] {
    [
        Setting {
            pool: 0,
            degree: 1,
            mode: ExecutionMode::Auto,
        },
        Setting {
            pool: 1,
            degree: 2,
            mode: ExecutionMode::Parallel,
        },
        Setting {
            pool: 2,
            degree: 16,
            mode: ExecutionMode::Parallel,
        },
    ]
}

/// Panics without a message on the terminal.
pub(crate) fn blow() -> ! {
    resume_unwind(Box::new("blown"))
}

/// Whether `work` panics.
pub(crate) fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

/// Counts values, and how often each was dropped.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    made: AtomicUsize,
    dropped: AtomicUsize,
    /// The number whose drop panics, unless its thread panics already.
    bomb: Option<i32>,
}

/// A number that is counted.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) number: i32,
    ledger: Arc<Ledger>,
    dropped: AtomicUsize,
}

impl Ledger {
    /// One of whose numbers panics when it is dropped.
    pub(crate) fn with_bomb(number: i32) -> Arc<Self> {
        Arc::new(Self {
            bomb: Some(number),
            ..Self::default()
        })
    }

    pub(crate) fn make(self: &Arc<Self>, number: i32) -> Counted {
        self.made.fetch_add(1, Ordering::SeqCst);
        Counted {
            number,
            ledger: Arc::clone(self),
            dropped: AtomicUsize::new(0),
        }
    }

    pub(crate) fn make_all(self: &Arc<Self>, count: i32) -> Vec<Counted> {
        (0..count).map(|number| self.make(number)).collect()
    }

    #[track_caller]
    pub(crate) fn assert_settled(&self, what: &str) {
        let made = self.made.load(Ordering::SeqCst);
        assert_eq!(
            made,
            self.dropped.load(Ordering::SeqCst),
            "made and dropped: {what}"
        );
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.dropped.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before, 0, "number {} was dropped twice", self.number);
        self.ledger.dropped.fetch_add(1, Ordering::SeqCst);
        if self.ledger.bomb == Some(self.number) && !thread::panicking() {
            blow()
        }
    }
}
