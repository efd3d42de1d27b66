//! Looking at the program while somebody looks at the page: one look at a time, whose result all pages get.
//!
//! Frozen looks hold still on the present picture, on all pages, and the program is not asked.

use crate::error::Error;
use crate::graph::Graph;
use crate::page::freeze::Freeze;
use crate::page::methods::Methods;
use crate::svg;
use crate::wire::View;
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;

/// What a look has shown, as JSON.
type Shown = Arc<str>;

/// The looks at one program.
pub(super) struct Looks {
    last: watch::Sender<Shown>,
    /// What `last` was made of, if the program has answered.
    seen: Mutex<Option<Look>>,
    freeze: Freeze,
    pages: Arc<Semaphore>,
}

/// One page that looks.
pub(super) struct Seen {
    last: watch::Receiver<Shown>,
    _place: OwnedSemaphorePermit,
}

#[derive(Serialize)]
struct Look {
    process: u32,
    view: View,
    graph: String,
    /// Null if this page may not be frozen.
    frozen: Option<bool>,
}

#[derive(Serialize)]
struct Failed {
    error: String,
}

impl Looks {
    /// Calls `look` as often as `every` says, on a thread for blocking calls, while there are pages.
    pub(super) fn begin(
        every: Duration,
        process: u32,
        freeze: Freeze,
        look: impl FnMut() -> Result<View, Error> + Send + 'static,
    ) -> Arc<Self> {
        let looks = Arc::new(Self {
            last: watch::Sender::new(Arc::from("")),
            seen: Mutex::new(None),
            freeze,
            pages: Arc::new(Semaphore::new(PAGES_MAX)),
        });
        tokio::spawn(Arc::clone(&looks).go_on(every, process, Arc::new(Mutex::new(look))));
        looks
    }

    async fn go_on<F>(self: Arc<Self>, every: Duration, process: u32, look: Arc<Mutex<F>>)
    where
        F: FnMut() -> Result<View, Error> + Send + 'static,
    {
        let mut interval = tokio::time::interval(every.max(EVERY_MIN));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            if self.last.receiver_count() == 0 || self.holds_still() {
                continue;
            }
            let look = Arc::clone(&look);
            let looked = tokio::task::spawn_blocking(move || {
                let mut look = look.lock().unwrap_or_else(PoisonError::into_inner);
                look().map(|view| (svg::draw(&Graph::of(&view)), view))
            });
            match looked.await {
                Ok(Ok((graph, view))) => self.show(process, graph, view),
                Ok(Err(error)) => self.complain(&error),
                Err(_) => {}
            }
        }
    }

    /// Whether there is a picture, and it stays.
    fn holds_still(&self) -> bool {
        self.freeze.is_frozen() && self.seen().is_some()
    }

    fn show(&self, process: u32, graph: String, view: View) {
        let mut seen = self.seen();
        if self.freeze.is_frozen() && seen.is_some() {
            // Frozen while the program was asked.
            return;
        }
        let look = seen.insert(Look {
            process,
            view,
            graph,
            frozen: self.freeze.state(),
        });
        self.last.send_replace(as_json(look));
    }

    fn complain(&self, error: &Error) {
        let seen = self.seen();
        if self.freeze.is_frozen() && seen.is_some() {
            return;
        }
        let error = error.to_string();
        self.last.send_replace(as_json(&Failed { error }));
    }

    /// Makes all pages hold still on the present picture, or the next one if there is none yet.
    pub(super) fn freeze(&self) {
        self.change(Freeze::freeze);
    }

    /// Makes all pages go on.
    pub(super) fn release(&self) {
        self.change(Freeze::release);
    }

    fn change(&self, what: impl FnOnce(&Freeze)) {
        let mut seen = self.seen();
        what(&self.freeze);
        if let Some(look) = &mut *seen {
            look.frozen = self.freeze.state();
            self.last.send_replace(as_json(look));
        }
    }

    /// The functions that tasks were in at the last look, as JSON.
    pub(super) fn methods(&self) -> Shown {
        let seen = self.seen();
        let methods = seen.as_ref().map(|look| Methods::of_tasks(&look.view));
        as_json(&methods.unwrap_or_default())
    }

    fn seen(&self) -> MutexGuard<'_, Option<Look>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For one more page; `None` if there are too many.
    pub(super) fn subscribe(&self) -> Option<Seen> {
        let place = Arc::clone(&self.pages).try_acquire_owned().ok()?;
        let mut last = self.last.subscribe();
        if self.holds_still() {
            // There is no other to wait for.
            last.mark_changed();
        }
        Some(Seen {
            last,
            _place: place,
        })
    }
}

impl Seen {
    /// What the next look shows; of frozen looks at first the present one.
    pub(super) async fn next(&mut self) -> Shown {
        if self.last.changed().await.is_err() {
            // The looks have ended with the server.
            std::future::pending::<()>().await;
        }
        self.last.borrow_and_update().clone()
    }
}

fn as_json(what: &impl Serialize) -> Shown {
    // Texts and numbers can always be written.
    serde_json::to_string(what).unwrap_or_default().into()
}

/// Pages that look at the same time.
const PAGES_MAX: usize = 8;
const EVERY_MIN: Duration = Duration::from_millis(10);
