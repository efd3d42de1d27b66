//! A body that was begun and not waited for.

use crate::{Cluster, ClusterError, Remote, Value, cluster::Engine};
#[cfg(any(unix, feature = "nats"))]
use crate::{engine::Update, options};
use manyhands::task::{self, Completer, Completion, CompletionError};
use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

/// What becomes of a body that runs at some worker; made by [`Cluster::spawn`]. It is a future, and can be joined by a
/// thread. Dropping it does not end the body, as long as the cluster is there.
///
/// # Examples
/// ```
/// use manyhands::task;
/// use manyhands_cluster::{Cluster, remote};
///
/// let cluster = Cluster::local();
/// let n = 6;
/// let one = cluster.spawn(remote!([n: u64] || -> u64 { n * 7 }));
/// let other = cluster.spawn(remote!([] || -> String { "joined".to_owned() }));
/// assert_eq!(task::block_on(one)?, 42);
/// assert_eq!(other.join()?, "joined");
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
#[must_use = "the result comes here; `call` waits for it at once"]
pub struct Spawned<R> {
    outcome: Completion<Outcome<R>>,
    /// The workers stay while somebody waits for one of them.
    _cluster: Cluster,
}

/// For the one that waits to take.
type Outcome<R> = Arc<Mutex<Option<Result<R, ClusterError>>>>;

impl<R: Value> Spawned<R> {
    pub(crate) fn begin<C: Value>(cluster: &Cluster, body: Remote<C, (), R>) -> Self {
        let (completer, outcome) = task::completion();
        match cluster.engine() {
            Engine::Local => {
                let cluster = Cluster::local();
                task::run_detached(move || complete(&completer, cluster.call(body)));
            }
            Engine::Loopback(_) => complete(&completer, cluster.call(body)),
            #[cfg(any(unix, feature = "nats"))]
            Engine::Workers(hub) => {
                let (id, captures, _) = body.into_parts();
                let spec = options::spec(id, &captures, options::ONE);
                let mut result = Err(ClusterError::Ended);
                let submitter = completer.clone();
                let sink = move |update| match update {
                    Update::Part(part) => result = options::read(&part),
                    Update::End(Ok(())) => {
                        let result = std::mem::replace(&mut result, Err(ClusterError::Ended));
                        complete(&completer, result);
                    }
                    Update::End(Err(error)) => complete(&completer, Err(error)),
                };
                let submitted = spec.and_then(|spec| hub.submit(spec, Box::new(sink)));
                if let Err(error) = submitted {
                    complete(&submitter, Err(error));
                }
            }
        }
        Self {
            outcome,
            _cluster: cluster.clone(),
        }
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// # Blocking
    /// The thread blocks; a worker of the pool is replaced meanwhile.
    ///
    /// Example: see [`Spawned`].
    pub fn join(self) -> Result<R, ClusterError> {
        taken(self.outcome.wait())
    }
}

impl<R: Value> Future for Spawned<R> {
    type Output = Result<R, ClusterError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.outcome).poll(context).map(taken)
    }
}

impl<R> fmt::Debug for Spawned<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_done = self.outcome.is_completed();
        let mut shown = formatter.debug_struct("Spawned");
        shown.field("is_done", &is_done).finish_non_exhaustive()
    }
}

fn complete<R>(completer: &Completer<Outcome<R>>, result: Result<R, ClusterError>) {
    // There is one end of each call; a second one changes nothing.
    let _ = completer.try_complete(Arc::new(Mutex::new(Some(result))));
}

/// The result; without one the cluster has ended before the body.
fn taken<R>(outcome: Result<Outcome<R>, CompletionError>) -> Result<R, ClusterError> {
    let ended = Err(ClusterError::Ended);
    let Ok(outcome) = outcome else {
        return ended;
    };
    let taken = outcome
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    taken.unwrap_or(ended)
}
