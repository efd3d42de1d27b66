//! Why a client does not get what it asks for of a task or of stacks, and the line that says so.
//!
//! Not here: requests that are none, and clients that may not look (`server.rs`).

use crate::inspect::serve::wire;
use crate::sync::stack_copy::NoCopies;
use manyhands_wire::{Line, word};

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The program has not allowed it.
    NotAllowed,
    /// No task that exists has this number.
    NoSuchTask,
    /// It does not wait without a thread, or another library's executor polls it.
    NotWaiting,
    /// No worker has polled it in time. It will be polled when one gets to it.
    Late,
    /// Stacks cannot be copied.
    NoCopies(NoCopies),
}

impl Refused {
    /// The line that says so.
    pub(super) fn line(self) -> Line {
        let message = match self {
            Self::NotAllowed => {
                "this program does not let others act on it; it allows that by \
                 `diagnostics::allow_control()`, or when it is started with MANYHANDS_INSPECT=control"
            }
            Self::NoSuchTask => "there is no such task",
            Self::NotWaiting => {
                "only a future that waits, and that this library polls, can be polled on request"
            }
            Self::Late => "no worker has polled the task within two seconds; it is queued",
            Self::NoCopies(NoCopies::SignalInUse) => {
                "this program handles SIGURG itself, which stacks are asked for with"
            }
            Self::NoCopies(NoCopies::Unsupported) => "stacks need Linux on x86-64 or aarch64",
        };
        let code = match self {
            Self::NoCopies(because) => word(because),
            other => word(other),
        };
        wire::error(&code, message)
    }
}
