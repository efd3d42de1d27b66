//! Workers on other machines: messages through a NATS server.
//!
//! Only NATS's plain messages are used, which may be lost: driver and workers repair that themselves (see
//! [`driver`](crate::driver)), so there is nothing to store, to acknowledge or to clean up.
//!
//! Drivers say on one subject that they are there, every half second; workers of the same build hear it and introduce
//! themselves. Each driver and each worker has a subject of its own, and all workers of a build have one together: what several
//! of them are to have is sent there once, and the server makes as many of it as there are workers. A message that is longer than the server takes goes in
//! pieces. What says that an end is there overtakes what waits to be sent, so that a long message is no silence.

mod pieces;
mod room;

use super::{Carrier, hub::Input};
use crate::{
    ClusterError,
    clock::Stopwatch,
    driver::WorkerId,
    wire::{self, FromWorker, ToWorker},
};
use async_nats::{Client, ConnectError, ServerAddr};
use futures_util::{
    FutureExt, StreamExt,
    future::{self, Either},
    stream::{self, PollNext},
};
use manyhands_nats::{Address, AddressError, Keys, Refusal, refusal};
use pieces::{PIECE_WHOLE_BYTES_MAX, Pieces, cut};
pub(crate) use room::Place;
use room::Room;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, HashMap},
    env,
    panic::resume_unwind,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc::Sender},
    thread,
    time::Duration,
};
use tokio::{
    runtime::Runtime,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    time,
};

/// A connection to a NATS server, which is made again whenever it breaks.
pub(crate) struct Connection {
    runtime: Runtime,
    client: Client,
    outbox: Outbox,
    /// What overtakes that.
    urgent: Outbox,
    /// Before all subjects of a build.
    prefix: String,
    /// The name of this end.
    own: String,
    frames: u64,
    /// For what was heard and not taken yet.
    heard: Room,
    /// For what was said and not sent yet.
    said: Room,
}

/// What workers are sent: for those of these names, or for whose subject it is sent on.
pub(crate) type Messages<Name> = (Option<Vec<Name>>, Vec<ToWorker>);

/// Subjects and messages, each in its place.
type Outbox = UnboundedSender<Outgoing>;
type Outgoing = (String, Vec<u8>, Place);

impl Connection {
    /// Connects, as a driver or worker of this build; without a name it gets one that nobody else has.
    pub(crate) fn open(
        address: &str,
        build: &str,
        name: Option<String>,
    ) -> Result<Self, ClusterError> {
        let failed = |reason: String| ClusterError::Start { reason };
        let address = parse(address)?;
        let options = address.options().name("manyhands cluster");
        let server = address.server().clone();
        let server_name = name_of(&server);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cluster nats")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let connecting = async { time::timeout(CONNECTING, options.connect(server)).await };
        let client = match runtime.block_on(connecting) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(refused(&address, &error)),
            Err(_) => {
                return Err(failed(format!("'{server_name}' does not answer")));
            }
        };
        let most = client.max_payload();
        if most < PIECE_WHOLE_BYTES_MAX {
            return Err(failed(format!(
                "'{server_name}' takes messages of {most} bytes at most: set its `max_payload` to {PIECE_WHOLE_BYTES_MAX} or more"
            )));
        }
        let (outbox, messages) = mpsc::unbounded_channel();
        let (urgent, before) = mpsc::unbounded_channel();
        runtime.spawn(publish(client.clone(), before, messages));
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        // Of builds that begin alike, the driver refuses the other's workers.
        let build: String = build.chars().map(plain).take(NAME_CHARS_MAX).collect();
        Ok(Self {
            own: name.unwrap_or_else(|| client.new_inbox().replace('.', "-")),
            runtime,
            client,
            outbox,
            urgent,
            prefix: format!("manyhands.{build}"),
            frames: 0,
            heard: Room::new(),
            said: Room::new(),
        })
    }

    /// Hears what is sent to this end, and to all ends of a name that they have together; `hear` is given the sender's name,
    /// and nothing else for a part of a long message. What is made of it keeps its place until it was taken.
    pub(crate) fn hear<M: DeserializeOwned + Send>(
        &self,
        kind: &str,
        all: Option<&str>,
        mut hear: impl FnMut(String, Option<M>, Place) + Send + 'static,
    ) -> Result<(), ClusterError> {
        let subject = format!("{}.{kind}.{}", self.prefix, self.own);
        let all = all.map(|all| format!("{}.{all}", self.prefix));
        let (mut pieces, clock) = (Pieces::default(), Stopwatch::start());
        let room = self.heard.clone();
        self.subscribe(subject, all, move |bytes| {
            // What is no message of ours, or has no room, is as good as lost.
            let Ok((from, frame)) = pieces.take(bytes, clock.elapsed()) else {
                return;
            };
            let Some(place) = room.place(frame.as_ref().map_or(0, Vec::len)) else {
                return;
            };
            match frame.map(|frame| wire::decode_message(&frame)).transpose() {
                Ok(message) if is_name(&from) => hear(from, message, place),
                _ => {}
            }
        })
    }

    /// Hears which drivers there are.
    pub(crate) fn hear_drivers(
        &self,
        mut hear: impl FnMut(String, Place) + Send + 'static,
    ) -> Result<(), ClusterError> {
        let room = self.heard.clone();
        self.subscribe(self.drivers(), None, move |bytes| {
            if let Some(name) = str::from_utf8(bytes).ok().filter(|name| is_name(name))
                && let Some(place) = room.place(name.len())
            {
                hear(name.to_owned(), place);
            }
        })
    }

    /// What was sent on `before` is heard before what was sent later on `subject`.
    fn subscribe(
        &self,
        subject: String,
        before: Option<String>,
        mut hear: impl FnMut(&[u8]) + Send + 'static,
    ) -> Result<(), ClusterError> {
        let subscribe = |subject: String| {
            let subscribed = self.runtime.block_on(self.client.subscribe(subject));
            subscribed.map_err(|error| ClusterError::Start {
                reason: error.to_string(),
            })
        };
        let mut before = match before {
            Some(before) => subscribe(before)?.boxed(),
            None => stream::pending().boxed(),
        };
        let mut own = subscribe(subject)?;
        self.runtime.spawn(async move {
            loop {
                match future::select(before.next(), own.next()).await {
                    Either::Left((Some(message), _)) => hear(&message.payload),
                    Either::Right((Some(message), _)) => {
                        // The client takes messages in order. So what was sent before this one is there, perhaps since a
                        // moment ago.
                        while let Some(Some(earlier)) = before.next().now_or_never() {
                            hear(&earlier.payload);
                        }
                        hear(&message.payload);
                    }
                    Either::Left((None, _)) | Either::Right((None, _)) => return,
                }
            }
        });
        Ok(())
    }

    /// The name of this end, which ends.
    pub(crate) fn into_name(self) -> String {
        self.own
    }

    /// Says every half second that this driver is there.
    fn announce(&self) {
        let (outbox, own, subject) = (self.urgent.clone(), self.own.clone(), self.drivers());
        let room = self.said.clone();
        self.runtime.spawn(async move {
            let mut beats = time::interval(BEAT);
            loop {
                beats.tick().await;
                let Some(place) = room.place(own.len()) else {
                    continue;
                };
                let beat = (subject.clone(), own.clone().into_bytes(), place);
                if outbox.send(beat).is_err() {
                    return;
                }
            }
        });
    }

    /// Sends a message to an end of this kind and name.
    pub(crate) fn say<M: Serialize>(&mut self, kind: &str, to: &str, message: &M) {
        self.say_on(&format!("{kind}.{to}"), message);
    }

    fn say_on<M: Serialize>(&mut self, to: &str, message: &M) {
        let outbox = self.outbox.clone();
        self.put(&outbox, to, message);
    }

    /// As [`say`](Self::say), before all that was said and has not been sent yet.
    pub(crate) fn say_first<M: Serialize>(&mut self, kind: &str, to: &str, message: &M) {
        let urgent = self.urgent.clone();
        self.put(&urgent, &format!("{kind}.{to}"), message);
    }

    fn put<M: Serialize>(&mut self, outbox: &Outbox, to: &str, message: &M) {
        // Captured values and results were measured before.
        let Ok(frame) = wire::encode(message) else {
            return;
        };
        self.frames += 1;
        let subject = format!("{}.{to}", self.prefix);
        // Without room it is as good as lost.
        let Some(place) = self.said.place(frame.len()) else {
            return;
        };
        for piece in cut(&self.own, self.frames, &frame) {
            // Without a publisher the runtime has ended, and this end with it.
            let _ = outbox.send((subject.clone(), piece, place.clone()));
        }
    }

    fn drivers(&self) -> String {
        format!("{}.drivers", self.prefix)
    }
}

/// Sends messages, the urgent ones first.
async fn publish(
    client: Client,
    mut urgent: UnboundedReceiver<Outgoing>,
    mut messages: UnboundedReceiver<Outgoing>,
) {
    let urgent = stream::poll_fn(move |context| urgent.poll_recv(context));
    let messages = stream::poll_fn(move |context| messages.poll_recv(context));
    let first = |(): &mut ()| PollNext::Left;
    let mut all = stream::select_with_strategy(urgent, messages, first);
    while let Some((subject, bytes, _place)) = all.next().await {
        let is_long = bytes.len() > SHORT_BYTES_MAX;
        // One that is lost is missed by the other end.
        let _ = client.publish(subject, bytes.into()).await;
        if is_long {
            // The client has a queue of its own, in which nothing overtakes.
            let _ = client.flush().await;
        }
    }
}

/// Runs this on a thread of its own: the caller's may belong to a runtime of tokio's, where no other one may be waited for or
/// dropped.
pub(crate) fn apart<R: Send>(
    work: impl FnOnce() -> Result<R, ClusterError> + Send,
) -> Result<R, ClusterError> {
    let name = "cluster connects".to_owned();
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| ClusterError::Start {
            reason: error.to_string(),
        })?;
        thread
            .join()
            .unwrap_or_else(|payload| resume_unwind(payload))
    })
}

/// Whether an end can be called so. Others would be no subjects, or lines that a server takes for an attack.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// The driver's end.
pub(crate) struct Nats {
    connection: Connection,
    names: Arc<Mutex<Names>>,
}

/// The names of workers, and the driver's numbers for them.
#[derive(Default)]
struct Names {
    by_name: HashMap<String, WorkerId>,
    by_id: BTreeMap<WorkerId, String>,
    made: u64,
}

impl Names {
    fn id(&mut self, name: String) -> WorkerId {
        if let Some(id) = self.by_name.get(&name) {
            return *id;
        }
        let id = WorkerId(self.made);
        self.made += 1;
        self.by_name.insert(name.clone(), id);
        self.by_id.insert(id, name);
        id
    }

    fn forget(&mut self, id: WorkerId) {
        if let Some(name) = self.by_id.remove(&id) {
            self.by_name.remove(&name);
        }
    }

    /// Forgets a worker that has died.
    fn remove(&mut self, name: &str) -> Option<WorkerId> {
        let id = self.by_name.remove(name)?;
        self.by_id.remove(&id);
        Some(id)
    }
}

impl Nats {
    pub(crate) fn start(
        address: &str,
        build: &str,
        to_hub: Sender<Input>,
    ) -> Result<Self, ClusterError> {
        apart(|| Self::begin(address, build, to_hub))
    }

    fn begin(address: &str, build: &str, to_hub: Sender<Input>) -> Result<Self, ClusterError> {
        let connection = Connection::open(address, build, None)?;
        let names = Arc::new(Mutex::new(Names::default()));
        let known = Arc::clone(&names);
        connection.hear(
            DRIVER,
            None,
            move |from, message: Option<FromWorker>, place| {
                let mut names = known.lock().unwrap_or_else(PoisonError::into_inner);
                let replaced = match &message {
                    Some(FromWorker::Hello(hello)) => hello.replaces.as_deref(),
                    _ => None,
                };
                let died = replaced.and_then(|name| names.remove(name));
                // Who has not introduced itself has no number.
                let worker = match &message {
                    Some(FromWorker::Hello(_)) => Some(names.id(from)),
                    _ => names.by_name.get(&from).copied(),
                };
                let heard = worker.map(|worker| Input::Carried(worker, message, place));
                for input in died.map(Input::Left).into_iter().chain(heard) {
                    // Without a hub nobody waits for this.
                    let _ = to_hub.send(input);
                }
            },
        )?;
        connection.announce();
        Ok(Self { connection, names })
    }
}

impl Carrier for Nats {
    fn send(&mut self, worker: WorkerId, messages: Vec<ToWorker>) {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.by_id.get(&worker) {
            let messages: Messages<&str> = (None, messages);
            self.connection.say(WORKER, name, &messages);
        }
    }

    fn send_all(&mut self, workers: &[WorkerId], message: ToWorker) {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let to = workers.iter().filter_map(|worker| names.by_id.get(worker));
        let to = to.map(String::as_str).collect();
        let messages: Messages<&str> = (Some(to), vec![message]);
        self.connection.say_on(WORKERS, &messages);
    }

    fn forget(&mut self, worker: WorkerId) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.forget(worker);
    }

    /// Its keeper puts another one in its place, which says so.
    fn left(&mut self, _: WorkerId, _: bool) {}

    fn end(&mut self) {
        // Workers miss this driver by its silence.
        let flushing = async { time::timeout(CONNECTING, self.connection.client.flush()).await };
        let _ = self.connection.runtime.block_on(flushing);
    }
}

/// The server, and what the variables name to open it.
fn parse(text: &str) -> Result<Address, ClusterError> {
    let keys = keys(|variable| env::var_os(variable).map(PathBuf::from))?;
    Address::parse(text, &keys).map_err(|error| {
        let reason = match &error {
            AddressError::Unprotected { .. } => format!(
                "{error}, named by {NKEY_VARIABLE}, {CREDENTIALS_VARIABLE}, or {CERTIFICATE_VARIABLE} and \
                 {CERTIFICATE_KEY_VARIABLE}"
            ),
            _ => error.to_string(),
        };
        ClusterError::Configuration { reason }
    })
}

/// The files that the variables name; a certificate and its key go together.
fn keys(named: impl Fn(&str) -> Option<PathBuf>) -> Result<Keys, ClusterError> {
    let pair = (named(CERTIFICATE_VARIABLE), named(CERTIFICATE_KEY_VARIABLE));
    let certificate = match pair {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) => return Err(lonely(CERTIFICATE_VARIABLE, CERTIFICATE_KEY_VARIABLE)),
        (None, Some(_)) => return Err(lonely(CERTIFICATE_KEY_VARIABLE, CERTIFICATE_VARIABLE)),
    };
    Ok(Keys {
        nkey: named(NKEY_VARIABLE),
        credentials: named(CREDENTIALS_VARIABLE),
        certificate,
        root: named(ROOT_VARIABLE),
    })
}

fn lonely(set: &str, other: &str) -> ClusterError {
    let reason = format!("{set} is set, and {other} is not");
    ClusterError::Configuration { reason }
}

fn name_of(server: &ServerAddr) -> String {
    format!("{}:{}", server.host(), server.port())
}

/// Why there is no connection.
fn refused(address: &Address, error: &ConnectError) -> ClusterError {
    let address = name_of(address.server());
    let reason = error.to_string();
    match refusal(error) {
        Refusal::Key => ClusterError::KeyRefused { address, reason },
        Refusal::Certificate => ClusterError::NotEncrypted { address, reason },
        Refusal::OwnCertificate => ClusterError::CertificateRefused { address, reason },
        _ => ClusterError::Start {
            reason: format!("'{address}': {reason}"),
        },
    }
}

/// What subjects have where a driver's are.
pub(crate) const DRIVER: &str = "driver";
/// What subjects have where a worker's are.
pub(crate) const WORKER: &str = "worker";
/// What the subject of all workers has there.
pub(crate) const WORKERS: &str = "workers";
/// A file with the seed of a key (an nkey) that the server knows.
const NKEY_VARIABLE: &str = "MANYHANDS_NKEY";
/// A file with credentials: a user's signed name (a JWT) and seed.
const CREDENTIALS_VARIABLE: &str = "MANYHANDS_CREDENTIALS";
/// A file with a certificate that the server knows this program by, alone or beside a key.
const CERTIFICATE_VARIABLE: &str = "MANYHANDS_CLIENT_CERTIFICATE";
/// A file with that certificate's key.
const CERTIFICATE_KEY_VARIABLE: &str = "MANYHANDS_CLIENT_KEY";
/// A file with the certificate that the server's is signed by, if it is not one of the machine's roots.
const ROOT_VARIABLE: &str = "MANYHANDS_ROOT_CERTIFICATE";
/// Names that this crate makes are half as long.
const NAME_CHARS_MAX: usize = 100;
const CONNECTING: Duration = Duration::from_secs(5);
pub(crate) const BEAT: Duration = Duration::from_millis(500);
/// What is longer is sent before anything else is given to the client.
const SHORT_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_outside_this_machine_is_refused_with_the_variables_it_needs() {
        assert!(parse("nats://127.0.0.1:1").is_ok());
        for text in ["nats://192.0.2.1", "tls://cluster.example"] {
            let Err(ClusterError::Configuration { reason }) = parse(text) else {
                panic!("{text}");
            };
            for part in [text, NKEY_VARIABLE, CERTIFICATE_VARIABLE] {
                assert!(reason.contains(part), "{reason}");
            }
        }
    }

    #[test]
    fn a_certificate_goes_with_its_key() {
        let of = |set: &'static [&str]| {
            keys(|variable| set.contains(&variable).then(|| PathBuf::from(variable)))
        };
        let both = of(&[CERTIFICATE_VARIABLE, CERTIFICATE_KEY_VARIABLE]).unwrap();
        let (certificate, key) = both.certificate.unwrap();
        assert!(certificate.ends_with(CERTIFICATE_VARIABLE));
        assert!(key.ends_with(CERTIFICATE_KEY_VARIABLE));
        assert_eq!(of(&[]), Ok(Keys::default()));
        let lonely: [&[&str]; 2] = [&[CERTIFICATE_VARIABLE], &[CERTIFICATE_KEY_VARIABLE]];
        for set in lonely {
            let Err(ClusterError::Configuration { reason }) = of(set) else {
                panic!("{set:?}");
            };
            assert!(
                reason.starts_with(&format!("{} is set", set[0])),
                "{reason}"
            );
        }
    }

    #[test]
    fn a_worker_keeps_its_number() {
        let mut names = Names::default();
        let ids = ["a", "b", "a", "c"].map(|name| names.id(name.to_owned()).0);
        assert_eq!(ids, [0, 1, 0, 2]);
        assert_eq!(names.remove("b"), Some(WorkerId(1)));
        assert_eq!(names.remove("b"), None);
        assert_eq!(
            names.id("b".to_owned()),
            WorkerId(3),
            "a number is given once"
        );
        names.forget(WorkerId(0));
        assert_eq!(names.remove("a"), None);
        assert_eq!((names.by_id.len(), names.by_name.len()), (2, 2));
    }

    #[test]
    fn names_are_those_that_stand_in_a_subject_alone() {
        for name in ["_INBOX-Ab3", "_INBOX-Ab3-17"] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(NAME_CHARS_MAX + 1);
        for name in [
            "",
            "a.b",
            "a b",
            "*",
            ">",
            "a\r\nPUB b 0",
            "ä",
            long.as_str(),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
