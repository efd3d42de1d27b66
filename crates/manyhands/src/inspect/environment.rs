//! What happens when a runtime is made: it is listed, and the first one does what the environment variable
//! `MANYHANDS_INSPECT` asks for.

use crate::inspect::runtimes::{self, Observed};
use crate::inspect::{opening, watchdog};
use std::io::{self, Write};
use std::sync::{Arc, OnceLock, Weak};

/// A runtime was made.
pub(crate) fn runtime_made<R: Observed + 'static>(runtime: &Arc<R>) {
    let weak: Weak<R> = Arc::downgrade(runtime);
    runtimes::add(weak);
    open_if_wanted();
}

/// The first time: opens everything if the variable says so.
fn open_if_wanted() {
    static ASKED: OnceLock<()> = OnceLock::new();
    ASKED.get_or_init(|| {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        if value.is_empty() || value == "0" {
            return;
        }
        opening::open();
        report("watchdog", watchdog::watch(watchdog::PERIOD));
        #[cfg(unix)]
        {
            report("socket", crate::inspect::server::serve().map(drop));
            if value == CONTROL {
                crate::inspect::control::allow_control();
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
