//! Threads that wait for a lock which is not of this library: of the standard library, parking_lot or pthread.
//!
//! The program does not record such waits. They are known by the names of the innermost functions of a stack: a wait in the
//! system, in it or around it a function that takes a lock or waits for a condition, and around that the program's own code.
//! Where that is manyhands, the thread sleeps for want of work or waits for something that is recorded.
//!
//! Not here: which code is whose (`folding.rs`).

use super::folding::{FrameKind, crate_of};
use super::{Frame, Stacks, ThreadStack};
use serde::Serialize;

/// A thread that waits for such a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct LockWait {
    /// The number of its runtime.
    pub(crate) runtime: u32,
    /// Its number among the workers.
    pub(crate) worker: Option<usize>,
    /// The system's number of it.
    pub(crate) thread: i32,
    /// For what, such as `a mutex of std`.
    pub(crate) waits_for: String,
}

impl ThreadStack {
    /// The lock of another crate that the thread waits for, such as `a mutex of std`; none if it does not wait for one.
    /// Known by the names of its innermost functions.
    ///
    /// # Examples
    /// ```
    /// use manyhands_inspect::stacks::{Frame, FrameKind, ThreadStack};
    ///
    /// let frame = |function: &str, kind| Frame {
    ///     function: function.to_owned(),
    ///     file: None,
    ///     line: None,
    ///     module: "office".to_owned(),
    ///     inlined: false,
    ///     kind,
    /// };
    /// let thread = ThreadStack {
    ///     runtime: 1,
    ///     worker: Some(0),
    ///     thread: 70,
    ///     name: "office".to_owned(),
    ///     state: "running".to_owned(),
    ///     task_spawned_at: None,
    ///     missing: None,
    ///     frames: vec![
    ///         frame("syscall", FrameKind::System),
    ///         frame("std::sys::sync::mutex::futex::Mutex::lock_contended", FrameKind::System),
    ///         frame("office::file", FrameKind::Program),
    ///     ],
    ///     cut: false,
    /// };
    /// assert_eq!(thread.waits_for_lock().as_deref(), Some("a mutex of std"));
    /// ```
    #[must_use]
    pub fn waits_for_lock(&self) -> Option<String> {
        lock_of(&self.frames)
    }
}

impl Stacks {
    /// The threads that wait for locks of other crates.
    pub(crate) fn lock_waits(&self) -> Vec<LockWait> {
        let wait = |thread: &ThreadStack| {
            Some(LockWait {
                runtime: thread.runtime,
                worker: thread.worker,
                thread: thread.thread,
                waits_for: thread.waits_for_lock()?,
            })
        };
        self.threads.iter().filter_map(wait).collect()
    }
}

/// What a stack, the innermost function first, waits for.
fn lock_of(frames: &[Frame]) -> Option<String> {
    let inner = frames.iter().take_while(|frame| is_inside(frame));
    let count = inner.clone().count();
    // Code that is not known, of a stack that was cut, may be manyhands' own.
    let caller = frames.get(count)?;
    let (depth, lock) = inner
        .enumerate()
        .find_map(|(depth, frame)| Some((depth, lock_taken_by(frame)?)))?;
    let waits = match lock.owner {
        // Functions inside it have no names in libc's table. To take a lock that is free, it calls none.
        "pthread" => depth > 0 || lock.what == CONDITION,
        _ => frames[..depth].iter().any(is_wait_of_system),
    };
    let is_other_s = caller.kind == FrameKind::Program;
    (waits && is_other_s).then(|| format!("{} of {}", lock.what, lock.owner))
}

/// Whether a frame is of the system or of a crate of locks.
fn is_inside(frame: &Frame) -> bool {
    frame.kind == FrameKind::System || LOCK_CRATES.contains(&crate_name(&frame.function))
}

fn crate_name(function: &str) -> &str {
    crate_of(function).unwrap_or_default()
}

/// Whether a thread sleeps there until another one wakes it.
fn is_wait_of_system(frame: &Frame) -> bool {
    let name = frame.function.rsplit("::").next().unwrap_or_default();
    name == "syscall" || (name.contains("futex") && name.contains("wait"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lock {
    what: &'static str,
    owner: &'static str,
}

/// The lock that a function takes, if it is one that does.
fn lock_taken_by(frame: &Frame) -> Option<Lock> {
    let function = frame.function.as_str();
    match crate_name(function) {
        "std" => lock_of_path(function, "std"),
        "parking_lot" => lock_of_path(function, "parking_lot"),
        "" => lock_of_pthread(function),
        _ => None,
    }
}

/// By the type and the method of a path such as `std::sync::poison::mutex::Mutex<T>::lock`.
fn lock_of_path(function: &str, owner: &'static str) -> Option<Lock> {
    // What the type is of, behind the next bracket, may be called after anything.
    let path = function.trim_start_matches('<');
    let path = path.split(['<', '>', ' ']).next().unwrap_or_default();
    let path = path.to_lowercase();
    let of_type = [
        ("mutex", "a mutex"),
        ("rwlock", "a read-write lock"),
        ("condvar", CONDITION),
        ("::once", "a once"),
    ];
    let (_, what) = of_type.into_iter().find(|(part, _)| path.contains(part))?;
    let mut names = function.rsplit("::");
    let method = names
        .find(|name| !name.starts_with('{'))
        .unwrap_or_default();
    let takes = ["lock", "read", "write", "wait", "call"];
    let is_taken = takes.iter().any(|begin| method.starts_with(begin));
    is_taken.then_some(Lock { what, owner })
}

fn lock_of_pthread(function: &str) -> Option<Lock> {
    let name = function.trim_start_matches('_');
    let of_name = [
        ("pthread_mutex_", "lock", "a mutex"),
        ("pthread_rwlock_", "lock", "a read-write lock"),
        ("pthread_cond_", "wait", CONDITION),
    ];
    let is_it = |&(begin, verb, _): &(&str, &str, _)| {
        let method = name.strip_prefix(begin);
        method.is_some_and(|method| method.contains(verb) && !method.contains("unlock"))
    };
    let (_, _, what) = of_name.into_iter().find(is_it)?;
    Some(Lock {
        what,
        owner: "pthread",
    })
}

const CONDITION: &str = "a condition variable";
/// Crates whose frames are between the wait in the system and the code that wants the lock.
const LOCK_CRATES: [&str; 3] = ["parking_lot", "parking_lot_core", "lock_api"];

#[cfg(test)]
mod tests {
    use super::lock_of;
    use crate::stacks::Frame;
    use crate::stacks::folding::kind_of;

    /// The innermost function first; behind `@` the file that it is in.
    fn frames(functions: &[&str]) -> Vec<Frame> {
        let frame = |function: &&str| {
            let (function, module) = function.split_once('@').unwrap_or((function, "office"));
            Frame {
                function: function.to_owned(),
                file: None,
                line: None,
                module: module.to_owned(),
                inlined: false,
                kind: kind_of(function, module),
            }
        };
        functions.iter().map(frame).collect()
    }

    fn assert_waits(functions: &[&str], expected: &str) {
        let found = lock_of(&frames(functions));
        assert_eq!(found.as_deref(), Some(expected), "{functions:?}");
    }

    /// Innermost in a stack that waits for a mutex of the standard library.
    const CONTENDED: &str = "std::sys::sync::mutex::futex::Mutex::lock_contended";
    const SYSCALL: &str = "syscall@libc.so.6";

    #[test]
    fn a_wait_for_a_mutex_of_the_standard_library_is_known_with_all_functions_and_with_few() {
        let waits = "std::sys::pal::unix::futex::futex_wait";
        let lock = "std::sync::poison::mutex::Mutex<office::Shelf>::lock";
        let generic = "<std::sync::poison::mutex::Mutex<office::Shelf>>::lock";
        for functions in [
            &[SYSCALL, CONTENDED, lock, "office::file"][..],
            &[SYSCALL, waits, CONTENDED, generic, "office::file"],
            // The C library has no names here.
            &["0x101827@libc.so.6", waits, CONTENDED, "office::file"],
            // Inlined by the compiler.
            &[SYSCALL, CONTENDED, "office::file"],
        ] {
            assert_waits(functions, "a mutex of std");
        }
    }

    #[test]
    fn locks_are_distinguished_by_the_functions_that_wait_for_them() {
        for (function, expected) in [
            (
                "std::sys::sync::rwlock::futex::RwLock::read_contended",
                "a read-write lock of std",
            ),
            (
                "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout",
                "a condition variable of std",
            ),
            ("std::sys::sync::once::futex::Once::call", "a once of std"),
            (
                "parking_lot::raw_mutex::RawMutex::lock_slow",
                "a mutex of parking_lot",
            ),
            (
                "parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow",
                "a read-write lock of parking_lot",
            ),
            (
                "parking_lot::condvar::Condvar::wait_until_internal::{{closure}}",
                "a condition variable of parking_lot",
            ),
            ("pthread_mutex_lock@libc.so.6", "a mutex of pthread"),
            ("___pthread_mutex_lock@libc.so.6", "a mutex of pthread"),
            (
                "pthread_rwlock_wrlock@libc.so.6",
                "a read-write lock of pthread",
            ),
            (
                "pthread_cond_timedwait@libc.so.6",
                "a condition variable of pthread",
            ),
        ] {
            assert_waits(&[SYSCALL, function, "office::file"], expected);
        }
        // Without a name, or without a call.
        let foreign = "sqlite3_step@libsqlite3.so.0";
        let unnamed = ["0x86b30@libc.so.6", "pthread_mutex_lock@libc.so.6", foreign];
        assert_waits(&unnamed, "a mutex of pthread");
        let condition = ["pthread_cond_wait@libc.so.6", foreign];
        assert_waits(&condition, "a condition variable of pthread");
        let parked = [
            SYSCALL,
            "parking_lot_core::thread_parker::imp::ThreadParker::futex_wait",
            "parking_lot_core::parking_lot::park::{{closure}}",
            "parking_lot::raw_mutex::RawMutex::lock_slow",
            "lock_api::mutex::Mutex<R,T>::lock",
            "office::file",
        ];
        assert_waits(&parked, "a mutex of parking_lot");
    }

    #[test]
    fn own_waits_waits_for_other_things_and_locks_that_are_taken_at_once_are_none() {
        for functions in [
            &[][..],
            &["office::file"],
            &["read@libc.so.6", "std::fs::read", "office::file"],
            // The library's own.
            &[SYSCALL, "manyhands::sync::park", "office::file"],
            &[
                SYSCALL,
                CONTENDED,
                "manyhands::diagnostics::open",
                "office::file",
            ],
            &[
                SYSCALL,
                "std::sys::sync::condvar::futex::Condvar::wait",
                "std::sync::poison::condvar::Condvar::wait",
                "manyhands::channel::recv",
                "office::file",
            ],
            // Nobody is known to want it.
            &[SYSCALL, CONTENDED],
            // It wakes another one.
            &[
                SYSCALL,
                "std::sys::sync::mutex::futex::Mutex::wake",
                "core::ptr::drop_in_place<std::sync::MutexGuard<u8>>",
                "office::file",
            ],
            &[
                SYSCALL,
                "parking_lot::raw_mutex::RawMutex::unlock_slow",
                "office::file",
            ],
            &[
                "0x1@libc.so.6",
                "pthread_mutex_unlock@libc.so.6",
                "office::file",
            ],
            &[
                "0x1@libc.so.6",
                "pthread_cond_signal@libc.so.6",
                "office::file",
            ],
            // It takes it without a wait.
            &[CONTENDED, "office::file"],
            &[
                "core::sync::atomic::AtomicU32::compare_exchange",
                "std::sync::poison::mutex::Mutex<T>::lock",
                "office::file",
            ],
            &["pthread_mutex_lock@libc.so.6", "office::file"],
            // Other waits of the standard library.
            &[SYSCALL, "std::thread::park", "office::file"],
            &["0x1@libc.so.6", "pthread_join@libc.so.6", "office::file"],
            // What is called after a lock is none by that.
            &[
                SYSCALL,
                "std::thread::local::LocalKey<std::sync::Mutex<u8>>::lock",
                "office::file",
            ],
            // It has the lock, and waits for something else.
            &[
                SYSCALL,
                "std::thread::park",
                "office::x",
                CONTENDED,
                "office::y",
            ],
        ] {
            assert_eq!(lock_of(&frames(functions)), None, "{functions:?}");
        }
    }
}
