//! What a subscriber of `tracing` receives.

use crate::support::in_time;
use manyhands::{Runtime, task};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// An event, or the beginning of a span.
#[derive(Debug, Clone)]
struct Received {
    target: &'static str,
    level: Level,
    fields: BTreeMap<&'static str, String>,
    /// The span in which it happens, by the name of its task.
    within: Option<String>,
}

/// Reads fields.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// How many events and spans were received.
static RECEIVED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// On threads whose names begin with this the subscriber panics when it is asked whether it is interested.
const PANICS_WHEN_ASKED: &str = "panics when asked";
/// How often it has.
static ASKED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Keeps all events and spans.
struct Keeper(Arc<Mutex<Vec<Received>>>);

impl<S> Layer<S> for Keeper
where
    S: Subscriber + for<'lookup> tracing_subscriber::registry::LookupSpan<'lookup>,
{
    /// So that `enabled` is called each time.
    fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        let thread = std::thread::current();
        if thread
            .name()
            .is_some_and(|name| name.starts_with(PANICS_WHEN_ASKED))
        {
            ASKED_COUNT.fetch_add(1, Ordering::SeqCst);
            panic!("a subscriber that panics when it is asked");
        }
        true
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(name) = fields.0.get("name") {
            let span = context.span(id).unwrap();
            span.extensions_mut().insert(name.clone());
        }
        self.keep(attributes.metadata(), fields, None);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if fields
            .0
            .get("runtime")
            .is_some_and(|name| name == "hostile")
        {
            panic!("a subscriber that panics");
        }
        let span = context.event_span(event);
        let within = span.and_then(|span| span.extensions().get::<String>().cloned());
        self.keep(event.metadata(), fields, within);
    }
}

impl Keeper {
    fn keep(&self, metadata: &tracing::Metadata<'static>, fields: Fields, within: Option<String>) {
        self.0.lock().unwrap().push(Received {
            target: metadata.target(),
            level: *metadata.level(),
            fields: fields.0,
            within,
        });
        RECEIVED_COUNT.fetch_add(1, Ordering::SeqCst);
    }
}

/// The events and spans that the subscriber of this process has received with this field.
fn received_with(field: &str, value: &str) -> Vec<Received> {
    static RECEIVED: OnceLock<Arc<Mutex<Vec<Received>>>> = OnceLock::new();
    let received = RECEIVED.get_or_init(|| {
        let received = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Keeper(Arc::clone(&received)));
        tracing::subscriber::set_global_default(subscriber).unwrap();
        received
    });
    let received = received.lock().unwrap();
    let has_field =
        |received: &&Received| received.fields.get(field).is_some_and(|own| own == value);
    received.iter().filter(has_field).cloned().collect()
}

/// Subscribes, if no test has yet.
fn subscribe() {
    received_with("", "");
}

/// Waits until this number was received with this field.
fn wait_for(count: usize, field: &str, value: &str) -> Vec<Received> {
    loop {
        let received = received_with(field, value);
        if received.len() >= count {
            return received;
        }
        std::thread::yield_now();
    }
}

fn runtime(name: &str) -> Runtime {
    subscribe();
    let builder = Runtime::builder().name(name).workers(1).max_threads(2);
    builder.on_stall(|_| {}).build().unwrap()
}

#[test]
fn threads_that_start_are_reported_with_the_reason() {
    in_time(|| {
        let runtime = runtime("changes");
        let _entered = runtime.enter();
        task::run(|| ()).join().unwrap();
        drop(_entered);
        drop(runtime);
        let received = received_with("runtime", "changes");
        let first = &received[0];
        assert_eq!(
            (first.target, first.level),
            ("manyhands::threads", Level::DEBUG)
        );
        assert_eq!(first.fields["reason"], "Warmup");
        assert_eq!(first.fields["threads"], "1");
    });
}

#[test]
fn a_stall_is_an_error_that_names_the_waiting_tasks() {
    in_time(|| {
        let runtime = runtime("stalled");
        let _entered = runtime.enter();
        let tasks: Vec<_> = (0..3)
            .map(|_| mpsc::channel::<()>())
            .map(|(go_on, may_go_on)| (go_on, task::run(move || may_go_on.recv().unwrap())))
            .collect();
        // Two threads block, and the third task waits: reported both as a refused change and as a stall.
        let is_stall = |received: &Received| received.target == "manyhands::stall";
        let stall = loop {
            if let Some(stall) = received_with("runtime", "stalled")
                .into_iter()
                .find(is_stall)
            {
                break stall;
            }
            std::thread::yield_now();
        };
        assert_eq!(stall.level, Level::ERROR);
        let sentence = &stall.fields["stall"];
        assert!(
            sentence.starts_with("work waits, all 2 threads are blocked"),
            "{sentence}"
        );
        for (go_on, task) in tasks {
            go_on.send(()).unwrap();
            task.join().unwrap();
        }
        let received = received_with("runtime", "stalled");
        let mut reasons: Vec<_> = received
            .iter()
            .filter_map(|received| received.fields.get("reason"))
            .collect();
        // A preempted thread may seem, for a moment, to continue.
        reasons.dedup();
        assert_eq!(reasons, ["Warmup", "BlockingDetected", "LimitReached"]);
    });
}

#[test]
fn a_long_computation_is_reported_while_other_work_waits() {
    in_time(|| {
        let runtime = runtime("long");
        let _entered = runtime.enter();
        let find = || {
            let mut received = received_with("runtime", "long").into_iter();
            received.find(|received| received.target == "manyhands::long_job")
        };
        let computing = task::run(move || {
            // Checks only when more was received: while it waited for the lock, another thread
            // could compensate for it, and then no work would wait.
            let mut looked_at = 0;
            loop {
                let received = RECEIVED_COUNT.load(Ordering::SeqCst);
                if received != looked_at
                    && let Some(long) = find()
                {
                    break long;
                }
                looked_at = received;
            }
        });
        let spawned_at = computing.location().to_string();
        let waiting = task::run(|| ());
        let long = computing.join().unwrap();
        waiting.join().unwrap();
        assert_eq!((long.level, &*long.fields["worker"]), (Level::DEBUG, "0"));
        assert_eq!(long.fields["spawned_at"], spawned_at);
    });
}

#[test]
fn panics_that_are_not_taken_are_warnings() {
    in_time(|| {
        let runtime = runtime("panics");
        let _entered = runtime.enter();
        drop(task::run(|| panic!("of a closure whose handle is dropped")));
        drop(task::spawn(async {
            panic!("of a future whose handle is dropped")
        }));
        let ended = [
            task::run(|| panic!("of a closure that ended before")),
            task::spawn(async { panic!("of a future that ended before") }),
        ];
        while !ended.iter().all(task::JoinHandle::is_finished) {
            std::thread::yield_now();
        }
        drop::<[task::JoinHandle<()>; 2]>(ended);
        task::run_detached(|| panic!("of a detached closure"));
        let kept = task::run(|| panic!("taken"));
        assert!(kept.join().unwrap_err().is_panic());
        for (message, is_of_task) in [
            ("of a closure whose handle is dropped", true),
            ("of a future whose handle is dropped", true),
            ("of a closure that ended before", true),
            ("of a future that ended before", true),
            ("of a detached closure", false),
        ] {
            let received = wait_for(1, "panic", message);
            assert_eq!(received.len(), 1, "{message}");
            assert_eq!(
                (received[0].target, received[0].level),
                ("manyhands::panic", Level::WARN)
            );
            assert_eq!(received[0].fields.contains_key("spawned_at"), is_of_task);
        }
        assert!(received_with("panic", "taken").is_empty());
    });
}

#[test]
fn what_a_task_tells_is_within_its_span() {
    in_time(|| {
        let runtime = runtime("spans");
        let _entered = runtime.enter();
        let future = task::Builder::new().name("two polls").spawn(async {
            tracing::info!(said = "in the first poll");
            task::yield_now().await;
            tracing::info!(said = "in the second poll");
        });
        let id = future.id().to_string();
        future.join().unwrap();
        let closure = task::Builder::new().name("one run");
        closure
            .run(|| tracing::info!(said = "in the run"))
            .join()
            .unwrap();
        for (said, name) in [
            ("in the first poll", "two polls"),
            ("in the second poll", "two polls"),
            ("in the run", "one run"),
        ] {
            let received = received_with("said", said);
            assert_eq!(received[0].within.as_deref(), Some(name), "{said}");
        }
        let polls = received_with("name", "two polls");
        assert_eq!(polls.len(), 2);
        for poll in polls {
            assert_eq!((poll.target, poll.level), ("manyhands::task", Level::TRACE));
            assert_eq!(poll.fields["id"], id);
            assert!(poll.fields["spawned_at"].contains("tracing.rs:"));
        }
    });
}

#[test]
fn a_subscriber_that_panics_does_no_harm() {
    in_time(|| {
        let runtime = runtime("hostile");
        let _entered = runtime.enter();
        assert_eq!(task::run(|| 6 * 7).join().unwrap(), 42);
    });
}

#[test]
fn a_subscriber_that_panics_when_it_is_asked_does_no_harm() {
    in_time(|| {
        let runtime = runtime(PANICS_WHEN_ASKED);
        let _entered = runtime.enter();
        for round in 0..3 {
            let before = ASKED_COUNT.load(Ordering::SeqCst);
            task::run_detached(|| panic!("told to nobody"));
            assert_eq!(task::run(move || round).join().unwrap(), round);
            let twice = async move {
                task::yield_now().await;
                round
            };
            assert_eq!(task::spawn(twice).join().unwrap(), round);
            // Nobody waits for the detached task, which another worker may run.
            while ASKED_COUNT.load(Ordering::SeqCst) < before + 4 {
                std::thread::yield_now();
            }
        }
    });
}
