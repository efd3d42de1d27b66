//! The values that the recorder of `metrics` receives: every number, once, under the runtime's name.

use manyhands::{Runtime, task};
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The values of one runtime, by name and further label.
type Values = BTreeMap<String, f64>;

fn values_of(runtime: &str, snapshotter: &Snapshotter) -> Values {
    let mut values = Values::new();
    for (key, unit, description, value) in snapshotter.snapshot().into_vec() {
        let labels: Vec<_> = key.key().labels().collect();
        if (labels[0].key(), labels[0].value()) != ("runtime", runtime) {
            continue;
        }
        assert!(unit.is_some() && description.is_some(), "{key:?}");
        let further: Vec<_> = labels[1..].iter().map(|label| label.value()).collect();
        let name = [&[key.key().name()], &further[..]].concat().join(" ");
        let value = match (key.kind(), value) {
            (MetricKind::Gauge, DebugValue::Gauge(value)) => value.into_inner(),
            (MetricKind::Counter, DebugValue::Counter(value)) => {
                assert!(name.contains("_total"), "{name}");
                f64::from(u32::try_from(value).expect("small"))
            }
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(values.insert(name, value), None);
    }
    values
}

fn recorded(runtime: &Runtime) -> Values {
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || manyhands_metrics::record(&runtime.handle()));
    values_of(runtime.name(), &recorder.snapshotter())
}

/// Fails where `work` does not end in time.
fn in_time(work: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let _ended = ended;
        work();
    });
    let timed_out = end.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
    assert!(!timed_out, "not ended in time");
    thread
        .join()
        .unwrap_or_else(|payload| resume_unwind(payload));
}

#[test]
fn a_new_runtime_has_every_number_and_all_are_zero() {
    let runtime = Runtime::builder().name("new").workers(3).build().unwrap();
    let values = recorded(&runtime);
    let expected = [
        "manyhands_completed_total",
        "manyhands_contentions_total",
        "manyhands_long_jobs_total",
        "manyhands_parks_total",
        "manyhands_queued outside",
        "manyhands_queued workers",
        "manyhands_steals_total",
        "manyhands_threads",
        "manyhands_threads_asleep",
        "manyhands_threads_blocked declared",
        "manyhands_threads_blocked detected",
        "manyhands_threads_ended_total",
        "manyhands_threads_searching",
        "manyhands_threads_started_total declared_blocked",
        "manyhands_threads_started_total detected_blocked",
        "manyhands_threads_started_total starvation",
        "manyhands_threads_started_total warmup",
        "manyhands_threads_working",
        "manyhands_timer_lateness_max_seconds",
        "manyhands_timer_lateness_milliseconds_total",
        "manyhands_timers_fired_total",
        "manyhands_workers",
    ];
    assert_eq!(
        values.keys().collect::<Vec<_>>(),
        expected.iter().collect::<Vec<_>>()
    );
    for (name, value) in values {
        let expected = if name == "manyhands_workers" {
            3.0
        } else {
            0.0
        };
        assert_eq!(value, expected, "{name}");
    }
}

#[test]
fn what_is_recorded_is_what_has_happened() {
    in_time(|| {
        let runtime = Runtime::builder().name("busy").workers(1).build().unwrap();
        let _entered = runtime.enter();
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let blocked = task::run(move || {
            task::blocking(|| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
            });
        });
        has_begun.recv().unwrap();
        // Another thread compensates for the one that blocks.
        task::run(|| ()).join().unwrap();
        let values = recorded(&runtime);
        assert_eq!(values["manyhands_threads"], 2.0);
        assert_eq!(values["manyhands_threads_blocked declared"], 1.0);
        assert_eq!(values["manyhands_threads_blocked detected"], 0.0);
        assert_eq!(values["manyhands_threads_started_total warmup"], 1.0);
        assert_eq!(
            values["manyhands_threads_started_total declared_blocked"],
            1.0
        );
        go_on.send(()).unwrap();
        blocked.join().unwrap();
        while runtime.metrics().completed < 2 {
            thread::yield_now();
        }
        assert_eq!(recorded(&runtime)["manyhands_completed_total"], 2.0);
    });
}

#[test]
fn a_task_records_the_current_runtime_again_and_again_until_it_is_cancelled() {
    in_time(|| {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        // Workers have no recorder of their own. No other test records without one.
        recorder.install().unwrap();
        let runtime = Runtime::builder()
            .name("ticking")
            .workers(2)
            .build()
            .unwrap();
        let _entered = runtime.enter();
        let recording = manyhands_metrics::record_every(Duration::from_millis(1));
        for expected in 1..4_u32 {
            task::run(|| ()).join().unwrap();
            let is_recorded = || {
                let values = values_of("ticking", &snapshotter);
                values.get("manyhands_completed_total") >= Some(&f64::from(expected))
            };
            while !is_recorded() {
                thread::yield_now();
            }
        }
        recording.abort();
        assert!(recording.join().unwrap_err().is_cancelled());
    });
}

const LIMIT: Duration = Duration::from_secs(60);
