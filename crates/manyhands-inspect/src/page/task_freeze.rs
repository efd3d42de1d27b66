//! Freezing and thawing one task of the program, when a page asks for it. The program thaws a task when the connection ends
//! over which it was frozen, or is silent for a minute. So there is one for all of them, for as long as the server of the page
//! runs, and something is asked over it from time to time: a server that is stopped holds no task for longer.
//!
//! Not here: pages that hold still (`freeze.rs`).

use crate::client::Client;
use crate::error::Error;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What a page wants of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Freeze,
    Thaw,
}

/// The connection to one program.
pub(super) struct TaskFreezer {
    socket: PathBuf,
    kept: Arc<Kept>,
    /// The thread that asks ends with this.
    _asking: Sender<()>,
}

/// None until it is needed.
type Kept = Mutex<Option<Client>>;

impl TaskFreezer {
    /// Of the program that listens at `socket`.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self::asking(socket, ASK_EVERY)
    }

    pub(super) fn asking(socket: PathBuf, every: Duration) -> Self {
        let kept = Arc::new(Mutex::new(None));
        let (asking, ended) = mpsc::channel();
        let asked = Arc::clone(&kept);
        thread::spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                keep(&asked);
            }
        });
        Self {
            socket,
            kept,
            _asking: asking,
        }
    }

    /// Freezes or thaws the task, and says what it does now. Connects again if the program has closed the connection.
    pub(super) fn ask(&self, wish: Wish, task: &str) -> Result<String, Error> {
        let mut kept = lock(&self.kept);
        if let Some(client) = kept.as_mut() {
            match wish.ask(client, task) {
                Err(Error::Connection(_)) => *kept = None,
                answered => return answered,
            }
        }
        wish.ask(kept.insert(Client::connect(&self.socket)?), task)
    }
}

/// Asks for little, so that the program sees that somebody is there.
fn keep(kept: &Kept) {
    let mut kept = lock(kept);
    let is_over = |client: &mut Client| client.workers_and_loops().is_err();
    if kept.as_mut().is_some_and(is_over) {
        *kept = None;
    }
}

fn lock(kept: &Kept) -> MutexGuard<'_, Option<Client>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wish {
    fn ask(self, client: &mut Client, task: &str) -> Result<String, Error> {
        Ok(match self {
            Self::Freeze if client.freeze_task(task)? => {
                format!("task {task} is frozen when this poll of it ends\n")
            }
            Self::Freeze => format!("task {task} is frozen\n"),
            Self::Thaw => {
                client.thaw_task(task)?;
                format!("task {task} goes on\n")
            }
        })
    }
}

/// A third of the minute after which the program thaws.
const ASK_EVERY: Duration = Duration::from_secs(20);
