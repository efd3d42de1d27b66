//! A worker for drivers on other machines: it hears of them through a NATS server.
//!
//! A process that is started as one keeps one: it starts the same program again, which works, and puts another one in its place
//! when that dies. The new one tells drivers whose place it has, so they know that it was a death and not a silence. The one that
//! works ends when its standard input does, and so with its keeper.

#[cfg(unix)]
use super::process::take_stdin;
use super::{
    begins_to_work,
    serve::{self, End, Input, Link, Serving, say_once},
};
use crate::{
    build_id,
    engine::nats::{BEAT, Connection, DRIVER, Messages, WORKER, WORKERS, apart},
    wire::FromWorker,
};
use manyhands::time;
use std::{
    env, io,
    process::{self, Stdio},
    sync::{
        Once,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// Works for all drivers of this build, until the process is ended.
pub(crate) fn serve(address: &str) -> ! {
    let end = apart(|| {
        Ok(match env::var(KEPT) {
            Ok(name) => match begin(address, &name) {
                Ok((serving, from)) => serving.serve(&from),
                Err(end) => end,
            },
            Err(_) => keep(address).unwrap_or_else(|end| end),
        })
    });
    serve::exit(end.unwrap_or_else(End::from))
}

/// Keeps a worker running.
fn keep(address: &str) -> Result<End, End> {
    // What is wrong with the address or the keys is said here, once.
    let name = Connection::open(address, "", None)?.into_name();
    for number in 0_u64.. {
        let mut worker = build_id::again()?
            .env(KEPT, format!("{name}.{number}"))
            .stdin(Stdio::piped())
            .spawn()?;
        let stdin = worker.stdin.take();
        worker.wait()?;
        drop(stdin);
        // One that cannot begin says why, and tries again twice a second.
        time::sleep_blocking(BEAT);
    }
    Ok(End::DriverGone)
}

fn begin(address: &str, name: &str) -> Result<(Serving<Connection>, Receiver<Input>), End> {
    begins_to_work();
    #[cfg(unix)]
    let stdin = std::fs::File::from(take_stdin()?);
    #[cfg(not(unix))]
    let stdin = io::stdin();
    thread::Builder::new()
        .name("cluster keeper".to_owned())
        .spawn(move || end_with_keeper(stdin))?;
    let build = build_id::of_this_program()?;
    let own = name.replace('.', "-");
    let connection = Connection::open(address, &build, Some(own.clone()))?;
    let (to, from) = mpsc::channel();
    let (of_driver, of_message) = (to.clone(), to.clone());
    // If the main thread has ended, so has the process.
    let hear = move |driver, messages: Option<Messages<String>>, place| {
        let is_for_this = |to: &Option<Vec<String>>| to.as_ref().is_none_or(|to| to.contains(&own));
        let messages = messages.filter(|(to, _)| is_for_this(to));
        let messages = messages.map_or_else(Vec::new, |(_, messages)| messages);
        drop(of_message.send(Input::Carried(driver, messages, place)));
    };
    connection.hear(WORKER, Some(WORKERS), hear)?;
    connection.hear_drivers(move |driver, place| {
        drop(of_driver.send(Input::Carried(driver, Vec::new(), place)));
    })?;
    Ok((Serving::new(connection, to, predecessor(name))?, from))
}

/// The name of the worker that was here before.
fn predecessor(name: &str) -> Option<String> {
    let (keeper, number) = name.rsplit_once('.')?;
    let before = number.parse::<u64>().ok()?.checked_sub(1)?;
    Some(format!("{keeper}-{before}"))
}

#[expect(clippy::exit, reason = "who kept this process has gone")]
fn end_with_keeper(mut stdin: impl io::Read) {
    // Nothing is ever written there.
    let _ = io::copy(&mut stdin, &mut io::sink());
    process::exit(0)
}

impl Link for Connection {
    const SILENCE_MAX: Option<Duration> = Some(Duration::from_secs(10));

    fn say(&mut self, driver: &str, message: &FromWorker) -> Result<(), End> {
        match message {
            FromWorker::Beat { .. } => self.say_first(DRIVER, driver, message),
            _ => Self::say(self, DRIVER, driver, message),
        }
        Ok(())
    }

    fn refused(&mut self, reason: String) -> Result<(), End> {
        static IS_SAID: Once = Once::new();
        // Another driver may have work, and this one later.
        let plain: String = reason.chars().take(200).collect();
        say_once(&IS_SAID, &plain.escape_debug().to_string());
        Ok(())
    }
}

/// Set for a worker that is kept: its keeper's name, and how many were there before it.
const KEPT: &str = "MANYHANDS_CLUSTER_KEPT";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_worker_of_a_keeper_is_in_nobodys_place() {
        assert_eq!(predecessor("a.0"), None);
        assert_eq!(predecessor("a.10"), Some("a-9".to_owned()));
        assert_eq!(predecessor("a"), None);
    }
}
