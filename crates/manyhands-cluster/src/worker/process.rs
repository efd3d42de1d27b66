//! A worker process of a driver on this machine: its connection is its standard input.
//!
//! Its reader ends the process with the connection: when the driver has ended, however it did, nobody wants what runs here.
//!
//! Programs that a body starts inherit the variable that makes a process a worker. So it names the connection, which they do
//! not have.

use super::{
    begins_to_work,
    serve::{self, End, Input, Link, Serving, hear_one},
};
use crate::wire::{self, FromWorker, WireError};
use manyhands::Runtime;
use nix::sys::stat::fstat;
use std::{
    env,
    fs::File,
    io::{self, BufReader},
    iter,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

/// Set for a worker process: how many threads its pool has, and the number of the socket that is its standard input.
pub(crate) const ROLE: &str = "MANYHANDS_CLUSTER_WORKER";

/// What the variable says to a worker with this connection.
pub(crate) fn role_of(threads: usize, connection: &UnixStream) -> io::Result<String> {
    Ok(format!("{threads} {}", number(connection)?))
}

/// How many threads the worker has that this process was started as; `None` if it was started as something else.
pub(crate) fn role() -> Option<usize> {
    let role = env::var(ROLE).ok()?;
    let (threads, connection) = role.split_once(' ')?;
    let is_ours = connection.parse() == Ok(number(&io::stdin()).ok()?);
    is_ours.then(|| threads.parse().ok())?
}

/// What the system tells a socket apart by.
fn number(file: &impl AsFd) -> io::Result<u64> {
    Ok(fstat(file)?.st_ino)
}

/// Works until the driver has gone.
pub(crate) fn serve(threads: usize) -> ! {
    begins_to_work();
    let end = match begin(threads) {
        Ok((serving, from)) => serving.serve(&from),
        Err(end) => end,
    };
    serve::exit(end)
}

fn begin(threads: usize) -> Result<(Serving<Socket>, Receiver<Input>), End> {
    let connection = UnixStream::from(take_stdin()?);
    let pool = Runtime::builder().workers(threads.max(1)).build_default();
    pool.map_err(|error| End::Failed(error.to_string()))?;
    let (to, from) = mpsc::channel();
    let reading = connection.try_clone()?;
    let serving = Serving::new(Socket(connection), to.clone(), None)?;
    let reader = thread::Builder::new().name("cluster reads".to_owned());
    reader.spawn(move || read(reading, &to))?;
    Ok((serving, from))
}

/// The standard input; what this program reads from its own from now on is nothing.
pub(super) fn take_stdin() -> io::Result<OwnedFd> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(stdin)
}

#[expect(clippy::exit, reason = "what runs here is for a driver that has gone")]
fn read(connection: UnixStream, to_main: &Sender<Input>) {
    let mut buffered = BufReader::new(connection);
    let said = iter::from_fn(|| wire::read(&mut buffered).ok().flatten());
    hear_one(said, to_main);
    process::exit(0)
}

struct Socket(UnixStream);

impl Link for Socket {
    const SILENCE_MAX: Option<Duration> = None;

    fn say(&mut self, _: &str, message: &FromWorker) -> Result<(), End> {
        wire::write(&mut self.0, message).map_err(|error| match error {
            WireError::Connection(_) => End::DriverGone,
            error => End::Failed(error.to_string()),
        })
    }

    fn refused(&mut self, reason: String) -> Result<(), End> {
        Err(End::Failed(reason))
    }
}
