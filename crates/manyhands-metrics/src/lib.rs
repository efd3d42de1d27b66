//! A runtime's metrics for the recorder of the crate `metrics`.
//!
//! [`record`] passes all metrics of a runtime to the recorder, once: call it before the recorder is read, as in the
//! handler of a scrape. If the reader offers no such hook, [`record_every`] records periodically.
//!
//! Each metric has the label `runtime`, with the [name](manyhands::RuntimeBuilder::name) of the runtime. The fields
//! of [`Metrics`] say what they mean.
//!
//! | name | kind | further label |
//! |---|---|---|
//! | `manyhands_workers` | gauge | |
//! | `manyhands_threads` | gauge | |
//! | `manyhands_threads_working`, `_searching`, `_asleep` | gauges | |
//! | `manyhands_threads_blocked` | gauge | `known`: `declared`, `detected` |
//! | `manyhands_queued` | gauge | `queue`: `outside`, `workers` |
//! | `manyhands_timer_lateness_max_seconds` | gauge | |
//! | `manyhands_completed_total` | counter | |
//! | `manyhands_steals_total`, `manyhands_parks_total`, `manyhands_contentions_total` | counters | |
//! | `manyhands_threads_started_total` | counter | `reason`: `warmup`, `declared_blocked`, `detected_blocked`, `starvation` |
//! | `manyhands_threads_ended_total` | counter | |
//! | `manyhands_long_jobs_total` | counter | |
//! | `manyhands_timers_fired_total` | counter | |
//! | `manyhands_timer_lateness_milliseconds_total` | counter | |
//!
//! Two runtimes of one program need different names, also where the second begins when the first has ended: they have the same
//! metrics, and as counters never go down, those of the second show nothing until they are larger than the first one's were.
//! When a runtime has ended, its gauges stay as they were recorded last; exporters can drop what is not recorded any more, as
//! Prometheus's does with `idle_timeout`.

#![forbid(unsafe_code)]

use manyhands::Handle;
use manyhands::diagnostics::Metrics;
use manyhands::task::{self, JoinHandle};
use manyhands::time;
use metrics::{Label, Unit};
use std::time::Duration;

/// Describes the metrics of a runtime to the recorder and sets all of them; of one that has ended, nothing.
///
/// # Cost
/// That of [`Handle::metrics`], and some 20 look-ups in the recorder. Without a recorder almost nothing.
///
/// # Examples
/// ```
/// use manyhands::Runtime;
/// use metrics_util::debugging::{DebugValue, DebuggingRecorder};
///
/// let runtime = Runtime::builder().name("requests").workers(3).build()?;
/// let recorder = DebuggingRecorder::new();
/// metrics::with_local_recorder(&recorder, || manyhands_metrics::record(&runtime.handle()));
///
/// let recorded = recorder.snapshotter().snapshot().into_vec();
/// let (key, _, _, value) = &recorded[0];
/// assert_eq!(key.key().to_string(), "Key(manyhands_workers, [runtime = requests])");
/// assert_eq!(value, &DebugValue::Gauge(3.0.into()));
/// # Ok::<(), manyhands::BuildError>(())
/// ```
pub fn record(runtime: &Handle) {
    let Some((name, metrics)) = runtime.name().zip(runtime.metrics()) else {
        return;
    };
    for gauge in GAUGES {
        metrics::describe_gauge!(gauge.name, gauge.unit, gauge.description);
        metrics::gauge!(gauge.name, gauge.labels(&name)).set((gauge.read)(&metrics));
    }
    for counter in COUNTERS {
        metrics::describe_counter!(counter.name, counter.unit, counter.description);
        metrics::counter!(counter.name, counter.labels(&name)).absolute((counter.read)(&metrics));
    }
}

/// Starts a task of the current runtime that records its metrics now and after each `period`, until it is
/// [cancelled](JoinHandle::abort) or the runtime is shut down.
///
/// Like any task it waits for a worker. While all threads are blocked or run long jobs, it records nothing. To see that
/// state as well, call [`record`] on a thread of the program's own.
///
/// # Panics
/// If the period is zero.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let recording = manyhands_metrics::record_every(Duration::from_secs(10));
/// recording.abort();
/// ```
#[track_caller]
pub fn record_every(period: Duration) -> JoinHandle<()> {
    let mut interval = time::interval(period);
    let runtime = Handle::current();
    task::spawn(async move {
        loop {
            interval.tick().await;
            record(&runtime);
        }
    })
}

/// One metric, and the function that reads it.
struct Number<T> {
    name: &'static str,
    label: Option<(&'static str, &'static str)>,
    unit: Unit,
    description: &'static str,
    read: fn(&Metrics) -> T,
}

impl<T> Number<T> {
    const fn new(
        name: &'static str,
        unit: Unit,
        description: &'static str,
        read: fn(&Metrics) -> T,
    ) -> Self {
        Self {
            name,
            label: None,
            unit,
            description,
            read,
        }
    }

    const fn labelled(mut self, key: &'static str, value: &'static str) -> Self {
        self.label = Some((key, value));
        self
    }

    fn labels(&self, runtime: &str) -> Vec<Label> {
        let own = self.label.map(|(key, value)| Label::new(key, value));
        let labels = [Label::new("runtime", runtime.to_owned())];
        labels.into_iter().chain(own).collect()
    }
}

const GAUGES: &[Number<f64>] = &[
    Number::new(
        "manyhands_workers",
        Unit::Count,
        "threads that may run at once",
        |metrics| metrics.workers as f64,
    ),
    Number::new(
        "manyhands_threads",
        Unit::Count,
        "worker threads that exist",
        |metrics| metrics.threads as f64,
    ),
    Number::new(
        "manyhands_threads_working",
        Unit::Count,
        "workers and outside callers that run something",
        |metrics| metrics.working as f64,
    ),
    Number::new(
        "manyhands_threads_searching",
        Unit::Count,
        "workers that look for work",
        |metrics| metrics.searching as f64,
    ),
    Number::new(
        "manyhands_threads_asleep",
        Unit::Count,
        "workers asleep because there is no work",
        |metrics| metrics.asleep as f64,
    ),
    Number::new(
        "manyhands_threads_blocked",
        Unit::Count,
        "threads that wait inside a job, declared or detected as blocked",
        |metrics| metrics.blocked as f64,
    )
    .labelled("known", "declared"),
    Number::new(
        "manyhands_threads_blocked",
        Unit::Count,
        "threads that wait inside a job, declared or detected as blocked",
        |metrics| metrics.detected_blocked as f64,
    )
    .labelled("known", "detected"),
    Number::new(
        "manyhands_queued",
        Unit::Count,
        "tasks that wait for a worker",
        |metrics| metrics.queued_outside as f64,
    )
    .labelled("queue", "outside"),
    Number::new(
        "manyhands_queued",
        Unit::Count,
        "tasks that wait for a worker",
        |metrics| metrics.queued as f64,
    )
    .labelled("queue", "workers"),
    Number::new(
        "manyhands_timer_lateness_max_seconds",
        Unit::Seconds,
        "how late the latest timer was",
        |metrics| metrics.timer_latest.as_secs_f64(),
    ),
];

const COUNTERS: &[Number<u64>] = &[
    Number::new(
        "manyhands_completed_total",
        Unit::Count,
        "pieces of work completed",
        |metrics| metrics.completed,
    ),
    Number::new(
        "manyhands_steals_total",
        Unit::Count,
        "times that a thread took work from another thread",
        |metrics| metrics.steals,
    ),
    Number::new(
        "manyhands_parks_total",
        Unit::Count,
        "times that a thread went to sleep",
        |metrics| metrics.parks,
    ),
    Number::new(
        "manyhands_contentions_total",
        Unit::Count,
        "times that a thread found a lock of the runtime taken",
        |metrics| metrics.contentions,
    ),
    Number::new(
        "manyhands_threads_started_total",
        Unit::Count,
        "worker threads started",
        started_for_warmup,
    )
    .labelled("reason", "warmup"),
    Number::new(
        "manyhands_threads_started_total",
        Unit::Count,
        "worker threads started",
        |metrics| metrics.started_for_declared,
    )
    .labelled("reason", "declared_blocked"),
    Number::new(
        "manyhands_threads_started_total",
        Unit::Count,
        "worker threads started",
        |metrics| metrics.started_for_detected,
    )
    .labelled("reason", "detected_blocked"),
    Number::new(
        "manyhands_threads_started_total",
        Unit::Count,
        "worker threads started",
        |metrics| metrics.started_for_starved,
    )
    .labelled("reason", "starvation"),
    Number::new(
        "manyhands_threads_ended_total",
        Unit::Count,
        "worker threads that ended because they were not needed",
        |metrics| metrics.threads_ended,
    ),
    Number::new(
        "manyhands_long_jobs_total",
        Unit::Count,
        "computations that kept a worker while every place was taken",
        |metrics| metrics.long_jobs,
    ),
    Number::new(
        "manyhands_timers_fired_total",
        Unit::Count,
        "timers that have fired",
        |metrics| metrics.timers_fired,
    ),
    Number::new(
        "manyhands_timer_lateness_milliseconds_total",
        Unit::Milliseconds,
        "sum of how late they were",
        late_millis,
    ),
];

/// Threads started because there was work, and fewer threads than may run.
fn started_for_warmup(metrics: &Metrics) -> u64 {
    let others =
        metrics.started_for_declared + metrics.started_for_detected + metrics.started_for_starved;
    metrics.threads_started - others
}

fn late_millis(metrics: &Metrics) -> u64 {
    u64::try_from(metrics.timers_late.as_millis()).unwrap_or(u64::MAX)
}

/// Its code runs in the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
