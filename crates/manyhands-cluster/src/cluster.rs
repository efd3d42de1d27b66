//! Where calls run: this process, this thread with faults, or worker processes.

use crate::{
    Captured, ClusterError, Merge, Options, Remote, RemoteReduce, Spawned, Value,
    driver::WORKERS_MAX,
    engine::loopback::{Loopback, Simulation},
    function,
};
#[cfg(any(unix, feature = "nats"))]
use crate::{
    build_id,
    engine::{
        Carrier,
        hub::{Hub, Input},
    },
    worker,
};
#[cfg(unix)]
use crate::{
    engine::processes::Processes,
    transport::{Carried, ToDriver, Transport},
    worker::process,
};
#[cfg(any(unix, feature = "nats"))]
use std::sync::mpsc::Sender;
use std::{
    env,
    ops::Range,
    sync::{Arc, Mutex},
};

/// Begins: in a worker process it works for its driver and does not return; in any other it makes the cluster that the
/// variable `MANYHANDS_CLUSTER` names. A body that calls it at such a worker gets [`Cluster::local`].
///
/// | `MANYHANDS_CLUSTER` | where calls run |
/// |---|---|
/// | not set, empty, or `local` | on this process's pool |
/// | `local:4` | in four worker processes of this program on this machine |
/// | `nats://127.0.0.1:4222`, `tls://host:4222` | with the feature `nats`: in all processes of this program, wherever they are, that were started with this address and `MANYHANDS_ROLE=worker` |
///
/// An address outside this machine needs `tls://` and a key or a certificate:
///
/// | variable | file |
/// |---|---|
/// | `MANYHANDS_NKEY` | the seed of a key (an nkey) that the server knows |
/// | `MANYHANDS_CREDENTIALS` | or credentials: a user's signed name (a JWT) and seed, for a server that knows who signed it |
/// | `MANYHANDS_CLIENT_CERTIFICATE`, `MANYHANDS_CLIENT_KEY` | or, and also beside one of them, a certificate that the server knows this program by, and its key |
/// | `MANYHANDS_ROOT_CERTIFICATE` | the certificate that the server's is signed by, if it is not one of the machine's roots |
///
/// It should be the first line of `main`: what stands before it happens in each worker too.
///
/// # Errors
/// [`ClusterError::Configuration`] if the variable says something else, or `MANYHANDS_ROLE` does not go with it;
/// [`ClusterError::Start`] if a worker cannot be started, or the server does not answer; [`ClusterError::KeyRefused`],
/// [`ClusterError::CertificateRefused`] and [`ClusterError::NotEncrypted`] if the server's or this end's proof of who it is does
/// not do; [`ClusterError::DuplicateFunction`] if the program's functions cannot be told apart.
///
/// # Examples
/// ```
/// let cluster = manyhands_cluster::init()?;
/// assert!(cluster.is_local(), "unless the variable is set");
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
pub fn init() -> Result<Cluster, ClusterError> {
    #[cfg(any(unix, feature = "nats"))]
    if worker::is_working() {
        return Ok(Cluster::local());
    }
    #[cfg(unix)]
    if let Some(threads) = process::role() {
        process::serve(threads);
    }
    function::check()?;
    let text = env::var_os(VARIABLE).unwrap_or_default();
    let text = text.to_string_lossy();
    let setting = setting(&text).map_err(of_variable)?;
    let role = env::var_os("MANYHANDS_ROLE").filter(|role| !role.is_empty());
    match (setting, role) {
        (Setting::Local, None) => Ok(Cluster::local()),
        (Setting::Processes(workers), None) => Cluster::processes(workers),
        #[cfg(feature = "nats")]
        (Setting::Nats(address), None) => Cluster::nats(&address),
        #[cfg(feature = "nats")]
        (Setting::Nats(address), Some(role)) if role == "worker" => worker::nats::serve(&address),
        // One that shall work for others must not do all of it by itself.
        (_, Some(role)) => Err(ClusterError::Configuration {
            reason: format!(
                "MANYHANDS_ROLE is {role:?}: only 'worker' is one, where {VARIABLE} is the address of a NATS server"
            ),
        }),
    }
}

/// Says that it is the variable that is wrong.
fn of_variable(error: ClusterError) -> ClusterError {
    match error {
        ClusterError::Configuration { reason } => ClusterError::Configuration {
            reason: format!("{VARIABLE}: {reason}"),
        },
        error => error,
    }
}

/// What the variable asks for.
#[derive(Debug, PartialEq, Eq)]
enum Setting {
    Local,
    Processes(usize),
    #[cfg(feature = "nats")]
    Nats(String),
}

fn setting(text: &str) -> Result<Setting, ClusterError> {
    let wrong = |reason: String| ClusterError::Configuration { reason };
    match text.trim() {
        "" | "local" => Ok(Setting::Local),
        "mpi" => Err(wrong(
            "'mpi' is for programs that begin with `manyhands_mpi::init`".to_owned(),
        )),
        #[cfg(feature = "nats")]
        address if address.contains("://") => Ok(Setting::Nats(address.to_owned())),
        text => {
            let Some(count) = text.strip_prefix("local:") else {
                return Err(wrong(format!(
                    "'{text}' is neither 'local' nor 'local:N' nor, with the feature `nats`, an address"
                )));
            };
            match count.parse() {
                Ok(count) if (1..=WORKERS_MAX).contains(&count) => Ok(Setting::Processes(count)),
                _ => Err(wrong(format!(
                    "'{count}' is no number of workers between 1 and {WORKERS_MAX}"
                ))),
            }
        }
    }
}

/// Where calls run. Clones are the same cluster; workers end with the last of them.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, remote};
///
/// let cluster = Cluster::local();
/// let squares = cluster.map(0..4, remote!([] |i| -> u64 { i * i }))?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), manyhands_cluster::ClusterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cluster(Arc<Engine>);

#[derive(Debug)]
pub(crate) enum Engine {
    Local,
    Loopback(Box<Mutex<Simulation>>),
    #[cfg(any(unix, feature = "nats"))]
    Workers(Hub),
}

impl Cluster {
    /// Calls run on the pool of this process. Nothing is serialised.
    ///
    /// Example: see [`Cluster`].
    #[must_use]
    pub fn local() -> Self {
        Self(Arc::new(Engine::Local))
    }

    /// Calls run in the calling thread by a virtual clock, serialised as between processes, with faults drawn from a seed;
    /// for tests.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, Loopback, remote};
    ///
    /// let cluster = Cluster::loopback(Loopback::new(1));
    /// let sum = cluster.map_reduce(0..100, remote!([] |i| -> u64 { i }, |a, b| { a + b }))?;
    /// assert_eq!(sum, Some(4950));
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    #[must_use]
    pub fn loopback(setup: Loopback) -> Self {
        let simulation = Box::new(Mutex::new(Simulation::new(setup)));
        Self(Arc::new(Engine::Loopback(simulation)))
    }

    /// Calls run in new processes of this program, of the given number, as with `MANYHANDS_CLUSTER=local:N`. The program must call
    /// [`init`] first.
    ///
    /// # Errors
    /// [`ClusterError::Start`] if one cannot be started, in a worker process, and where there is no Unix;
    /// [`ClusterError::Configuration`] if there are to be none or more than 1,024.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, ClusterError};
    ///
    /// assert!(matches!(Cluster::processes(0), Err(ClusterError::Configuration { .. })));
    /// ```
    pub fn processes(workers: usize) -> Result<Self, ClusterError> {
        setting(&format!("local:{workers}"))?;
        start(workers)
    }

    /// Calls run at the workers of a NATS server, as with `MANYHANDS_CLUSTER=nats://…`; see [`init`].
    ///
    /// # Errors
    /// [`ClusterError::Configuration`] if the address is none, or is outside this machine and not protected, or a key cannot
    /// be read; [`ClusterError::KeyRefused`] if the server does not know the key, or the name in this program's certificate;
    /// [`ClusterError::CertificateRefused`] if it does not trust that certificate, or wants one;
    /// [`ClusterError::NotEncrypted`] if the server's own is not trusted, and then it gets no key; [`ClusterError::Start`]
    /// if it does not answer.
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, ClusterError};
    ///
    /// let unprotected = Cluster::nats("nats://192.0.2.1:4222");
    /// assert!(matches!(unprotected, Err(ClusterError::Configuration { .. })));
    /// ```
    #[cfg(feature = "nats")]
    #[cfg_attr(docsrs, doc(cfg(feature = "nats")))]
    pub fn nats(address: &str) -> Result<Self, ClusterError> {
        Self::carried(|build, to_hub| crate::engine::nats::Nats::start(address, build, to_hub))
    }

    /// Calls run at workers that a transport of another crate reaches; see [`transport`](crate::transport). `open` makes it,
    /// and is given where it brings what workers say.
    ///
    /// # Errors
    /// What `open` returns; [`ClusterError::DuplicateFunction`] if the program's functions cannot be told apart;
    /// [`ClusterError::Start`] if the system refuses a thread, or does not let the program read its own file.
    ///
    /// Example: see [`transport`](crate::transport).
    #[cfg(unix)]
    pub fn over<T: Transport>(
        open: impl FnOnce(ToDriver) -> Result<T, ClusterError>,
    ) -> Result<Self, ClusterError> {
        Self::carried(|_, to_hub| open(ToDriver::new(to_hub)).map(Carried))
    }

    /// With workers of this build, and what carries messages to them.
    #[cfg(any(unix, feature = "nats"))]
    fn carried<C: Carrier>(
        open: impl FnOnce(&str, Sender<Input>) -> Result<C, ClusterError>,
    ) -> Result<Self, ClusterError> {
        function::check()?;
        let build = build_id::of_this_program().map_err(|error| ClusterError::Start {
            reason: error.to_string(),
        })?;
        let hub = Hub::start(build.clone(), |to_hub| open(&build, to_hub))?;
        Ok(Self(Arc::new(Engine::Workers(hub))))
    }

    /// Whether calls run in this process without being serialised.
    ///
    /// Example: see [`init`](crate::init).
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(*self.0, Engine::Local)
    }

    /// A deadline, a cancellation: see [`Options`].
    ///
    /// Example: see [`Options`].
    pub fn options(&self) -> Options<'_> {
        Options::new(self)
    }

    /// The results of a body for each index, in order.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`remote!`](crate::remote!).
    pub fn map<C: Captured, R: Value>(
        &self,
        range: Range<u64>,
        body: Remote<C, u64, R>,
    ) -> Result<Vec<R>, ClusterError> {
        self.options().map(range, body)
    }

    /// Runs a body for each index, at least once.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// # Examples
    /// ```
    /// use manyhands_cluster::{Cluster, remote};
    ///
    /// let folder = std::env::temp_dir().join(format!("manyhands-for-each-{}", std::process::id()));
    /// std::fs::create_dir(&folder).unwrap();
    /// # let made = folder.clone();
    /// Cluster::local().for_each(0..2, remote!([folder: std::path::PathBuf] |i| -> () {
    ///     std::fs::write(folder.join(i.to_string()), "written anew each time").unwrap();
    /// }))?;
    /// # std::fs::remove_dir_all(made).unwrap();
    /// # Ok::<(), manyhands_cluster::ClusterError>(())
    /// ```
    pub fn for_each<C: Captured>(
        &self,
        range: Range<u64>,
        body: Remote<C, u64, ()>,
    ) -> Result<(), ClusterError> {
        self.options().for_each(range, body)
    }

    /// The results of a body for each index, combined in order; `None` for an empty range.
    ///
    /// Each worker combines what it has, so little comes back. Combining must be associative; where it is not, as with
    /// sums of numbers with a fraction, the result depends on how the range was cut.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`RemoteReduce`].
    pub fn map_reduce<C: Captured, R: Value>(
        &self,
        range: Range<u64>,
        body: RemoteReduce<C, R>,
    ) -> Result<Option<R>, ClusterError> {
        self.options().map_reduce(range, body)
    }

    /// What a body makes of each part of the range, merged in order.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Input`](crate::Input).
    pub fn query<C: Captured, R: Value + Merge>(
        &self,
        range: Range<u64>,
        body: Remote<C, Range<u64>, R>,
    ) -> Result<R, ClusterError> {
        self.options().query(range, body)
    }

    /// What a body returns, run at some worker.
    ///
    /// # Errors
    /// See [`ClusterError`].
    ///
    /// Example: see [`Input`](crate::Input).
    pub fn call<C: Captured, R: Value>(&self, body: Remote<C, (), R>) -> Result<R, ClusterError> {
        self.options().call(body)
    }

    /// Begins to run a body at some worker, and does not wait for it.
    ///
    /// Example: see [`Spawned`].
    pub fn spawn<C: Value, R: Value>(&self, body: Remote<C, (), R>) -> Spawned<R> {
        self.options().spawn(body)
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0
    }
}

#[cfg(unix)]
fn start(workers: usize) -> Result<Cluster, ClusterError> {
    let reason = if worker::is_working() {
        "this process is a worker and starts no others; `Cluster::local` runs on its pool"
    } else if process::role().is_some() {
        "this process was started as a worker, so `init` must come before this"
    } else {
        return Cluster::carried(|_, to_hub| Processes::start(workers, to_hub));
    };
    let reason = reason.to_owned();
    Err(ClusterError::Start { reason })
}

#[cfg(not(unix))]
fn start(_: usize) -> Result<Cluster, ClusterError> {
    let reason = "worker processes need Unix".to_owned();
    Err(ClusterError::Start { reason })
}

/// What names the engine.
pub(crate) const VARIABLE: &str = "MANYHANDS_CLUSTER";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_an_engine_or_is_refused() {
        let local = [("", Setting::Local), ("local", Setting::Local)];
        for (text, expected) in local {
            assert_eq!(setting(text), Ok(expected), "{text}");
        }
        assert_eq!(setting(" local:4 "), Ok(Setting::Processes(4)));
        #[cfg(feature = "nats")]
        assert_eq!(
            setting("tls://a:1"),
            Ok(Setting::Nats("tls://a:1".to_owned()))
        );
        for text in [
            "local:0",
            "local:",
            "local:-1",
            "local:1025",
            "4",
            "nats",
            "mpi",
            "LOCAL",
        ] {
            let refused = setting(text);
            assert!(
                matches!(refused, Err(ClusterError::Configuration { .. })),
                "{text}: {refused:?}"
            );
        }
    }
}
