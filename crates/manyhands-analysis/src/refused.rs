//! Why a client does not get what it asks for: each word of the protocol for that, with its sentence.

use manyhands_wire::{Line, Refusal};

/// A word, and a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(&'static str, &'static str);

impl Refused {
    /// All connections are taken.
    pub const BUSY: Self = Self("busy", "eight connections are open already");
    /// A user who may not look.
    pub const FOREIGN: Self = Self("refused", "only the user of this process may look");
    /// A request is too long.
    pub const OVERSIZED: Self = Self("oversized", "a request has at most 4096 bytes");
    /// A request has no end.
    pub const UNFINISHED: Self = Self("malformed", "a request ends with a line feed");
    /// A request is no request.
    pub const MALFORMED: Self = Self(
        "malformed",
        "a request is an object of JSON with a text `get` and a number `tasks_max`, or with a text `poll`",
    );
    /// A request is for something that no program has.
    pub const UNKNOWN: Self = Self(
        "unknown_request",
        "`get` is \"snapshot\", \"changes\", \"deadlocks\", \"reports\", \"groups\" or \"stacks\", or `poll` is the \
         number of a task",
    );
    /// The program has not allowed it.
    pub const NOT_ALLOWED: Self = Self(
        "not_allowed",
        "this program does not let others act on it; it allows that by `diagnostics::allow_control()`, or when it is \
         started with MANYHANDS_INSPECT=control",
    );
    /// No task that exists has this number.
    pub const NO_SUCH_TASK: Self = Self("no_such_task", "there is no such task");
    /// It does not wait without a thread, or another library's executor polls it.
    pub const NOT_WAITING: Self = Self(
        "not_waiting",
        "only a future that waits, and that this library polls, can be polled on request",
    );
    /// No worker has polled it in time. It will be polled when one gets to it.
    pub const LATE: Self = Self(
        "late",
        "no worker has polled the task within two seconds; it is queued",
    );

    /// Stacks cannot be copied, because the program handles the signal itself.
    pub const SIGNAL_IN_USE: Self = Self(
        "signal_in_use",
        "this program handles SIGURG itself, which stacks are asked for with",
    );
    /// Stacks cannot be copied, because the system has no such signals.
    pub const UNSUPPORTED: Self = Self("unsupported", "stacks need Linux on x86-64 or aarch64");

    /// The line that says so.
    #[must_use]
    pub fn line(self) -> Line {
        Line::Error(Refusal {
            code: self.0.to_owned(),
            message: self.1.to_owned(),
        })
    }
}
