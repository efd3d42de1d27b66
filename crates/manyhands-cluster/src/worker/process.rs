//! A worker process of a driver on this machine: its connection is its standard input.
//!
//! Its reader ends the process with the connection: when the driver has ended, however it did, nobody wants what runs here.

use super::serve::{self, End, Input, Link, Serving};
use crate::wire::{self, FromWorker, WireError};
use manyhands::Runtime;
use std::{
    fs::File,
    io::{self, BufReader},
    os::{fd::AsFd, unix::net::UnixStream},
    process,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

/// Set for a worker process: how many threads its pool has.
pub(crate) const ROLE: &str = "MANYHANDS_CLUSTER_WORKER";

/// Works until the driver has gone.
pub(crate) fn serve(threads: &str) -> ! {
    let end = match begin(threads.parse().unwrap_or(1)) {
        Ok((serving, from)) => serving.serve(&from),
        Err(end) => end,
    };
    serve::exit(end)
}

fn begin(threads: usize) -> Result<(Serving<Socket>, Receiver<Input>), End> {
    let connection = connection()?;
    let pool = Runtime::builder().workers(threads.max(1)).build_default();
    pool.map_err(|error| End::Failed(error.to_string()))?;
    let (to, from) = mpsc::channel();
    let reading = connection.try_clone()?;
    let serving = Serving::new(Socket(connection), to.clone(), None)?;
    let reader = thread::Builder::new().name("cluster reads".to_owned());
    reader.spawn(move || read(reading, &to))?;
    Ok((serving, from))
}

/// The connection; what this program reads from its standard input from now on is nothing.
fn connection() -> io::Result<UnixStream> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    Ok(UnixStream::from(stdin))
}

#[expect(clippy::exit, reason = "what runs here is for a driver that has gone")]
fn read(connection: UnixStream, to_main: &Sender<Input>) {
    let mut buffered = BufReader::new(connection);
    let driver = || DRIVER.to_owned();
    let mut is_heard = to_main.send(Input::Driver(driver())).is_ok();
    while is_heard && let Ok(Some(messages)) = wire::read(&mut buffered) {
        is_heard = to_main.send(Input::Heard(driver(), messages)).is_ok();
    }
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

/// There is one.
const DRIVER: &str = "driver";
