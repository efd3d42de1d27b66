//! A body that was begun and not waited for.

use crate::{Cluster, ClusterError, Options, Remote, Value, cluster::Engine};
#[cfg(any(unix, feature = "nats"))]
use crate::{
    driver::Part,
    engine::{Update, hub::Hub},
    options::{ONE, read},
};
use manyhands::task::{self, Completer, Completion, CompletionError};
#[cfg(any(unix, feature = "nats"))]
use std::sync::OnceLock;
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
type Outcome<R> = Arc<Mutex<Option<Result<Came<R>, ClusterError>>>>;

/// A result as it came. What a worker has sent is read by the one that takes it: the driver runs no code of a value's own.
enum Came<R> {
    Value(R),
    #[cfg(any(unix, feature = "nats"))]
    Part(Part),
}

impl<R: Value> Spawned<R> {
    pub(crate) fn begin<C: Value>(options: &Options<'_>, body: Remote<C, (), R>) -> Self {
        let (completer, outcome) = task::completion();
        let call = |options: &Options<'_>, body| options.call(body).map(Came::Value);
        match options.cluster.engine() {
            Engine::Local => {
                let (cluster, token) = (options.cluster.clone(), options.token.cloned());
                let (limit, patience) = (options.limit, options.patience);
                task::run_detached(move || {
                    let options = Options {
                        cluster: &cluster,
                        limit,
                        patience,
                        token: token.as_ref(),
                    };
                    complete(&completer, call(&options, body));
                });
            }
            Engine::Loopback(_) => complete(&completer, call(options, body)),
            #[cfg(any(unix, feature = "nats"))]
            Engine::Workers(hub) => {
                let submitter = completer.clone();
                if let Err(error) = submit(hub, options, body, completer) {
                    complete(&submitter, Err(error));
                }
            }
        }
        Self {
            outcome,
            _cluster: options.cluster.clone(),
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
        taken(self.outcome.wait_blocking())
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

#[cfg(any(unix, feature = "nats"))]
fn submit<C: Value, R: Value>(
    hub: &Hub,
    options: &Options<'_>,
    body: Remote<C, (), R>,
    completer: Completer<Outcome<R>>,
) -> Result<(), ClusterError> {
    let (id, captures, _) = body.into_parts();
    let spec = options.spec(id, &captures, ONE)?;
    let cancelling = Arc::new(OnceLock::new());
    let kept = Arc::clone(&cancelling);
    let mut came = Err(ClusterError::Ended);
    let sink = move |update| {
        // The call can be cancelled as long as this is there.
        let _ = &kept;
        match update {
            Update::Part(part) => came = Ok(Came::Part(part)),
            Update::End(Ok(())) => {
                complete(
                    &completer,
                    std::mem::replace(&mut came, Err(ClusterError::Ended)),
                );
            }
            Update::End(Err(error)) => complete(&completer, Err(error)),
        }
    };
    let ticket = hub.submit(spec, Box::new(sink))?;
    if let Some(token) = options.token {
        let _ = cancelling.set(token.register(hub.canceller(ticket)));
    }
    Ok(())
}

fn complete<R>(completer: &Completer<Outcome<R>>, result: Result<Came<R>, ClusterError>) {
    // There is one end of each call; a second one changes nothing.
    let _ = completer.try_complete(Arc::new(Mutex::new(Some(result))));
}

/// The result; without one the cluster has ended before the body.
fn taken<R: Value>(outcome: Result<Outcome<R>, CompletionError>) -> Result<R, ClusterError> {
    let ended = Err(ClusterError::Ended);
    let Ok(outcome) = outcome else {
        return ended;
    };
    let taken = outcome
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match taken {
        Some(Ok(Came::Value(value))) => Ok(value),
        #[cfg(any(unix, feature = "nats"))]
        Some(Ok(Came::Part(part))) => read(&part),
        Some(Err(error)) => Err(error),
        None => ended,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::{
        build_id, remote,
        transport::{ToDriver, Transport},
        wire::{self, FromWorker, Hello, PROTOCOL, ToWorker},
    };
    use manyhands::cancel::TokenSource;
    use serde::{Deserialize, Deserializer, Serialize};
    use std::{thread, time::Duration};

    /// Answers each chunk with these bytes.
    struct Answering {
        driver: ToDriver,
        bytes: Vec<u8>,
    }

    impl Answering {
        fn say(&self, message: &FromWorker) {
            self.driver
                .heard(0, &wire::encode(message).unwrap_or_default());
        }
    }

    impl Transport for Answering {
        fn send(&mut self, _: u64, frame: Vec<u8>) {
            let messages: Vec<ToWorker> = wire::decode(&frame).unwrap_or_default();
            for message in messages {
                if let ToWorker::Run { attempt, .. } = message {
                    self.say(&FromWorker::Done {
                        attempt,
                        took_nanos: 1,
                        bytes: self.bytes.clone(),
                    });
                }
            }
        }

        fn end(&mut self) {}
    }

    /// Its code must not run on the driver's thread.
    #[derive(Debug, Serialize)]
    struct Away(u8);

    fn is_away() -> bool {
        thread::current().name() != Some("manyhands-cluster driver")
    }

    impl<'de> Deserialize<'de> for Away {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            assert!(is_away(), "it is read by the driver");
            u8::deserialize(deserializer).map(Self)
        }
    }

    impl Drop for Away {
        fn drop(&mut self) {
            assert!(is_away(), "the driver drops it");
        }
    }

    #[test]
    fn the_drivers_thread_runs_no_code_of_a_spawned_value() {
        let cluster = Cluster::over(|driver| {
            let bytes = vec![7];
            let worker = Answering { driver, bytes };
            worker.say(&FromWorker::Hello(Hello {
                protocol: PROTOCOL,
                build: build_id::of_this_program().unwrap(),
                host: "h".to_owned(),
                replaces: None,
            }));
            Ok(worker)
        });
        let cluster = cluster.unwrap();
        let spawn = || cluster.spawn(remote!([] || -> Away { Away(7) }));
        drop(spawn());
        assert_eq!(spawn().join().unwrap().0, 7);
    }

    #[test]
    fn a_spawned_body_is_as_patient_as_its_options_and_can_be_cancelled() {
        let nobody = Cluster::over(|driver| {
            let bytes = Vec::new();
            Ok(Answering { driver, bytes })
        });
        let nobody = nobody.unwrap();
        let spawn = |options: Options<'_>| options.spawn(remote!([] || -> u8 { 7 })).join();
        let hasty = nobody.options().patience(Duration::ZERO);
        assert!(matches!(spawn(hasty), Err(ClusterError::NoWorkers { .. })));
        let late = nobody.options().deadline(Duration::ZERO);
        assert_eq!(spawn(late), Err(ClusterError::DeadlinePassed));
        let source = TokenSource::new();
        let token = source.token();
        let body = remote!([] || -> u8 { 7 });
        let spawned = nobody.options().cancellation(&token).spawn(body);
        source.cancel();
        assert_eq!(spawned.join(), Err(ClusterError::Cancelled));
    }
}
