//! The state of every thread of this process: names, states, and stacks, which a signal makes each thread print.
//!
//! Only for a process that is about to abort: taking a stack trace in a signal's handler may go wrong. A thread that
//! does not answer is left out.
#![expect(unsafe_code, reason = "calls of the C library")]

/// Prints it to the standard error stream.
pub(crate) fn print_all() {
    system::print_all();
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    //! Signals of Linux.

    use libc::{c_int, pid_t};
    use std::backtrace::Backtrace;
    use std::io::{Write, stderr};
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{fs, ptr, thread};

    static ANSWERS: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn print_all() {
        install();
        // SAFETY: has no conditions.
        let own = unsafe { libc::gettid() };
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return;
        };
        let names = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
        for number in names.filter_map(|name| name.parse::<pid_t>().ok()) {
            let read = |file: &str| {
                let text = fs::read_to_string(format!("/proc/self/task/{number}/{file}"));
                text.unwrap_or_default().trim().to_owned()
            };
            let state = read("stat");
            let state = state.rsplit(')').next().unwrap_or_default().trim_start();
            let state = state.split(' ').next().unwrap_or_default().to_owned();
            say(&format!(
                "\nthread {number} {} {state} {}\n",
                read("comm"),
                read("wchan")
            ));
            if number != own {
                ask(number);
            }
        }
    }

    fn install() {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zero is a value of each of its fields.
        let action = unsafe { action.assume_init_mut() };
        action.sa_sigaction = answer as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the action is initialised and outlives the call. The handler is not async-signal-safe; the process
        // aborts soon, and does so even if the handler never returns.
        unsafe { libc::sigaction(number(), action, ptr::null_mut()) };
    }

    fn number() -> c_int {
        libc::SIGRTMIN() + 5
    }

    extern "C" fn answer(_signal: c_int) {
        say(&format!("{}\n", Backtrace::force_capture()));
        ANSWERS.fetch_add(1, Ordering::SeqCst);
    }

    #[expect(clippy::disallowed_methods, reason = "a thread may never answer")]
    fn ask(thread: pid_t) {
        let before = ANSWERS.load(Ordering::SeqCst);
        // SAFETY: has no conditions.
        let process = unsafe { libc::getpid() };
        // SAFETY: a thread that has ended is an error; one of another process is not reached.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, number()) };
        for _ in 0..200 {
            if ANSWERS.load(Ordering::SeqCst) != before {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(5));
        }
        say("(does not answer)\n");
    }

    fn say(text: &str) {
        let _ = stderr().write_all(text.as_bytes());
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! Not available on this system.

    pub(super) fn print_all() {}
}
