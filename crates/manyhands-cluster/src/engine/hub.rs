//! The driver's thread: it owns the driver's state, and everything that happens comes to it through one channel.
//!
//! # Threads
//! Callers submit and cancel from any thread; readers of connections report what they hear. The hub never waits for a
//! connection: each worker's messages go through a channel to a thread that writes them. Nor does it run code of captured
//! values or results: callers write and read them, and here they are bytes.

use super::{Carrier, Update};
use crate::{
    ClusterError,
    clock::Stopwatch,
    driver::{Action, Driver, Event, Spec, WorkerId},
    wire::{FRAME_BYTES_MAX, FromWorker, JobId, ToWorker},
};
use manyhands::{cancel::Token, task};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Who hears of a call.
pub(crate) type Sink = Box<dyn FnMut(Update) + Send>;

/// What comes to the hub.
pub(crate) enum Input {
    Submit {
        ticket: u64,
        spec: Spec,
        sink: Sink,
    },
    Cancel {
        ticket: u64,
    },
    Heard(WorkerId, FromWorker),
    /// As `Heard`, in its place; without a message, a part of a long one has come.
    #[cfg(feature = "nats")]
    Carried(
        WorkerId,
        Option<FromWorker>,
        #[expect(dead_code, reason = "it is kept until it is dropped")] super::nats::Place,
    ),
    Left(WorkerId),
    /// The cluster has no user any more.
    Close,
}

/// A running driver. Dropping it ends its workers.
pub(crate) struct Hub {
    to: Sender<Input>,
    tickets: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Hub {
    /// Starts a driver, with what carries its messages.
    pub(crate) fn start<C: Carrier>(
        build: String,
        carrier: impl FnOnce(Sender<Input>) -> Result<C, ClusterError>,
    ) -> Result<Self, ClusterError> {
        let (to, from) = mpsc::channel();
        let carrier = carrier(to.clone())?;
        let state = State {
            driver: Driver::new(build),
            carrier,
            clock: Stopwatch::start(),
            sinks: HashMap::new(),
            jobs: HashMap::new(),
            outbox: Outbox::default(),
            forgotten: Vec::new(),
        };
        let name = "manyhands-cluster driver".to_owned();
        let thread = thread::Builder::new().name(name);
        let thread = thread.spawn(move || state.serve(&from));
        let thread = thread.map_err(|error| ClusterError::Start {
            reason: error.to_string(),
        })?;
        Ok(Self {
            to,
            tickets: AtomicU64::new(0),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Begins a call; its sink hears everything. The returned number is for [`cancel`](Self::cancel).
    pub(crate) fn submit(&self, spec: Spec, sink: Sink) -> Result<u64, ClusterError> {
        let values = spec.values.iter().map(|value| value.bytes());
        for bytes in values.chain([spec.captures.clone()]) {
            let bytes = bytes.0.len() as u64;
            if bytes > CAPTURES_BYTES_MAX {
                return Err(ClusterError::TooLarge { bytes });
            }
        }
        if spec.values.len() >= TOGETHER_ELEMENTS_MAX {
            let count = spec.values.len();
            return Err(ClusterError::Encode {
                reason: format!(
                    "{count} broadcast values in one call, and not fewer than {TOGETHER_ELEMENTS_MAX}"
                ),
            });
        }
        // Relaxed: the number is only to be another one each time.
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let submit = Input::Submit { ticket, spec, sink };
        self.to.send(submit).map_err(|_| ClusterError::Ended)?;
        Ok(ticket)
    }

    /// What cancels a call, whether it has ended or not.
    pub(crate) fn canceller(&self, ticket: u64) -> impl FnOnce() + Send + use<> {
        let to = self.to.clone();
        // Without a hub there is no call either.
        move || drop(to.send(Input::Cancel { ticket }))
    }

    /// Runs a call to its end; see [`loopback::run`](super::loopback::run).
    pub(crate) fn run(
        &self,
        spec: Spec,
        token: &Token,
        take: &mut dyn FnMut(crate::driver::Part) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let (updates, from) = mpsc::channel();
        // A caller that is gone has cancelled.
        let sink = Box::new(move |update| drop(updates.send(update)));
        let ticket = self.submit(spec, sink)?;
        let registration = token.register(self.canceller(ticket));
        let outcome = loop {
            match task::blocking(|| from.recv()) {
                Ok(Update::Part(part)) => {
                    if let Err(error) = take(part) {
                        self.canceller(ticket)();
                        break Err(error);
                    }
                }
                Ok(Update::End(outcome)) => break outcome,
                Err(_) => break Err(ClusterError::Ended),
            }
        };
        drop(registration);
        outcome
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // If the hub is gone, so are its workers.
        let _ = self.to.send(Input::Close);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Not by the hub itself, where a call's end has dropped the last user.
        if let Some(thread) = thread.filter(|hub| hub.thread().id() != thread::current().id()) {
            let _ = task::blocking(|| thread.join());
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// What the hub's thread owns.
struct State<C> {
    driver: Driver,
    carrier: C,
    clock: Stopwatch,
    sinks: HashMap<JobId, (u64, Sink)>,
    jobs: HashMap<u64, JobId>,
    outbox: Outbox,
    /// Workers whose numbers mean nothing when that was sent.
    forgotten: Vec<WorkerId>,
}

/// Messages to workers that are sent together. What one message of a worker brings about is one message to it.
type Outbox = BTreeMap<WorkerId, Vec<ToWorker>>;

impl<C: Carrier> State<C> {
    fn serve(mut self, from: &Receiver<Input>) {
        loop {
            let input = if self.driver.has_jobs() {
                match from.recv_timeout(TICK) {
                    Ok(input) => Some(input),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match from.recv() {
                    Ok(input) => Some(input),
                    Err(_) => break,
                }
            };
            let Some(input) = input else {
                self.handle(Event::Tick);
                self.flush();
                continue;
            };
            // What has come meanwhile is heard before anything is said.
            let others = from.try_iter().take(AT_ONCE_MAX - 1);
            let all: Vec<Input> = std::iter::once(input).chain(others).collect();
            let is_open = all.into_iter().all(|input| self.take(input));
            // Also while those who are not known keep it from ever waiting.
            self.handle(Event::Tick);
            self.flush();
            if !is_open {
                break;
            }
        }
        self.carrier.end();
    }

    /// Returns whether the cluster has a user.
    fn take(&mut self, input: Input) -> bool {
        match input {
            Input::Submit { ticket, spec, sink } => {
                let (job, actions) = self.driver.submit(spec, self.clock.elapsed());
                self.sinks.insert(job, (ticket, sink));
                self.jobs.insert(ticket, job);
                self.perform(actions);
            }
            Input::Cancel { ticket } => {
                if let Some(job) = self.jobs.get(&ticket).copied() {
                    self.handle(Event::Cancel(job));
                }
            }
            Input::Heard(worker, message) => self.handle(Event::Message(worker, message)),
            #[cfg(feature = "nats")]
            Input::Carried(worker, message, _) => self.handle(match message {
                Some(message) => Event::Message(worker, message),
                None => Event::Arriving(worker),
            }),
            Input::Left(worker) => {
                let was_known = self.driver.knows(worker);
                self.handle(Event::Left(worker));
                self.carrier.left(worker, was_known);
            }
            Input::Close => return false,
        }
        true
    }

    fn flush(&mut self) {
        let mut outbox = std::mem::take(&mut self.outbox);
        // A value that several workers are to have goes to all of them at once, before what needs it.
        for (workers, value) in take_shared(&mut outbox) {
            self.carrier.send_all(&workers, value);
        }
        for (worker, messages) in outbox
            .into_iter()
            .filter(|(_, messages)| !messages.is_empty())
        {
            let mut together = Vec::new();
            let (mut bytes, mut elements) = (0, 0);
            for message in messages {
                let (more, parts) = (message.bytes(), message.elements());
                let is_full =
                    bytes + more > TOGETHER_BYTES_MAX || elements + parts > TOGETHER_ELEMENTS_MAX;
                if is_full && !together.is_empty() {
                    self.carrier.send(worker, std::mem::take(&mut together));
                    (bytes, elements) = (0, 0);
                }
                bytes += more;
                elements += parts;
                together.push(message);
            }
            self.carrier.send(worker, together);
        }
        for worker in self.forgotten.drain(..) {
            self.carrier.forget(worker);
        }
    }

    fn handle(&mut self, event: Event) {
        let actions = self.driver.handle(event, self.clock.elapsed());
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(worker, message) => {
                    self.outbox.entry(worker).or_default().push(message);
                }
                Action::Forget(worker) => self.forgotten.push(worker),
                Action::Results { job, part } => {
                    if let Some((_, sink)) = self.sinks.get_mut(&job) {
                        sink(Update::Part(part));
                    }
                }
                Action::End { job, outcome } => {
                    if let Some((ticket, mut sink)) = self.sinks.remove(&job) {
                        self.jobs.remove(&ticket);
                        sink(Update::End(outcome));
                    }
                }
            }
        }
    }
}

/// Takes out the long broadcast values that are for several workers.
fn take_shared(outbox: &mut Outbox) -> Vec<(Vec<WorkerId>, ToWorker)> {
    let mut workers: BTreeMap<u64, Vec<WorkerId>> = BTreeMap::new();
    for (worker, messages) in &*outbox {
        for message in messages {
            if let ToWorker::Value { id, bytes } = message
                && bytes.0.len() > TOGETHER_BYTES_MAX
            {
                workers.entry(*id).or_default().push(*worker);
            }
        }
    }
    workers.retain(|_, workers| {
        workers.dedup();
        workers.len() > 1
    });
    let mut shared = BTreeMap::new();
    let is_shared = |message: &mut ToWorker| matches!(message, ToWorker::Value { id, .. } if workers.contains_key(id));
    for messages in outbox.values_mut() {
        for value in messages.extract_if(.., is_shared) {
            if let ToWorker::Value { id, .. } = value {
                shared.insert(id, value);
            }
        }
    }
    workers.into_values().zip(shared.into_values()).collect()
}

/// Room is left for what stands around the captured values.
const CAPTURES_BYTES_MAX: u64 = FRAME_BYTES_MAX as u64 - 4096;
/// How much is heard before anything is said.
const AT_ONCE_MAX: usize = 64;
/// Captured values that are longer go alone.
const TOGETHER_BYTES_MAX: usize = 64 << 10;
/// Messages in a frame, and broadcast values that are named in them: fewer than whoever reads it takes.
const TOGETHER_ELEMENTS_MAX: usize = 60_000;
/// How often leases and deadlines are looked at while there are calls.
const TICK: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Broadcast,
        broadcast::{Sent, captured},
        driver::Patience,
        wire::{self, Attempt, Hello, PROTOCOL},
    };
    use std::sync::Arc;

    /// Keeps what it is to send, and to how many.
    #[derive(Default)]
    struct Kept(Vec<(usize, Vec<ToWorker>)>);

    impl Carrier for Kept {
        fn send(&mut self, _: WorkerId, messages: Vec<ToWorker>) {
            self.0.push((1, messages));
        }

        fn send_all(&mut self, workers: &[WorkerId], message: ToWorker) {
            self.0.push((workers.len(), vec![message]));
        }

        fn left(&mut self, _: WorkerId, _: bool) {}

        fn end(&mut self) {}
    }

    fn state() -> State<Kept> {
        let mut state = State {
            driver: Driver::new(String::new()),
            carrier: Kept::default(),
            clock: Stopwatch::start(),
            sinks: HashMap::new(),
            jobs: HashMap::new(),
            outbox: Outbox::default(),
            forgotten: Vec::new(),
        };
        greet(&mut state, 0);
        state
    }

    fn greet(state: &mut State<Kept>, worker: u64) {
        let hello = Hello {
            protocol: PROTOCOL,
            build: String::new(),
            host: String::new(),
            replaces: None,
        };
        assert!(state.take(Input::Heard(WorkerId(worker), FromWorker::Hello(hello))));
    }

    fn submit(state: &mut State<Kept>, ticket: u64, captures: usize) {
        submit_with(state, ticket, captures, (Vec::new(), 1));
    }

    fn submit_with(
        state: &mut State<Kept>,
        ticket: u64,
        captures: usize,
        (values, len): (Vec<Arc<Sent>>, u64),
    ) {
        let spec = Spec {
            function: "f".to_owned(),
            captures: vec![0; captures].into(),
            values,
            range: 0..len,
            limit: None,
            patience: Patience::DEFAULT,
        };
        let sink = Box::new(|_| ());
        assert!(state.take(Input::Submit { ticket, spec, sink }));
    }

    fn kinds(messages: &[ToWorker]) -> String {
        let kind = |message: &ToWorker| match message {
            ToWorker::Welcome => 'w',
            ToWorker::Refused { .. } => 'r',
            ToWorker::Captures { .. } => 'c',
            ToWorker::Value { .. } => 'v',
            ToWorker::Drop { .. } => 'd',
            ToWorker::Run { .. } => 'R',
            ToWorker::Forget { .. } => 'f',
        };
        messages.iter().map(kind).collect()
    }

    /// The only worker has run the first chunk of a job.
    fn done(job: u64) -> Input {
        let done = FromWorker::Done {
            attempt: Attempt {
                job: JobId(job),
                chunk: 0,
                number: 1,
            },
            took_nanos: 1,
            bytes: Vec::new(),
        };
        Input::Heard(WorkerId(0), done)
    }

    #[test]
    fn what_an_answer_brings_about_is_one_message_to_its_worker() {
        let mut state = state();
        for ticket in 0..3 {
            submit(&mut state, ticket, 1);
        }
        state.flush();
        assert!(state.take(done(1)));
        state.flush();
        let sent: Vec<String> = state.carrier.0.iter().map(|sent| kinds(&sent.1)).collect();
        assert_eq!(sent, ["wcRcR", "fcR"]);
    }

    #[test]
    fn long_captured_values_go_alone() {
        let mut state = state();
        submit(&mut state, 0, TOGETHER_BYTES_MAX + 1);
        submit(&mut state, 1, 1);
        state.flush();
        let sent: Vec<String> = state.carrier.0.iter().map(|sent| kinds(&sent.1)).collect();
        assert_eq!(sent, ["w", "c", "RcR"]);
    }

    #[test]
    fn however_many_values_are_dropped_at_once_each_message_of_it_is_read() {
        let mut state = state();
        let values = |count: u64| (0..count).map(Broadcast::new).collect::<Vec<_>>();
        for (ticket, count) in [(0, 59_999), (1, 59_999), (2, 1)] {
            let values = captured(&values(count)).unwrap().1;
            submit_with(&mut state, ticket, 1, (values, 1));
            state.flush();
            assert!(state.take(done(ticket + 1)));
        }
        state.flush();
        let mut dropped = 0;
        for (_, messages) in &state.carrier.0 {
            let frame = wire::encode(messages).unwrap();
            let read: Vec<ToWorker> = wire::decode_message(&frame).unwrap();
            let drops = read.iter();
            dropped += drops
                .filter(|message| matches!(message, ToWorker::Drop { .. }))
                .count();
        }
        assert_eq!(dropped, 2 * 59_999 + 1);
    }

    #[test]
    fn a_long_broadcast_value_is_sent_once_to_all_who_get_work_at_once() {
        let mut state = state();
        (1..4).for_each(|worker| greet(&mut state, worker));
        state.flush();
        state.carrier.0.clear();
        let table = Broadcast::new(vec![1_u8; TOGETHER_BYTES_MAX]);
        let short = Broadcast::new(1_u8);
        let values = captured(&(&table, &short)).unwrap().1;
        submit_with(&mut state, 0, 1, (values, 8));
        state.flush();
        let sent = state.carrier.0.iter();
        let sent: Vec<(usize, String)> = sent.map(|(to, sent)| (*to, kinds(sent))).collect();
        let to_each = (1, "vcRR".to_owned());
        let all = [
            (4, "v".to_owned()),
            to_each.clone(),
            to_each.clone(),
            to_each.clone(),
            to_each,
        ];
        assert_eq!(sent, all);
        // One that comes late gets it alone.
        state.carrier.0.clear();
        greet(&mut state, 4);
        submit_with(&mut state, 1, 1, (captured(&table).unwrap().1, 1));
        state.flush();
        let sent: Vec<String> = state.carrier.0.iter().map(|sent| kinds(&sent.1)).collect();
        assert_eq!(sent, ["w", "v", "cR"]);
    }
}
