//! The tokio context: what a runtime built with tokio puts around its threads.
//!
//! Not here: polling the I/O driver (`poller.rs`, `tokio`).

#[cfg(feature = "tokio")]
use crate::integrations::tokio_driver::Driver;
#[cfg(feature = "tokio")]
use crate::runtime::Builder;
use crate::sync::Reactor;
use std::io;
use std::marker::PhantomData;
#[cfg(feature = "tokio")]
use tokio::runtime::{EnterGuard as TokioGuard, Handle};

/// What a runtime puts around its threads.
#[derive(Debug, Default)]
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
#[derive(Debug)]
pub(crate) struct TokioContextGuard<'tokio_context> {
    #[cfg(feature = "tokio")]
    _tokio: Option<TokioGuard<'tokio_context>>,
    borrowed: PhantomData<&'tokio_context TokioContext>,
}

impl TokioContext {
    /// Starts this process's tokio if the context needs it.
    #[cfg_attr(
        not(feature = "tokio"),
        expect(clippy::unnecessary_wraps, reason = "nothing has to be started")
    )]
    pub(crate) fn start(self) -> io::Result<Self> {
        match self {
            #[cfg(feature = "tokio")]
            Self::OwnTokio(_) => crate::integrations::tokio_driver::driver()
                .map(|driver| Self::OwnTokio(Some(driver))),
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

    /// Puts the context around the calling thread.
    pub(crate) fn enter(&self) -> TokioContextGuard<'_> {
        TokioContextGuard {
            #[cfg(feature = "tokio")]
            _tokio: match self {
                Self::Tokio(handle) => Some(handle.enter()),
                Self::OwnTokio(driver) => driver.map(|driver| driver.enter()),
                Self::Nothing => None,
            },
            borrowed: PhantomData,
        }
    }
}

#[cfg(feature = "tokio")]
impl Builder {
    /// Puts tokio around every worker, and around every thread while it has [entered](crate::Runtime::enter) the
    /// runtime or is in [`install`](crate::Runtime::install): its sockets and timers work there as they are.
    ///
    /// The workers still run everything; [`tokio_driver`](crate::integrations::tokio_driver) says what tokio does, and what does
    /// not work. Guards of [`enter`](crate::Runtime::enter) must then be dropped in the reverse order of their
    /// making, or tokio panics.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// use tokio::net::{TcpListener, TcpStream};
    ///
    /// let runtime = Runtime::builder().tokio().build().unwrap();
    /// let _entered = runtime.enter();
    /// let greeting = task::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let mut client = TcpStream::connect(listener.local_addr()?).await?;
    ///     task::spawn(async move {
    ///         let (mut stream, _from) = listener.accept().await?;
    ///         stream.write_all(b"hello").await
    ///     });
    ///     let mut greeting = String::new();
    ///     client.read_to_string(&mut greeting).await?;
    ///     Ok::<_, std::io::Error>(greeting)
    /// });
    /// assert_eq!(greeting.unwrap(), "hello");
    /// ```
    #[doc(alias = "enable_all")]
    #[doc(alias = "enable_io")]
    pub fn tokio(mut self) -> Self {
        self.tokio_context = TokioContext::OwnTokio(None);
        self
    }

    /// As [`tokio`](Self::tokio), with a tokio runtime that exists already and that another thread drives, such as
    /// that of `#[tokio::main]`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::time::Duration;
    ///
    /// let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let runtime = Runtime::builder().tokio_handle(tokio.handle().clone()).build().unwrap();
    /// let handle = runtime.install(|| {
    ///     task::spawn(async {
    ///         tokio::time::sleep(Duration::from_millis(5)).await;
    ///         6 * 7
    ///     })
    /// });
    /// assert_eq!(tokio.block_on(handle).unwrap(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tokio_handle(mut self, handle: Handle) -> Self {
        self.tokio_context = TokioContext::Tokio(handle);
        self
    }
}
