//! Looking at the program while somebody looks at the page: one look at a time, whose result all pages get.

use crate::error::Error;
use crate::graph::Graph;
use crate::svg;
use crate::wire::View;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::MissedTickBehavior;

/// What a look has shown, as JSON.
type Shown = Arc<str>;

/// The looks at one program.
pub(super) struct Looks {
    last: watch::Sender<Shown>,
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
        look: impl FnMut() -> Result<View, Error> + Send + 'static,
    ) -> Arc<Self> {
        let looks = Arc::new(Self {
            last: watch::Sender::new(Arc::from("")),
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
            if self.last.receiver_count() == 0 {
                continue;
            }
            let look = Arc::clone(&look);
            let looked = tokio::task::spawn_blocking(move || {
                let mut look = look.lock().unwrap_or_else(PoisonError::into_inner);
                shown(process, look())
            });
            if let Ok(shown) = looked.await {
                self.last.send_replace(shown);
            }
        }
    }

    /// For one more page; `None` if there are too many.
    pub(super) fn subscribe(&self) -> Option<Seen> {
        let place = Arc::clone(&self.pages).try_acquire_owned().ok()?;
        Some(Seen {
            last: self.last.subscribe(),
            _place: place,
        })
    }
}

impl Seen {
    /// What the next look shows.
    pub(super) async fn next(&mut self) -> Shown {
        if self.last.changed().await.is_err() {
            // The looks have ended with the server.
            std::future::pending::<()>().await;
        }
        self.last.borrow_and_update().clone()
    }
}

fn shown(process: u32, look: Result<View, Error>) -> Shown {
    let text = match look {
        Ok(view) => {
            let graph = svg::draw(&Graph::of(&view));
            serde_json::to_string(&Look {
                process,
                view,
                graph,
            })
        }
        Err(error) => serde_json::to_string(&Failed {
            error: error.to_string(),
        }),
    };
    // Texts and numbers can always be written.
    text.unwrap_or_default().into()
}

/// Pages that look at the same time.
const PAGES_MAX: usize = 8;
const EVERY_MIN: Duration = Duration::from_millis(10);
