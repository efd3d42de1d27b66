//! Restricts a process to some of its CPUs, to see what it does with fewer.

use crate::system;
use std::io;

/// Restricts this process to the first CPUs of those it may use, in the order of their numbers.
///
/// Call it first in a program: threads inherit the restriction when they start, those that run
/// already keep theirs. Hardware threads of one core may be neighbours in that order.
///
/// # Errors
/// [`PinError`] says what is not possible; then nothing has changed.
///
/// # Examples
/// ```
/// use manyhands_lab::machine::{PinError, pin_to};
/// use std::thread::available_parallelism;
///
/// match pin_to(1) {
///     Ok(()) => assert_eq!(available_parallelism()?.get(), 1),
///     Err(PinError::NotSupported) => {}
///     Err(error) => return Err(error.into()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pin_to(cpus: usize) -> Result<(), PinError> {
    let allowed = system::allowed_cpus().ok_or(PinError::NotSupported)?;
    system::allow_cpus(first(&allowed, cpus)?).map_err(PinError::Refused)
}

fn first(allowed: &[usize], cpus: usize) -> Result<&[usize], PinError> {
    let too_many = PinError::TooMany {
        asked: cpus,
        allowed: allowed.len(),
    };
    match cpus {
        0 => Err(PinError::NoCpu),
        _ => allowed.get(..cpus).ok_or(too_many),
    }
}

/// Why a process could not be restricted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// A process needs at least one CPU.
    #[error("cannot run on no CPU at all")]
    NoCpu,
    /// More CPUs than this process may use.
    #[error("cannot use {asked} CPUs, this process may use {allowed}")]
    TooMany {
        /// CPUs asked for.
        asked: usize,
        /// CPUs it may use.
        allowed: usize,
    },
    /// This system has no such call.
    #[error("this system cannot restrict a process")]
    NotSupported,
    /// The system said no.
    #[error("cannot restrict this process: {0}")]
    Refused(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn the_first_allowed_cpus_are_taken() {
        assert_eq!(first(&[2, 3, 7], 2).unwrap(), [2, 3]);
        assert!(matches!(first(&[2, 3], 0), Err(PinError::NoCpu)));
        let error = first(&[2, 3], 3).unwrap_err();
        let expected = "cannot use 3 CPUs, this process may use 2";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn threads_started_later_are_restricted_too() {
        let seen = thread::spawn(|| {
            pin_to(1).ok()?;
            let count = || system::allowed_cpus().map(|cpus| cpus.len());
            thread::spawn(count)
                .join()
                .expect("counting does not panic")
        });
        let seen = seen.join().expect("pinning does not panic");
        let expected = system::allowed_cpus().map(|_| 1);
        assert_eq!(seen, expected);
    }
}
