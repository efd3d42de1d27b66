//! The first runtime of a process does what the environment variable `MANYHANDS_INSPECT` asks for.
//!
//! It is the only place where a lower layer, `runtime`, calls a higher one, `inspect`: nobody else runs in a program that does
//! not name this library's diagnostics.

#[cfg(unix)]
use crate::inspect::serve::server;
use crate::inspect::watchdog;
use crate::recording::enabled::opening;
use std::io::{self, Write};
use std::sync::OnceLock;

/// A runtime was made. The first time: opens everything if the variable says so.
pub(crate) fn open_if_wanted() {
    static ASKED: OnceLock<()> = OnceLock::new();
    ASKED.get_or_init(|| {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        if value.is_empty() || value == "0" {
            return;
        }
        opening::open();
        report("watchdog", watchdog::start_watchdog(watchdog::PERIOD));
        #[cfg(unix)]
        {
            report("socket", server::serve().map(drop));
            if value == CONTROL {
                server::allow_control();
            }
        }
    });
}

fn report(what: &str, opened: io::Result<()>) {
    if let Err(error) = opened {
        // Standard error is all there is, and it may be closed.
        let _ = writeln!(
            io::stderr(),
            "manyhands: {VARIABLE} is set, but there is no {what}: {error}"
        );
    }
}

const VARIABLE: &str = "MANYHANDS_INSPECT";
/// The value with which clients may also act on the program.
#[cfg(unix)]
const CONTROL: &str = "control";
