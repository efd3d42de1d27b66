//! A runtime's events and spans for the crate `tracing`; only with the feature `tracing`.
//!
//! No setup is needed: every subscriber gets them.
//!
//! | what | level | target | fields |
//! |---|---|---|---|
//! | event: the number of threads has changed, or could not | `DEBUG` | `manyhands::threads` | `runtime`, `threads`, `reason` (a [`ThreadChangeReason`](crate::diagnostics::ThreadChangeReason)) |
//! | event: the pool cannot go on, and which threads wait for what | `ERROR` | `manyhands::stall` | `runtime`, `stall` (a [`Stall`](crate::diagnostics::Stall)) |
//! | event: a computation keeps a worker while every place is taken | `DEBUG` | `manyhands::long_job` | `runtime`, `running_for`, `worker` unless it is a caller from outside, `spawned_at` if it is a task |
//! | event: a panic that nobody takes | `WARN` | `manyhands::panic` | `panic` (the message), `spawned_at` if it is the result of a task |
//! | span `task`: one run of a task's closure, or one poll of its future | `TRACE` | `manyhands::task` | `id` (a [`TaskId`](crate::task::TaskId)), `name` if it has one, `spawned_at` |
//!
//! Ignored panics are those of a task whose handle is dropped, of [`run_detached`](crate::task::run_detached),
//! of hooks, of wakers, and of values that the runtime drops. The panic hook has reported each of them
//! before.
//!
//! Closures of a scope, halves of a join and blocks of loops are not tasks and have no span.
//!
//! A subscriber is called on the thread that causes the event, which may be the monitor, and must not block. Its panics
//! are ignored.
//!
//! # Cost
//! Without the feature nothing. With it, if no subscriber enables `TRACE`, one load and one comparison for each
//! run or poll of a task.
//!
//! # Examples
//! ```
//! # #[cfg(feature = "tracing")] {
//! use manyhands::{Runtime, task};
//! use std::sync::{Arc, Mutex};
//! use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
//!
//! /// Keeps the target of each event.
//! struct Targets(Arc<Mutex<Vec<&'static str>>>);
//!
//! impl<S: tracing::Subscriber> Layer<S> for Targets {
//!     fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
//!         self.0.lock().unwrap().push(event.metadata().target());
//!     }
//! }
//!
//! let targets = Arc::new(Mutex::new(Vec::new()));
//! let subscriber = tracing_subscriber::registry().with(Targets(Arc::clone(&targets)));
//! tracing::subscriber::set_global_default(subscriber)?;
//!
//! let runtime = Runtime::builder().name("requests").build()?;
//! runtime.install(|| task::run(|| ())).join()?;
//! drop(runtime);
//! assert_eq!(targets.lock().unwrap()[0], "manyhands::threads");
//! # }
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

// Without the feature, what does nothing takes its place.
#[cfg_attr(not(all(feature = "tracing", not(loom))), path = "disabled.rs")]
mod enabled;

pub(crate) use enabled::{TaskSpan, long_job, panic_ignored, stall, task_span, thread_change};
