//! What is live on the pages: made once for all who look at it, and for no more of them than there are places.

use super::{Shared, view};
use manyhands_lab::clock::Stopwatch;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{self, OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};

/// The pages that are live.
pub(super) struct Live {
    places: Arc<Semaphore>,
    /// By the plan that is looked at; what all of them look at is none.
    made: Mutex<HashMap<Option<String>, Arc<Made>>>,
}

/// How long ago it was made, and nothing in place of what could not be made.
type Made = sync::Mutex<Option<(Stopwatch, Option<Arc<str>>)>>;

/// One page that is live.
pub(super) struct Looker {
    plan: Option<String>,
    made: Arc<Made>,
    _place: OwnedSemaphorePermit,
}

impl Live {
    pub(super) fn new() -> Self {
        Self {
            places: Arc::new(Semaphore::new(LIVE_MAX)),
            made: Mutex::default(),
        }
    }

    /// For one more page; `None` if there are too many.
    pub(super) fn look_at(&self, plan: Option<String>) -> Option<Looker> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing is kept that nobody looks at.
        made.retain(|_, one| Arc::strong_count(one) > 1);
        let made = Arc::clone(made.entry(plan.clone()).or_default());
        Some(Looker {
            plan,
            made,
            _place: place,
        })
    }
}

impl Looker {
    /// What is there now, or was at most [`EVERY`] ago.
    pub(super) async fn now(&self, shared: &Shared) -> Option<Arc<str>> {
        let (shared, plan) = (shared.clone(), self.plan.clone());
        self.made_by(move || {
            let prices = shared.prices.as_deref();
            let made = match plan {
                None => view::live(&shared.database, prices),
                Some(plan) => view::plan_live(&shared.database, &plan, prices),
            };
            Some(made.ok()?.replace('\r', ""))
        })
        .await
    }

    async fn made_by(
        &self,
        make: impl FnOnce() -> Option<String> + Send + 'static,
    ) -> Option<Arc<str>> {
        let mut made = self.made.lock().await;
        match &*made {
            Some((since, text)) if since.elapsed() < EVERY => text.clone(),
            _ => {
                let text = spawn_blocking(make).await.ok().flatten().map(Arc::from);
                made.insert((Stopwatch::start(), text)).1.clone()
            }
        }
    }
}

/// How often it is made.
pub(super) const EVERY: Duration = Duration::from_secs(1);
/// Pages that are live at the same time.
pub(super) const LIVE_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_all_look_at_is_made_once() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let (live, made) = (Live::new(), Arc::new(AtomicUsize::new(0)));
        let lookers: Vec<Looker> = (0..LIVE_MAX).map(|_| live.look_at(None).unwrap()).collect();
        assert!(live.look_at(None).is_none());
        let looks = lookers.iter().map(|looker| {
            let made = Arc::clone(&made);
            looker.made_by(move || {
                made.fetch_add(1, Ordering::Relaxed);
                Some("now".to_owned())
            })
        });
        let seen = runtime.block_on(futures_util::future::join_all(looks));
        let first = seen[0].clone().unwrap();
        assert_eq!(&*first, "now");
        assert!(seen.iter().flatten().all(|one| Arc::ptr_eq(one, &first)));
        assert_eq!(seen.iter().flatten().count(), LIVE_MAX);
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn nothing_is_kept_that_nobody_looks_at() {
        let live = Live::new();
        for plan in 0..3 * LIVE_MAX {
            assert!(live.look_at(Some(plan.to_string())).is_some());
        }
        assert_eq!(live.made.lock().unwrap().len(), 1);
    }
}
