//! The engine on NATS JetStream: one stream for each kind of queue, a consumer for each queue, and a stream
//! that keeps the last message of each key.
//!
//! The client is asynchronous; its tokio runtime has one thread and does not leave this file. While something is
//! measured, that thread sleeps but for a lease that is extended and a ping every twenty seconds.
//!
//! What JetStream acknowledges has reached its file, and not necessarily the disk: power that fails may cost the
//! messages of the last minutes. Server and agents are made for that.

use super::{
    Delivery, Engine, Message, Queue,
    nats_config::{CLOCK, ENROLMENTS, JOBS, KEYS, RESULTS, inbox_of},
    nats_names::{PLANS, consumer_of, queued_at, stream_of, subject_of},
};
use crate::{FleetError, Name, time};
use async_nats::{
    Client, ConnectError, ConnectOptions, Event, ServerInfo,
    connection::State,
    datetime::DateTime,
    jetstream::{
        self, AckKind, ErrorCode,
        consumer::{PullConsumer, pull},
        context::{Context, PublishErrorKind},
        message::PublishMessage,
        stream::{
            self, ConsumerErrorKind, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy,
        },
    },
};
use futures_util::{StreamExt, TryStreamExt};
use manyhands_nats::{AddressError, Keys, Refusal, refusal};
use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{runtime::Runtime, time::timeout};

/// Where a NATS server is, and what opens it.
///
/// # Examples
/// ```
/// use manyhands_fleet::engine::{Address, Keys};
///
/// let keys = Keys::default();
/// assert!(Address::parse("nats://127.0.0.1:4280", &keys).is_ok());
/// // Outside this machine there is no way in without encryption and a key.
/// assert!(Address::parse("nats://192.0.2.1:4280", &keys).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Address(manyhands_nats::Address);

impl Address {
    /// Reads an address such as `nats://127.0.0.1:4280` or `tls://fleet.example:4222`, and the files with what opens
    /// the server there.
    ///
    /// # Errors
    /// [`FleetError::Unprotected`] if the address is not on this machine, and key or encryption is missing;
    /// [`FleetError::File`] if a file cannot be read; [`FleetError::Arguments`] if it is no address, or a file has no
    /// key of its kind.
    pub fn parse(text: &str, keys: &Keys) -> Result<Self, FleetError> {
        let parsed = manyhands_nats::Address::parse(text, keys);
        parsed.map(Self).map_err(|error| match error {
            AddressError::Unprotected { address } => FleetError::Unprotected { address },
            AddressError::File { path, error } => FleetError::file("read", &path)(error),
            error => FleetError::Arguments {
                reason: error.to_string(),
            },
        })
    }

    fn options(&self, trouble: &Trouble) -> ConnectOptions {
        let trouble = Arc::clone(trouble);
        let heard = move |event| {
            let text = match &event {
                Event::Connected => Some(None),
                Event::ServerError(_) | Event::ClientError(_) => Some(Some(event.to_string())),
                _ => None,
            };
            if let Some(text) = text {
                *trouble.lock().unwrap_or_else(PoisonError::into_inner) = text;
            }
            std::future::ready(())
        };
        let mut options = self.0.options();
        if let Some(public) = self.0.public_key() {
            // Nobody else hears what is answered there.
            options = options.custom_inbox_prefix(inbox_of(&public));
        }
        options
            .name("manyhands fleet")
            .event_callback(heard)
            .retry_on_initial_connect()
            .ping_interval(PING)
            .connection_timeout(DEADLINE)
            .reconnect_delay_callback(|attempts| {
                let doubled = 50 << u32::try_from(attempts.min(6)).unwrap_or(6);
                Duration::from_millis(doubled).min(RECONNECT_MAX)
            })
    }
}

/// A connection to a NATS server, which is made again whenever it breaks.
///
/// # Examples
/// ```no_run
/// use manyhands_fleet::engine::{Address, Engine, Keys, Nats};
/// use std::time::Duration;
///
/// let address = Address::parse("nats://127.0.0.1:4280", &Keys::default())?;
/// let engine = Nats::connect(&address)?;
/// engine.prepare(Duration::from_secs(60))?;
/// assert!(engine.jobs_pending(10)?.is_empty());
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Clone)]
pub struct Nats(Arc<Shared>);

struct Shared {
    runtime: Runtime,
    address: manyhands_nats::Address,
    client: Client,
    context: Context,
    trouble: Trouble,
}

/// What the connection suffered from last; `None` while it is well.
type Trouble = Arc<Mutex<Option<String>>>;

impl Nats {
    /// Connects, or goes on trying in the background if nobody answers yet.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the system refuses what a connection needs, or the server the credentials.
    pub fn connect(address: &Address) -> Result<Self, FleetError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fleet nats")
            .enable_all()
            .build()
            .map_err(FleetError::engine("start the thread of the connection"))?;
        let trouble = Trouble::default();
        let options = address.options(&trouble);
        let connecting = options.connect(address.0.server().clone());
        let client = runtime
            .block_on(connecting)
            .map_err(FleetError::engine("connect"))?;
        // It starts a task of its own.
        let in_runtime = runtime.enter();
        let mut context = jetstream::new(client.clone());
        context.set_timeout(DEADLINE);
        drop(in_runtime);
        Ok(Self(Arc::new(Shared {
            runtime,
            address: address.0.clone(),
            client,
            context,
            trouble,
        })))
    }

    /// Makes the streams, queues and keys where they are missing. The server does this; agents find them made.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the server cannot be reached or refuses.
    pub fn prepare(&self, lease: Duration) -> Result<(), FleetError> {
        let context = &self.0.context;
        for name in [PLANS, JOBS, RESULTS, ENROLMENTS] {
            let config = stream::Config {
                name: name.to_owned(),
                subjects: vec![format!("{name}.>")],
                retention: RetentionPolicy::WorkQueue,
                duplicate_window: DUPLICATES,
                // An agent's reports have a subject of their own: it fills its own part, and nobody else's.
                max_messages_per_subject: WAITING_MAX,
                discard: DiscardPolicy::New,
                discard_new_per_subject: true,
                ..stream::Config::default()
            };
            self.0
                .run("make a stream", context.create_or_update_stream(config))?;
        }
        let config = stream::Config {
            name: KEYS.to_owned(),
            subjects: vec![format!("{KEYS}.>")],
            max_messages_per_subject: 1,
            max_age: KEYS_AGE,
            // What is lost is answered once more.
            max_bytes: KEYS_BYTES_MAX,
            ..stream::Config::default()
        };
        self.0
            .run("make the keys", context.create_or_update_stream(config))?;
        self.make_queue(Queue::Plans, lease.min(SERVER_LEASE))?;
        self.make_queue(Queue::Results, lease.min(SERVER_LEASE))?;
        self.make_queue(Queue::Enrolments, lease.min(SERVER_LEASE))?;
        self.make_queue(Queue::Jobs { cpus: None }, lease)
    }

    /// Makes a queue if it is not there; from now on its leases are these.
    fn make_queue(&self, queue: Queue, lease: Duration) -> Result<(), FleetError> {
        let config = pull::Config {
            durable_name: Some(consumer_of(queue)),
            filter_subject: format!("{}.>", subject_of(queue)),
            ack_wait: lease,
            ..pull::Config::default()
        };
        let context = &self.0.context;
        let making = context.create_consumer_on_stream(config, stream_of(queue));
        self.0.run("make a queue", making).map(|_| ())
    }

    /// Makes the queue for agents with exactly this number of CPUs, with the lease of the queue for all.
    fn make_queue_for(&self, queue: Queue) -> Result<(), FleetError> {
        let lease_of = |queue| {
            let lease = |consumer: PullConsumer| consumer.cached_info().config.ack_wait;
            Ok::<_, FleetError>(self.consumer(queue)?.map(lease))
        };
        let lease = lease_of(Queue::Jobs { cpus: None })?;
        if lease.is_some() && lease_of(queue)? == lease {
            return Ok(());
        }
        let unprepared = || FleetError::Engine {
            operation: "make a queue",
            reason: "the server has not prepared the engine".to_owned(),
        };
        self.make_queue(queue, lease.ok_or_else(unprepared)?)
    }

    /// The queue; `None` if it was never made.
    fn consumer(&self, queue: Queue) -> Result<Option<PullConsumer>, FleetError> {
        let (name, stream) = (consumer_of(queue), stream_of(queue));
        let context = &self.0.context;
        let found = async {
            match context.get_consumer_from_stream(name, stream).await {
                Ok(consumer) => Ok(Some(consumer)),
                Err(error) => match error.kind() {
                    ConsumerErrorKind::JetStream(inner)
                        if inner.error_code() == ErrorCode::CONSUMER_NOT_FOUND =>
                    {
                        Ok(None)
                    }
                    _ => Err(error),
                },
            }
        };
        self.0.run("find a queue", found)
    }

    /// Why there is no connection, as the end of a sentence; nothing if there is one.
    pub(crate) fn why(&self) -> String {
        self.0.why()
    }

    /// What the server says of itself, once connected.
    pub(super) fn server(&self) -> Option<ServerInfo> {
        self.0.client.try_server_info()
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Nats");
        shown
            .field("state", &self.0.client.connection_state())
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Waits for an answer, at most for [`DEADLINE`] and what the operation itself waits.
    fn run<T, E: fmt::Display>(
        &self,
        operation: &'static str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, FleetError> {
        self.run_within(DEADLINE, operation, future)
    }

    fn run_within<T, E: fmt::Display>(
        &self,
        deadline: Duration,
        operation: &'static str,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, FleetError> {
        let answer = self
            .runtime
            .block_on(async { timeout(deadline, future).await });
        let reason = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {deadline:?}"),
        };
        let reason = format!("{reason}{}", self.why());
        Err(FleetError::Engine { operation, reason })
    }

    /// The trouble of the connection, if it has any, as the end of a sentence.
    fn why(&self) -> String {
        if self.client.connection_state() != State::Connected
            && let Some(error) = self.refused()
        {
            return format!(": {}", sentence(&error));
        }
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = trouble.as_ref().map(|trouble| format!(" ({trouble})"));
        trouble.unwrap_or_default()
    }

    /// What a connection that is made now runs into: those that are tried in the background tell only its kind.
    fn refused(&self) -> Option<ConnectError> {
        let connecting = self
            .address
            .options()
            .connect(self.address.server().clone());
        let trying = async { timeout(TRYING, connecting).await };
        self.runtime.block_on(trying).ok()?.err()
    }
}

/// What an error of connecting means to the one who typed the address and the files.
fn sentence(error: &ConnectError) -> String {
    match refusal(error) {
        Refusal::Key => format!(
            "the server refuses the key, which is missing, unknown, revoked or expired ({error})"
        ),
        Refusal::Certificate => format!(
            "the server is not trusted, and is not sent the key ({error}); --root names the certificate that its is \
             signed by"
        ),
        Refusal::OwnCertificate => format!(
            "the server wants a certificate of this program's own that it trusts ({error}): --client-certificate and \
             --client-key"
        ),
        _ => error.to_string(),
    }
}

impl Engine for Nats {
    /// Sends as many at once as the window has, and waits for what the server says of them.
    fn publish(&self, queue: Queue, about: &Name, messages: &[Message]) -> Result<(), FleetError> {
        if let Queue::Jobs { cpus: Some(_) } = queue {
            self.make_queue_for(queue)?;
        }
        let context = &self.0.context;
        let subject = format!("{}.{about}", subject_of(queue));
        let send = |Message { id, body }: &Message| {
            let message = PublishMessage::build()
                .message_id(id)
                .payload(body.clone().into());
            let sending = context.send_publish(subject.clone(), message);
            async { sending.await?.await.map(|_| ()) }
        };
        for window in messages.chunks(WINDOW) {
            let all = futures_util::future::try_join_all(window.iter().map(send));
            self.0.run("send a message", async {
                all.await.map_err(|error| match error.kind() {
                    PublishErrorKind::StreamNotFound => NO_SERVER.to_owned(),
                    _ => error.to_string(),
                })
            })?;
        }
        Ok(())
    }

    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
        let Some(consumer) = self.consumer(queue)? else {
            return Ok(Vec::new());
        };
        let lease = consumer.cached_info().config.ack_wait;
        let taking = async {
            let mut batch = consumer.fetch().max_messages(count_max).messages().await?;
            let mut taken = Vec::new();
            while let Some(message) = batch.next().await {
                taken.push(message?);
            }
            if taken.is_empty() && !wait.is_zero() {
                let waiting = consumer.batch().max_messages(1).expires(wait);
                let mut batch = waiting.messages().await?;
                while let Some(message) = batch.next().await {
                    taken.push(message?);
                }
            }
            Ok::<_, async_nats::Error>(taken)
        };
        let taken = self
            .0
            .run_within(DEADLINE + wait, "take a message", taking)?;
        let deliver = |message: jetstream::Message| {
            // Both are in the subject that it is acknowledged to, which the server has written.
            let known = message.info();
            let (attempt, sent) = known.map_or((1, time::since_1970()), |info| {
                (info.delivered, since_1970(info.published))
            });
            let leased = Leased {
                engine: Arc::clone(&self.0),
                attempt: u64::try_from(attempt).unwrap_or(1),
                sent,
                lease,
                message,
            };
            Box::new(leased) as Box<dyn Delivery>
        };
        Ok(taken.into_iter().map(deliver).collect())
    }

    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
        let context = &self.0.context;
        let asking = async {
            let stream = context.get_stream(JOBS).await?;
            if stream.cached_info().state.messages > most as u64 {
                stream.purge().await?;
                return Ok(HashSet::new());
            }
            let subjects = stream.info_with_subjects(format!("{JOBS}.>")).await?;
            subjects
                .try_filter_map(|(subject, _)| std::future::ready(Ok(queued_at(&subject))))
                .try_collect()
                .await
                .map_err(async_nats::Error::from)
        };
        self.0.run("look for the jobs", asking)
    }

    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
        let context = &self.0.context;
        let (subject, value) = (format!("{KEYS}.{key}"), value.to_vec().into());
        self.0.run("set a key", async {
            context.publish(subject, value).await?.await
        })?;
        Ok(())
    }

    fn forget(&self, key: &str) -> Result<(), FleetError> {
        let context = &self.0.context;
        let forgetting = async {
            let keys = context.get_stream_no_info(KEYS).await?;
            let purging = keys.purge().filter(format!("{KEYS}.{key}"));
            purging.await.map_err(async_nats::Error::from)
        };
        self.0.run("forget a key", forgetting).map(|_| ())
    }

    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
        let context = &self.0.context;
        let subject = format!("{KEYS}.{key}");
        let reading = async {
            let keys = context.get_stream_no_info(KEYS).await?;
            match keys.get_last_raw_message_by_subject(&subject).await {
                Ok(message) => Ok(Some(message.payload.into())),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
                Err(error) => Err(async_nats::Error::from(error)),
            }
        };
        self.0.run("read a key", reading)
    }

    /// The server notes when it got a message: one is sent to it, and the last one that it has is read.
    fn now(&self) -> Result<Duration, FleetError> {
        self.put(CLOCK, b"")?;
        let context = &self.0.context;
        let subject = format!("{KEYS}.{CLOCK}");
        let reading = async {
            let keys = context.get_stream_no_info(KEYS).await?;
            let message = keys.get_last_raw_message_by_subject(&subject).await?;
            Ok::<_, async_nats::Error>(since_1970(message.time))
        };
        self.0.run("read the server's clock", reading)
    }
}

/// A message that JetStream leases to this process.
struct Leased {
    engine: Arc<Shared>,
    message: jetstream::Message,
    attempt: u64,
    sent: Duration,
    lease: Duration,
}

impl Delivery for Leased {
    fn body(&self) -> &[u8] {
        &self.message.payload
    }

    fn about(&self) -> &str {
        let subject = self.message.subject.as_str();
        subject.splitn(3, '.').nth(2).unwrap_or_default()
    }

    fn sent(&self) -> Duration {
        self.sent
    }

    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    fn extend(&self) -> Result<(), FleetError> {
        let extending = self.message.ack_with(AckKind::Progress);
        self.engine.run("extend a lease", extending)
    }

    fn finish(&self) -> Result<(), FleetError> {
        self.engine
            .run("finish a message", self.message.double_ack())
    }

    fn release(&self, delay: Duration) -> Result<(), FleetError> {
        let releasing = self.message.ack_with(AckKind::Nak(Some(delay)));
        self.engine.run("give a message back", releasing)
    }
}

fn since_1970(time: DateTime) -> Duration {
    Duration::from_nanos(time.unix_timestamp_nanos().try_into().unwrap_or(0))
}

/// Answers are of no use when all agents have read them; an agent that comes back later sends its run again.
const KEYS_AGE: Duration = Duration::from_hours(30 * 24);
const KEYS_BYTES_MAX: i64 = 64 << 20;
/// Messages about one job, or from one agent, that the server has not taken. One has at most a megabyte.
const WAITING_MAX: i64 = 256;
/// The server stores what it takes at once.
const SERVER_LEASE: Duration = Duration::from_secs(10);
/// Messages that are sent before the first of them is acknowledged: one megabyte of lines.
const WINDOW: usize = 2;
const NO_SERVER: &str = "the fleet's server has not been there yet";
const DUPLICATES: Duration = Duration::from_secs(120);
const DEADLINE: Duration = Duration::from_secs(5);
/// A connection that takes longer is not refused, it is cut.
const TRYING: Duration = Duration::from_secs(2);
const PING: Duration = Duration::from_secs(20);
const RECONNECT_MAX: Duration = Duration::from_secs(2);
