//! Freezing and thawing one task of the program, when a page asks for it. The program thaws a task when the connection ends
//! over which it was frozen, so there is one for all of them, for as long as the server of the page runs.
//!
//! Not here: pages that hold still (`freeze.rs`).

use crate::client::Client;
use crate::error::Error;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What a page wants of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Freeze,
    Thaw,
}

/// The connection to one program.
pub(super) struct TaskFreezer {
    socket: PathBuf,
    /// None until it is needed.
    client: Mutex<Option<Client>>,
}

impl TaskFreezer {
    /// Of the program that listens at `socket`.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self {
            socket,
            client: Mutex::new(None),
        }
    }

    /// Freezes or thaws the task, and says what it does now. Connects again if the program has closed the connection, which it
    /// does when it was not used for a while, and no task is frozen.
    pub(super) fn ask(&self, wish: Wish, task: &str) -> Result<String, Error> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = kept.as_mut() {
            match wish.ask(client, task) {
                Err(Error::Connection(_)) => *kept = None,
                answered => return answered,
            }
        }
        wish.ask(kept.insert(Client::connect(&self.socket)?), task)
    }
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
