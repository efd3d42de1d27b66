//! A worker for drivers on other machines: it hears of them through a NATS server.

use super::serve::{self, End, Input, Link, Serving};
use crate::{
    build_id,
    engine::nats::{Connection, DRIVER, WORKER},
    wire::{FromWorker, ToWorker},
};
use std::{
    sync::mpsc::{self, Receiver},
    time::Duration,
};

/// Works for all drivers of this build, until the process is ended.
pub(crate) fn serve(address: &str) -> ! {
    let end = match begin(address) {
        Ok((serving, from)) => serving.serve(&from),
        Err(end) => end,
    };
    serve::exit(end)
}

fn begin(address: &str) -> Result<(Serving<Connection>, Receiver<Input>), End> {
    let build = build_id::of_this_program()?;
    let connection = Connection::open(address, &build)?;
    let (to, from) = mpsc::channel();
    let (of_driver, of_message) = (to.clone(), to.clone());
    // If the main thread has ended, so has the process.
    connection.hear(WORKER, move |driver, messages: Vec<ToWorker>| {
        drop(of_message.send(Input::Heard(driver, messages)));
    })?;
    connection.hear_drivers(move |driver| drop(of_driver.send(Input::Driver(driver))))?;
    Ok((Serving::new(connection, to)?, from))
}

impl Link for Connection {
    const SILENCE_MAX: Option<Duration> = Some(Duration::from_secs(10));

    fn say(&mut self, driver: &str, message: &FromWorker) -> Result<(), End> {
        Self::say(self, DRIVER, driver, message);
        Ok(())
    }

    fn refused(&mut self, _: String) -> Result<(), End> {
        // Another driver may have work.
        Ok(())
    }
}
