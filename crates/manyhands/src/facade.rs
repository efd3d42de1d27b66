//! What crates need that offer another library's interface on this one, and nobody else does.
//!
//! Not a part of the public interface: it may change with any release.

use crate::sync::thread_state::{self, Activity};

/// Names a thread of this process, to ask what it does.
///
/// # Examples
/// ```
/// use manyhands::facade::ThreadName;
/// let kept = ThreadName::current().to_bits();
/// assert_ne!(ThreadName::from_bits(kept).is_asleep(), Some(true)); // it asks, so it runs
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadName(u64);

impl ThreadName {
    /// The calling thread's.
    ///
    /// Example: see [`ThreadName`].
    pub fn current() -> Self {
        Self(thread_state::current_thread())
    }

    /// The name as a number, to be kept in an atomic.
    ///
    /// Example: see [`ThreadName`].
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The name that [`to_bits`](Self::to_bits) has returned; 0 names no thread.
    ///
    /// Example: see [`ThreadName`].
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether the thread sleeps in the kernel, rather than running or waiting for a processor. `None` where the
    /// system does not say so, or there is no such thread.
    ///
    /// Example: see [`ThreadName`].
    ///
    /// # Cost
    /// Some microseconds: a file is read.
    pub fn is_asleep(self) -> Option<bool> {
        let activity = thread_state::activity(self.0)?;
        Some(activity == Activity::Asleep)
    }
}

#[cfg(all(test, target_os = "linux", not(miri), not(loom), not(shuttle)))]
mod tests {
    use super::ThreadName;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_thread_that_waits_is_asleep_and_one_that_asks_is_not() {
        let (sender, names) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let waiting = thread::spawn(move || {
            sender.send(ThreadName::current()).unwrap();
            gate.recv().unwrap();
        });
        let name = names.recv().unwrap();
        while name.is_asleep() != Some(true) {
            assert!(!waiting.is_finished());
            thread::yield_now();
        }
        assert_eq!(ThreadName::current().is_asleep(), Some(false));
        assert_eq!(ThreadName::from_bits(name.to_bits()), name);
        go.send(()).unwrap();
        waiting.join().unwrap();
        assert_eq!(ThreadName::from_bits(0).is_asleep(), None);
    }
}
