//! A timeline, when a page asks for one: one at a time, made on a thread of its own while the requests wait.

use crate::error::Error;
use crate::page::freeze::Freeze;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What makes a timeline: looks at the program for a while and returns a trace.
type Make = dyn Fn() -> Result<String, Error> + Send + Sync;

/// Makes timelines of one program.
#[derive(Clone)]
pub(super) struct Timelines {
    make: Arc<Make>,
    one: Arc<Semaphore>,
    freeze: Freeze,
}

impl Timelines {
    pub(super) fn new(
        freeze: Freeze,
        make: impl Fn() -> Result<String, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            make: Arc::new(make),
            one: Arc::new(Semaphore::new(1)),
            freeze,
        }
    }

    /// A timeline of the time from now on, or why there is none.
    pub(super) async fn make(&self) -> Result<String, (StatusCode, String)> {
        if self.freeze.is_frozen() {
            let message = "the pages are frozen, so the program is not asked";
            return Err((StatusCode::CONFLICT, message.to_owned()));
        }
        let Ok(only) = Arc::clone(&self.one).try_acquire_owned() else {
            let message = "another timeline is being made";
            return Err((StatusCode::SERVICE_UNAVAILABLE, message.to_owned()));
        };
        let make = Arc::clone(&self.make);
        let made = tokio::task::spawn_blocking(move || {
            // Also if the page goes away meanwhile, so that there is never more than one.
            let _only = only;
            make()
        });
        let failed = |message: String| (StatusCode::BAD_GATEWAY, message);
        match made.await {
            Ok(made) => made.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed("making the timeline failed".to_owned())),
        }
    }
}
