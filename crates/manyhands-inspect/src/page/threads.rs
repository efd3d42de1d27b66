//! The stacks of the program's threads, when a page asks for them: at most once a second, however many pages ask.
//!
//! A thread of its own asks, because what it has read of the program's files stays with it.

use crate::error::Error;
use crate::graph::Graph;
use crate::page::hold::Hold;
use crate::page::methods::Methods;
use crate::stacks::{LockWait, Stacks};
use crate::svg;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// What was seen last, as JSON.
type Shown = Arc<str>;

/// The way to the thread that asks. It ends when this is dropped.
#[derive(Clone)]
pub(super) struct Threads(mpsc::Sender<oneshot::Sender<Shown>>);

#[derive(Serialize)]
struct Look {
    threads: usize,
    /// For the table of workers.
    lock_waits: Vec<LockWait>,
    graph: String,
    #[serde(flatten)]
    methods: Methods,
}

#[derive(Serialize)]
struct Failed {
    error: String,
}

impl Threads {
    /// Begins the thread, which makes with `make` what asks the program. An answer is shown for `every` long, and while
    /// the pages are held.
    pub(super) fn begin<L>(
        every: Duration,
        hold: Hold,
        make: impl FnOnce() -> L + Send + 'static,
    ) -> Self
    where
        L: FnMut() -> Result<Stacks, Error>,
    {
        let (sender, mut asked) = mpsc::channel::<oneshot::Sender<Shown>>(ASKING_MAX);
        thread::spawn(move || {
            let mut look = make();
            let mut last: Option<(Instant, Shown)> = None;
            while let Some(answer) = asked.blocking_recv() {
                last = last.filter(|(at, _)| at.elapsed() < every || hold.is_held());
                let (_, shown) = last.get_or_insert_with(|| {
                    let shown = shown(look());
                    (now(), shown)
                });
                // A page that has gone meanwhile needs none.
                let _ = answer.send(Arc::clone(shown));
            }
        });
        Self(sender)
    }

    /// What the threads run; `None` if too many pages ask.
    pub(super) async fn look(&self) -> Option<Shown> {
        let (answer, answered) = oneshot::channel();
        self.0.try_send(answer).ok()?;
        answered.await.ok()
    }
}

/// What asks the program that listens at `socket`.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(super) fn asking(socket: PathBuf) -> impl FnMut() -> Result<Stacks, Error> {
    let mut resolver = crate::stacks::Resolver::new();
    move || {
        let raw = crate::Client::connect(&socket)?.raw_stacks()?;
        Ok(resolver.resolve(&raw))
    }
}

/// What says that there are no stacks here.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(super) fn asking(_socket: PathBuf) -> impl FnMut() -> Result<Stacks, Error> {
    || {
        let reason = "stacks are followed on Linux on x86-64 and aarch64 only";
        Err(Error::Refused(reason.to_owned()))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program is not asked too often"
)]
fn now() -> Instant {
    Instant::now()
}

fn shown(looked: Result<Stacks, Error>) -> Shown {
    let text = match looked {
        Ok(stacks) => serde_json::to_string(&look(&stacks)),
        Err(error) => serde_json::to_string(&Failed {
            error: error.to_string(),
        }),
    };
    // Texts and numbers can always be written.
    text.unwrap_or_default().into()
}

fn look(stacks: &Stacks) -> Look {
    Look {
        threads: stacks.threads.len(),
        lock_waits: stacks.lock_waits(),
        graph: svg::draw(&Graph::of_stacks(stacks)),
        methods: Methods::of_threads(stacks),
    }
}

/// Between two looks.
pub(super) const EVERY: Duration = Duration::from_secs(1);
/// Requests that wait at a time.
const ASKING_MAX: usize = 32;
