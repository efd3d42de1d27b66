//! `fleet serve`: the server, and the `nats-server` that it starts.

use super::{Complaints, DATABASE, FOLDER, Key, PORT, Program, beside::beside, say};
use crate::{
    FleetError,
    engine::{
        Address, Nats,
        nats_server::{self, NatsServer},
    },
    server::{Database, Server},
    time::pause,
};
use clap::Args;
use manyhands_lab::run::Interrupt;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Options of the server.
#[derive(Debug, PartialEq, Args)]
pub struct Serve {
    /// Folder for the results and for nats-server's files
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Port of the nats-server that is started, on loopback only
    #[arg(long, value_name = "N", default_value_t = PORT, conflicts_with = "join")]
    port: u16,
    /// The program nats-server [default: $NATS_SERVER, or the first on the path]
    #[arg(long, value_name = "FILE", conflicts_with = "join")]
    nats_server: Option<PathBuf>,
    /// Use this NATS server with JetStream, and start none
    #[arg(long, value_name = "URL")]
    join: Option<String>,
    #[command(flatten)]
    key: Key,
    /// Seconds after which a job goes to another agent if its agent is not heard of
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
}

pub(super) fn serve(options: &Serve, program: Program, stop: &Interrupt) -> Result<(), FleetError> {
    fs::create_dir_all(&options.data).map_err(FleetError::file("create", &options.data))?;
    let _lock = lock(&options.data)?;
    let database = Database::open(&options.data.join(DATABASE))?;
    let (address, url, nats) = match &options.join {
        Some(url) => (options.key.address(url)?, url.clone(), None),
        None => {
            let found = nats_server::find(options.nats_server.as_deref())?;
            let folder = options.data.join("nats");
            let nats = NatsServer::start(found, &folder, options.port)?;
            let url = format!("nats://127.0.0.1:{}", options.port);
            (Address::loopback(options.port)?, url, Some(nats))
        }
    };
    let engine = Nats::connect(&address)?;
    let lease = Duration::from_secs(options.lease);
    let mut complaints = Complaints::default();
    say(&format!(
        "The fleet's server is at {url}. Results: {}.",
        options.data.display()
    ))?;
    let mut server = Server::new(&engine, database, (program.experiments)());
    let mut is_prepared = false;
    let body = || {
        server.run(stop, |error| {
            if error.is_none() && is_prepared {
                return Ok(());
            }
            let preparing = engine.prepare(lease);
            // At first there is nothing yet, which is no reason to complain.
            let hidden = !is_prepared;
            is_prepared = preparing.is_ok();
            match (preparing, error) {
                (Err(error), _) => complaints.hear(&error),
                (Ok(()), Some(error)) if !hidden => complaints.hear(error),
                _ => Ok(()),
            }
        })
    };
    let tending = |has_ended: &Interrupt| match nats {
        Some(nats) => tend(nats, has_ended),
        // It ends with the server all the same.
        None => {
            while !has_ended.is_set() {
                pause(TENDING, has_ended);
            }
        }
    };
    beside(
        stop,
        ("the fleet's server", body),
        ("what tends nats-server", tending),
    )
}

/// Keeps a `nats-server` running for as long as it is needed.
fn tend(mut nats: NatsServer, has_ended: &Interrupt) {
    while !has_ended.is_set() {
        // If it cannot be started now, the server complains that it does not answer, and it is tried again.
        let _ = nats.tend();
        pause(TENDING, has_ended);
    }
    nats.stop();
}

/// One server at a time writes a folder.
fn lock(folder: &Path) -> Result<fs::File, FleetError> {
    let path = folder.join("server.lock");
    let file = fs::File::create(&path).map_err(FleetError::file("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(FleetError::FolderInUse {
            path: folder.to_owned(),
        }),
    }
}

const TENDING: Duration = Duration::from_millis(300);
