//! The tokio context: what a runtime built with tokio puts around its threads.
//!
//! Not here: polling the I/O driver (`poller.rs`, `tokio`).

#[cfg(feature = "tokio")]
use crate::integrations::tokio_driver::{self, Driver};
use crate::sync::Reactor;
use std::io;
#[cfg(feature = "tokio")]
use tokio::runtime::{EnterGuard, Handle};

/// What a runtime puts around its threads.
#[derive(Debug, Clone, Default)]
pub(crate) enum TokioContext {
    #[default]
    Nothing,
    /// The tokio of this process, once it is started.
    #[cfg(feature = "tokio")]
    OwnTokio(Option<&'static Driver>),
    #[cfg(feature = "tokio")]
    Tokio(Handle),
}

/// The calling thread is inside the context until this is dropped.
#[cfg(feature = "tokio")]
pub(crate) type TokioContextGuard<'context> = Option<EnterGuard<'context>>;
/// Without tokio nothing is entered.
#[cfg(not(feature = "tokio"))]
pub(crate) type TokioContextGuard<'context> = Option<&'context TokioContext>;

impl TokioContext {
    /// Starts this process's tokio if the context needs it.
    pub(crate) fn start(self) -> io::Result<Self> {
        match self {
            #[cfg(feature = "tokio")]
            Self::OwnTokio(_) => tokio_driver::driver().map(|driver| Self::OwnTokio(Some(driver))),
            other => Ok(other),
        }
    }

    /// The I/O driver, where workers may poll it.
    pub(crate) fn reactor(&self) -> Option<&'static dyn Reactor> {
        match self {
            #[cfg(feature = "tokio")]
            Self::OwnTokio(driver) => driver.map(|driver| driver as &dyn Reactor),
            #[cfg(feature = "tokio")]
            Self::Tokio(_) => None,
            Self::Nothing => None,
        }
    }

    /// Puts the context around the calling thread, unless that is ending and can have none any more.
    pub(crate) fn enter(&self) -> TokioContextGuard<'_> {
        match self {
            #[cfg(feature = "tokio")]
            Self::Tokio(handle) => tokio_driver::enter(handle),
            #[cfg(feature = "tokio")]
            Self::OwnTokio(driver) => driver.and_then(Driver::enter),
            Self::Nothing => None,
        }
    }
}
