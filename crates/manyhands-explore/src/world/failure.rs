//! The report about a program that failed, so that it can be run again.
//!
//! Unsafe: calls of the C library.

use super::{WORLD, World};
use std::io::Write;
use std::sync::LazyLock;

/// The program failed: prints the report, and ends the process.
pub(crate) fn fail(what: &str) -> ! {
    let text = WORLD.with(|world| {
        world.is_active.set(false);
        world.describe(what)
    });
    // Directly to the system: the test harness would capture the text and lose it.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    // SAFETY: ends the process at once: no other code may run, on this or another stack.
    unsafe { libc::_exit(101) }
}

/// Makes a process that a signal kills report first in which schedule it was.
pub(crate) fn tell_of_signals() {
    extern "C" fn tell(signal: libc::c_int) {
        fail(&format!("ended by signal {signal}"));
    }
    for signal in [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGABRT,
        libc::SIGILL,
        libc::SIGFPE,
    ] {
        // SAFETY: an all-zero action is a valid value of this plain C struct.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = tell as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
        // SAFETY: the action is valid; the handler does more than a handler may, but the process is lost anyway.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

impl World {
    fn describe(&self, what: &str) -> String {
        use std::fmt::Write;
        let (name, seed) = (self.terms.get().name, self.seed.get());
        let mut text = format!(
            "\n{name}: {what}\n  by {} of thread {}, at {} ns, after {} accesses; time has jumped by {} ns; {:?}, {}\n",
            self.name(self.current.get()),
            self.current.get(),
            self.now.get(),
            self.points.get(),
            self.jumped.get(),
            self.style.get(),
            if self.has_ticks.get() {
                "with rounds"
            } else {
                "without rounds"
            },
        );
        for (thread, blocked) in &self.lists.borrow().blocked {
            let _ = writeln!(
                text,
                "  thread {thread}, {}: awaits {:?} at {}, until {:?}",
                self.name(*thread),
                blocked.awaits,
                blocked.at,
                blocked.deadline
            );
            if let Some(trace) = &blocked.trace {
                let _ = writeln!(text, "{trace}");
            }
        }
        let _ = writeln!(
            text,
            "  seed {seed:#x}; again: cargo xtask explore --program {name} --seed {seed:#x}"
        );
        text
    }

    fn name(&self, thread: usize) -> String {
        let lists = self.lists.borrow();
        lists.names.get(&thread).cloned().unwrap_or_default()
    }
}

/// Whether it is shown where each blocked thread stands.
pub(super) static WANTS_TRACES: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("EXPLORE_TRACES").is_some());
