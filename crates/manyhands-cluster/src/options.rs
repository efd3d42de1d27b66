//! How a call is run: until when, and until what.

use crate::{
    Captured, Cluster, ClusterError, Merge, Remote, RemoteReduce, Spawned, Value, broadcast,
    build_id,
    cluster::Engine,
    driver::{Part, Patience, Spec},
    engine::loopback,
    run::{self, Stop},
    wire,
};
use manyhands::cancel::{Token, TokenSource};
use serde::de::DeserializeOwned;
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Options of a call; made by [`Cluster::options`]. The calls are methods of them.
///
/// A call that is cancelled or late ends soon: chunks that nobody has begun are dropped, and bodies that run are not
/// interrupted; workers go on when these have ended.
///
/// # Examples
/// ```
/// use manyhands::cancel;
/// use manyhands_cluster::{Cluster, ClusterError, remote};
/// use std::time::Duration;
///
/// let cluster = Cluster::local();
/// let source = cancel::TokenSource::new();
/// let token = source.token();
/// let options = cluster.options().deadline(Duration::from_secs(60)).cancellation(&token);
/// assert_eq!(options.map(0..3, remote!([] |i| -> u64 { i }))?, [0, 1, 2]);
///
/// source.cancel();
/// let cancelled = options.map(0..3, remote!([] |i| -> u64 { i }));
/// assert_eq!(cancelled, Err(ClusterError::Cancelled));
/// # Ok::<(), ClusterError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "options do nothing until a call is made on them"]
pub struct Options<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) limit: Option<Duration>,
    pub(crate) patience: Patience,
    pub(crate) token: Option<&'a Token>,
}

impl<'a> Options<'a> {
    pub(crate) fn new(cluster: &'a Cluster) -> Self {
        Self {
            cluster,
            limit: None,
            patience: Patience::DEFAULT,
            token: None,
        }
    }

    /// The call fails if it takes longer than this.
    ///
    /// Example: see [`Options`].
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// A chunk goes to another worker when its own has not said for this long that it holds it: 3 s if this is not set. A
    /// worker says so every half second, so less than a second is taken for one. Messages that take long, as many values over a
    /// slow cable, want more.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, Loopback, remote};
    /// use std::time::Duration;
    ///
    /// let cluster = Cluster::loopback(Loopback::new(1));
    /// let patient = cluster.options().lease(Duration::from_secs(60)).patience(Duration::from_secs(600)).deaths(10);
    /// assert_eq!(patient.map(0..3, remote!([] |i| -> u64 { i }))?, [0, 1, 2]);
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    pub fn lease(mut self, lease: Duration) -> Self {
        self.patience.lease = lease.max(LEASE_MIN);
        self
    }

    /// The call fails with [`ClusterError::NoWorkers`] when no worker was heard for this long: 30 s if this is not set.
    ///
    /// Example: see [`Options::lease`].
    pub fn patience(mut self, no_workers: Duration) -> Self {
        self.patience.no_workers = no_workers;
        self
    }

    /// The call fails with [`ClusterError::ChunkLost`] when this many workers died while they ran one chunk: 4 if this is not
    /// set. A worker that is only silent has not died.
    ///
    /// Example: see [`Options::lease`].
    pub fn deaths(mut self, deaths_max: u32) -> Self {
        self.patience.deaths_max = deaths_max;
        self
    }

    /// A body that panics is run again, up to this many times; never if this is not set. At workers it is its chunk that is run
    /// again, by whichever worker is free.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, remote};
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// # std::panic::set_hook(Box::new(|_| ()));
    ///
    /// static RUNS: AtomicU32 = AtomicU32::new(0);
    /// let cluster = Cluster::local();
    /// let shaky = remote!([] || -> String {
    ///     assert!(RUNS.fetch_add(1, Ordering::Relaxed) > 0, "the first time fails");
    ///     "it works".to_owned()
    /// });
    /// assert_eq!(cluster.options().retries(2).call(shaky)?, "it works");
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    pub fn retries(mut self, retries: u32) -> Self {
        self.patience.retries = retries;
        self
    }

    /// The call fails when this token is cancelled.
    ///
    /// Example: see [`Options`].
    pub fn cancellation(mut self, token: &'a Token) -> Self {
        self.token = Some(token);
        self
    }

    /// As [`Cluster::map`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Options`].
    pub fn map<C: Captured, R: Value>(
        &self,
        range: Range<u64>,
        body: Remote<C, u64, R>,
    ) -> Result<Vec<R>, ClusterError> {
        let (id, captures, body) = body.into_parts();
        if self.cluster.is_local() {
            return self.here(|token| {
                let body = |i| self.again(token, || body(&captures, i));
                run::items(range, body, token)
            });
        }
        let mut parts = BTreeMap::new();
        self.away(id, &captures, range, |part| {
            parts.insert(part.range.start, read_all(&part)?);
            Ok(())
        })?;
        Ok(parts.into_values().flatten().collect())
    }

    /// The results of a body for each index, each with its index as soon as it is there, in no order. They are not gathered;
    /// but those that come faster than they are taken wait in memory. A panic of `take` ends the call as one of a body does.
    ///
    /// # Errors
    /// See [`ClusterError`]; some results may have been taken before.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, remote};
    ///
    /// let cluster = Cluster::local();
    /// let mut most = 0;
    /// let squares = remote!([] |i| -> u64 { i * i });
    /// cluster.options().map_unordered(0..1_000, squares, |_, square| most = most.max(square))?;
    /// assert_eq!(most, 999 * 999);
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    pub fn map_unordered<C: Captured, R: Value>(
        &self,
        range: Range<u64>,
        body: Remote<C, u64, R>,
        mut take: impl FnMut(u64, R) + Send,
    ) -> Result<(), ClusterError> {
        let (id, captures, body) = body.into_parts();
        if self.cluster.is_local() {
            let take = Mutex::new(take);
            let taken = self.here(|token| {
                let body = |i| {
                    let result = self.again(token, || body(&captures, i));
                    // After a panic the call ends.
                    let mut take = take.lock().unwrap_or_else(PoisonError::into_inner);
                    take(i, result);
                };
                run::items(range, body, token)
            });
            // A vector of nothing takes no room.
            return taken.map(drop);
        }
        self.away(id, &captures, range, |part| {
            let results = read_all(&part)?;
            let pairs = part.range.clone().zip(results);
            let taken = run::within(&part.range, || {
                pairs.for_each(|(i, result)| take(i, result));
            });
            taken.map_err(|stop| self.error(stop))
        })
    }

    /// As [`Cluster::for_each`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, remote};
    /// use std::time::Duration;
    ///
    /// let cluster = Cluster::local();
    /// let options = cluster.options().deadline(Duration::from_secs(60));
    /// options.for_each(0..9, remote!([] |i| -> () { assert!(i < 9); }))?;
    /// let sum = options.map_reduce(0..9, remote!([] |i| -> u64 { i }, |a, b| { a + b }))?;
    /// let first = options.query(0..9, remote!([] |part: std::ops::Range<u64>| -> Vec<u64> { part.collect() }))?;
    /// let answer = options.call(remote!([] || -> u64 { 42 }))?;
    /// assert_eq!((sum, first.len(), answer), (Some(36), 9, 42));
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    pub fn for_each<C: Captured>(
        &self,
        range: Range<u64>,
        body: Remote<C, u64, ()>,
    ) -> Result<(), ClusterError> {
        // A vector of nothing takes no room.
        self.map(range, body).map(drop)
    }

    /// As [`Cluster::map_reduce`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Options::for_each`].
    pub fn map_reduce<C: Captured, R: Value>(
        &self,
        range: Range<u64>,
        body: RemoteReduce<C, R>,
    ) -> Result<Option<R>, ClusterError> {
        let (map, combine) = body.into_parts();
        let (id, captures, map) = map.into_parts();
        if self.cluster.is_local() {
            return self.here(|token| {
                let map = |i| self.again(token, || map(&captures, i));
                run::combined(range, map, combine, token)
            });
        }
        let mut parts = BTreeMap::new();
        self.away(id, &captures, range.clone(), |part| {
            if let Some(result) = read::<Option<R>>(&part)? {
                parts.insert(part.range.start, result);
            }
            Ok(())
        })?;
        let joined = run::within(&range, || {
            let parts = parts.into_values();
            parts.reduce(combine)
        });
        joined.map_err(|stop| self.error(stop))
    }

    /// As [`Cluster::query`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Options::for_each`].
    pub fn query<C: Captured, R: Value + Merge>(
        &self,
        range: Range<u64>,
        body: Remote<C, Range<u64>, R>,
    ) -> Result<R, ClusterError> {
        let (id, captures, body) = body.into_parts();
        if self.cluster.is_local() || range.is_empty() {
            return self.here(|token| {
                let body = || self.again(token, || body(&captures, range.clone()));
                run::whole(&range, body, token)
            });
        }
        let mut parts = BTreeMap::new();
        self.away(id, &captures, range.clone(), |part| {
            parts.insert(part.range.start, read::<R>(&part)?);
            Ok(())
        })?;
        let merged = run::within(&range, || {
            let parts = parts.into_values();
            parts.reduce(|mut first, second| {
                first.merge(second);
                first
            })
        });
        let merged = merged.map_err(|stop| self.error(stop))?;
        // A range that is not empty has a part.
        merged.ok_or(ClusterError::Ended)
    }

    /// As [`Cluster::call`].
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Options::for_each`].
    pub fn call<C: Captured, R: Value>(&self, body: Remote<C, (), R>) -> Result<R, ClusterError> {
        let (id, captures, body) = body.into_parts();
        if self.cluster.is_local() {
            return self.here(|token| {
                let body = || self.again(token, || body(&captures, ()));
                run::whole(&ONE, body, token)
            });
        }
        let mut result = None;
        self.away(id, &captures, ONE, |part| {
            result = Some(read(&part)?);
            Ok(())
        })?;
        result.ok_or(ClusterError::Ended)
    }

    /// As [`Cluster::spawn`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::cancel;
    /// use manyhands_cluster::{Cluster, ClusterError, remote};
    /// # use std::time::Duration;
    ///
    /// let cluster = Cluster::local();
    /// let source = cancel::TokenSource::new();
    /// let token = source.token();
    /// source.cancel();
    /// let options = cluster.options().patience(Duration::from_secs(600)).cancellation(&token);
    /// let spawned = options.spawn(remote!([] || -> u64 { 42 }));
    /// assert_eq!(spawned.join(), Err(ClusterError::Cancelled));
    /// ```
    pub fn spawn<C: Value, R: Value>(&self, body: Remote<C, (), R>) -> Spawned<R> {
        Spawned::begin(self, body)
    }

    /// Runs a call on this process's pool.
    fn here<T>(&self, call: impl FnOnce(&Token) -> Result<T, Stop>) -> Result<T, ClusterError> {
        let call = |token: &Token| match call(token) {
            // Its body would have been run again.
            Err(Stop::Failed(_)) if self.patience.retries > 0 && token.is_cancelled() => {
                Err(Stop::Cancelled)
            }
            outcome => outcome,
        };
        let outcome = match (self.token, self.limit) {
            (None, None) => call(&Token::never()),
            (Some(token), None) => call(token),
            (token, Some(limit)) => {
                let parents: Vec<Token> = token.into_iter().cloned().collect();
                let source = TokenSource::linked(&parents);
                source.cancel_after(limit);
                call(&source.token())
            }
        };
        outcome.map_err(|stop| self.error(stop))
    }

    /// Runs a body in this process, again if it panics and may be.
    fn again<R>(&self, token: &Token, body: impl Fn() -> R) -> R {
        run::again(self.patience.retries, token, body)
    }

    /// What a stop in this process means to the caller.
    fn error(&self, stop: Stop) -> ClusterError {
        match stop {
            Stop::Failed(failure) => ClusterError::of_failure(failure, &build_id::this_process()),
            Stop::Cancelled if self.token.is_some_and(Token::is_cancelled) => {
                ClusterError::Cancelled
            }
            Stop::Cancelled => ClusterError::DeadlinePassed,
        }
    }

    /// Runs a call at workers; `take` gets each item's results once.
    fn away<C: Captured>(
        &self,
        function: String,
        captures: &C,
        range: Range<u64>,
        mut take: impl FnMut(Part) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let spec = self.spec(function, captures, range)?;
        let never = Token::never();
        let token = self.token.unwrap_or(&never);
        match self.cluster.engine() {
            Engine::Local => Ok(()),
            Engine::Loopback(simulation) => loopback::run(simulation, spec, token, &mut take),
            #[cfg(any(unix, feature = "nats"))]
            Engine::Workers(hub) => hub.run(spec, token, &mut take),
        }
    }

    /// What a call asks of a driver.
    pub(crate) fn spec<C: Captured>(
        &self,
        function: String,
        captures: &C,
        range: Range<u64>,
    ) -> Result<Spec, ClusterError> {
        let captured = broadcast::captured(captures);
        let (captures, values) = captured.map_err(|reason| ClusterError::Encode { reason })?;
        Ok(Spec {
            function,
            captures,
            values,
            range,
            limit: self.limit,
            patience: self.patience,
        })
    }
}

/// The results of a part.
pub(crate) fn read<R: DeserializeOwned>(part: &Part) -> Result<R, ClusterError> {
    wire::decode(&part.bytes).map_err(|reason| unread(part, reason))
}

/// The results of a part, one for each index.
fn read_all<R: DeserializeOwned>(part: &Part) -> Result<Vec<R>, ClusterError> {
    let count = part.range.end - part.range.start;
    wire::decode_items(&part.bytes, count).map_err(|reason| unread(part, reason))
}

fn unread(part: &Part, reason: String) -> ClusterError {
    let host = part.host.clone();
    ClusterError::Decode { reason, host }
}

/// Twice what passes until a worker says again what it holds.
const LEASE_MIN: Duration = Duration::from_secs(1);

/// The range of a call that is one body.
pub(crate) const ONE: Range<u64> = 0..1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loopback, remote};
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_lease_is_not_over_before_its_worker_can_extend_it() {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let slow = Loopback {
            item: Duration::from_secs(10),
            ..Loopback::new(1)
        };
        let cluster = Cluster::loopback(slow);
        let hasty = cluster.options().lease(Duration::ZERO);
        let body = remote!([] |i| -> u64 {
            RUNS.fetch_add(1, Ordering::Relaxed);
            i
        });
        assert_eq!(hasty.map(0..4, body), Ok(vec![0, 1, 2, 3]));
        let runs = RUNS.load(Ordering::Relaxed);
        assert!(runs <= 8, "{runs} runs: more than those of late chunks");
    }

    #[test]
    fn results_are_counted_before_they_are_made() {
        let part = |bytes| Part {
            range: 3..5,
            host: "h".to_owned(),
            bytes,
        };
        for claimed in [0, 1, 3, 1 << 60, u64::MAX] {
            let bytes = wire::encode(&claimed).unwrap();
            let failed = read_all::<()>(&part(bytes));
            let expected = ClusterError::Decode {
                reason: format!("{claimed} values, and not 2"),
                host: "h".to_owned(),
            };
            assert_eq!(failed, Err(expected));
        }
        assert!(read_all::<()>(&part(Vec::new())).is_err());
        assert_eq!(read_all(&part(vec![2, 7, 8])), Ok(vec![7_u8, 8]));
    }
}
