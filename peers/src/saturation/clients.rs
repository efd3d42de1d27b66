//! Clients that are tasks of the service's pool: each asks again as soon as it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use manyhands::task::Priority;

use crate::saturation::{Service, Way};
use crate::tasks::Pool;

/// Clients at work.
#[derive(Debug)]
pub(crate) struct Clients(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    expected: u64,
    answered: AtomicUsize,
    wrong: AtomicUsize,
    running: AtomicUsize,
    is_over: AtomicBool,
}

impl Clients {
    /// Sets them to work. Every answer must be `expected`.
    pub(crate) fn start<S: Service>(
        pool: &S::Pool,
        priority: Priority,
        way: Way,
        expected: u64,
    ) -> Self {
        let shared = Arc::new(Shared {
            expected,
            answered: AtomicUsize::new(0),
            wrong: AtomicUsize::new(0),
            running: AtomicUsize::new(CLIENTS),
            is_over: AtomicBool::new(false),
        });
        for _ in 0..CLIENTS {
            S::spawn(pool, priority, ask::<S>(Arc::clone(&shared), way));
        }
        Self(shared)
    }

    /// How many requests have been answered.
    pub(crate) fn answered(&self) -> usize {
        // Relaxed: nothing but the number is read.
        self.0.answered.load(Ordering::Relaxed)
    }

    /// Lets each have its last answer and waits for it; the error says how many answers were wrong. The parent
    /// ends a child that waits too long.
    pub(crate) fn finish(self) -> Result<(), String> {
        // Relaxed: one request more or less is of no matter.
        self.0.is_over.store(true, Ordering::Relaxed);
        // Acquire: pairs with the Release in `ask`.
        while self.0.running.load(Ordering::Acquire) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // Relaxed: published by the count of those that run.
        match self.0.wrong.load(Ordering::Relaxed) {
            0 => Ok(()),
            wrong => Err(format!("{wrong} wrong answers")),
        }
    }
}

/// One client.
async fn ask<S: Service>(shared: Arc<Shared>, way: Way) {
    // Relaxed: see `finish`.
    while !shared.is_over.load(Ordering::Relaxed) {
        if S::request(way).await != shared.expected {
            // Relaxed: published by the count of those that run.
            shared.wrong.fetch_add(1, Ordering::Relaxed);
        }
        // Relaxed: see `answered`.
        shared.answered.fetch_add(1, Ordering::Relaxed);
        S::Pool::yield_now().await;
    }
    // Release: pairs with the Acquire in `finish`.
    shared.running.fetch_sub(1, Ordering::Release);
}

const CLIENTS: usize = 8;
