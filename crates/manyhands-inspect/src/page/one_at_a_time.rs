//! What a page asks for and the program takes a while to answer: one at a time, on a thread of its own while the requests
//! wait. Not while the pages are held.

use crate::error::Error;
use crate::page::hold::Hold;
use axum::http::StatusCode;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What asks the program for something that a page has named.
type Ask<A> = dyn Fn(A) -> Result<String, Error> + Send + Sync;

/// Asks one program.
pub(super) struct OneAtATime<A> {
    ask: Arc<Ask<A>>,
    one: Arc<Semaphore>,
    hold: Hold,
}

impl<A> Clone for OneAtATime<A> {
    fn clone(&self) -> Self {
        Self {
            ask: Arc::clone(&self.ask),
            one: Arc::clone(&self.one),
            hold: self.hold.clone(),
        }
    }
}

impl<A: Send + 'static> OneAtATime<A> {
    pub(super) fn new(
        hold: Hold,
        ask: impl Fn(A) -> Result<String, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            ask: Arc::new(ask),
            one: Arc::new(Semaphore::new(1)),
            hold,
        }
    }

    /// The answer, or why there is none.
    pub(super) async fn ask(&self, about: A) -> Result<String, (StatusCode, String)> {
        if self.hold.is_held() {
            let message = "the pages are held, so the program is not asked";
            return Err((StatusCode::CONFLICT, message.to_owned()));
        }
        let Ok(only) = Arc::clone(&self.one).try_acquire_owned() else {
            let message = "another page asks for the same at the moment";
            return Err((StatusCode::SERVICE_UNAVAILABLE, message.to_owned()));
        };
        let ask = Arc::clone(&self.ask);
        let answer = tokio::task::spawn_blocking(move || {
            // Also if the page goes away meanwhile, so that there is never more than one.
            let _only = only;
            ask(about)
        });
        let failed = |message: String| (StatusCode::BAD_GATEWAY, message);
        match answer.await {
            Ok(answer) => answer.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed("asking the program failed".to_owned())),
        }
    }
}
