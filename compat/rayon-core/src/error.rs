//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a pool could not be built. Where the system has refused a thread, its [`source`](Error::source) says why.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Fault);

#[derive(Debug)]
enum Fault {
    AlreadyInitialized,
    AlreadyInPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn already_initialized() -> Self {
        Self(Fault::AlreadyInitialized)
    }

    pub(crate) fn already_in_pool() -> Self {
        Self(Fault::AlreadyInPool)
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self(Fault::Io(error))
    }
}

// The sentences are the original's, which programs compare.
impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::AlreadyInitialized => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Fault::AlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Fault::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Fault::AlreadyInitialized | Fault::AlreadyInPool => None,
            Fault::Io(error) => Some(error),
        }
    }
}
