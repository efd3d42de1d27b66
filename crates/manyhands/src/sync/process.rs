//! Whether this process is the child of a `fork`, which has no worker and no monitor (`fork` of `manyhands-system`), and the end of
//! a process that cannot go on.

pub(crate) use manyhands_system::fork::{is_forked, watch_for_forks};
use std::io::Write;

/// Called first by operations that need the runtime's threads.
///
/// # Panics
/// In a forked child.
#[inline]
pub(crate) fn refuse_forked() {
    assert!(!is_forked(), "{FORKED}");
}

/// Why a child cannot continue.
pub(crate) const FORKED: &str =
    "a child of `fork` uses the pool, whose threads are in its parent only";

/// Ends the process because continuing would break an invariant that other code relies on. If the message cannot be
/// printed, it is left out.
#[cold]
pub(crate) fn abort(why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "manyhands: {why}; the process ends");
    std::process::abort();
}
