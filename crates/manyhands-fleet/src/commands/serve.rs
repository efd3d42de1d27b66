//! `fleet serve`: the server, and the `nats-server` that it starts.

use super::{
    Complaints, DATABASE, FOLDER, Key, NATS, PORT, Program, SERVER_KEY, beside::beside, remark,
};
use crate::{
    FleetError,
    engine::{
        Address, Guarded, Keys, Nats, Opens, User,
        nats_server::{self, NatsServer},
    },
    enrol,
    file_lock::FileLock,
    server::{Database, KeyRow, Server},
    time::pause,
};
use clap::Args;
use manyhands_lab::{console::Printing, run::Interrupt};
use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
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
    #[command(flatten)]
    guard: Guard,
    /// Use this NATS server with JetStream, and start none
    #[arg(long, value_name = "URL")]
    join: Option<String>,
    #[command(flatten)]
    key: Key,
    /// Seconds after which a job goes to another agent if its agent is not heard of
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
}

/// Whom the `nats-server` that is started lets in, and from where.
#[derive(Debug, PartialEq, Args)]
struct Guard {
    /// Let in only keys that 'fleet key token' and 'fleet enrol' have brought, also on this machine
    #[arg(long, conflicts_with = "join")]
    keys: bool,
    /// Address on which other machines reach it, with --keys and a certificate
    #[arg(long, value_name = "IP", requires = "host")]
    listen: Option<IpAddr>,
    /// Name that is in the certificate
    #[arg(long, value_name = "NAME", requires = "certificate")]
    host: Option<String>,
    /// File with the certificate of the nats-server that is started
    #[arg(long, value_name = "FILE", requires = "certificate_key")]
    certificate: Option<PathBuf>,
    /// File with the key of the certificate
    #[arg(long, value_name = "FILE", requires = "keys")]
    certificate_key: Option<PathBuf>,
}

impl Guard {
    /// Where the `nats-server` of a folder is for this program, and whom it lets in.
    fn address(
        &self,
        options: &Serve,
        folder: &Path,
    ) -> Result<(String, Address, Option<Guarded>), FleetError> {
        let port = options.port;
        let url = match &self.host {
            Some(host) => format!("tls://{host}:{port}"),
            None => format!("nats://127.0.0.1:{port}"),
        };
        if !self.keys {
            let address = Address::parse(&url, &Keys::default())?;
            return Ok((url, address, None));
        }
        let seed = folder.join(SERVER_KEY);
        let key = enrol::key_in(&seed)?;
        let keys = Keys {
            nkey: Some(seed),
            root: options.key.root.clone(),
            ..Keys::default()
        };
        let address = Address::parse(&url, &keys)?;
        let absolute =
            |path: &PathBuf| fs::canonicalize(path).map_err(FleetError::file("find", path));
        let certificate = self.certificate.as_ref().map(absolute).transpose()?;
        let certificate_key = self.certificate_key.as_ref().map(absolute).transpose()?;
        let guarded = Guarded {
            ip: self.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            certificate: certificate.zip(certificate_key),
            server: key.public_key(),
            users: users(&options.data.join(DATABASE))?,
        };
        Ok((url, address, Some(guarded)))
    }
}

pub(super) fn serve(options: &Serve, program: Program, stop: &Interrupt) -> Result<(), FleetError> {
    fs::create_dir_all(&options.data).map_err(FleetError::file("create", &options.data))?;
    let _lock = lock(&options.data)?;
    let database = Database::open(&options.data.join(DATABASE))?;
    let mut own_key = None;
    let (address, url, nats) = match &options.join {
        Some(url) => (options.key.address(url)?, url.clone(), None),
        None => {
            let found = nats_server::find(options.nats_server.as_deref())?;
            let folder = options.data.join(NATS);
            fs::create_dir_all(&folder).map_err(FleetError::file("create", &folder))?;
            let (url, address, guarded) = options.guard.address(options, &folder)?;
            own_key = guarded.as_ref().map(|guarded| guarded.server.clone());
            let nats = NatsServer::start(found, &folder, options.port, guarded, &address)?;
            (address, url, Some(nats))
        }
    };
    let engine = Nats::connect(&address)?;
    let lease = Duration::from_secs(options.lease);
    let printing = program.printing;
    let mut complaints = Complaints::new(printing);
    let data = options.data.display();
    remark(
        printing,
        &format!("The fleet's server is at {url}. Results: {data}."),
    )?;
    let server = Server::new(&engine, database, (program.experiments)());
    let mut server = server.with_key(own_key);
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
    let file = options.data.join(DATABASE);
    let tending = |has_ended: &Interrupt| tend(nats, &file, printing, has_ended);
    beside(
        stop,
        ("the fleet's server", body),
        ("what tends nats-server", tending),
    )
}

/// Keeps a `nats-server`, if there is one, running for as long as it is needed, and then ends it.
pub(super) fn tend(
    nats: Option<NatsServer>,
    database: &Path,
    printing: Printing,
    has_ended: &Interrupt,
) {
    let Some(mut nats) = nats else {
        // This ends with the server all the same.
        while !has_ended.is_set() {
            pause(TENDING, has_ended);
        }
        return;
    };
    let mut complaints = Complaints::new(printing);
    while !has_ended.is_set() {
        let tended = nats.tend();
        let known = users(database).and_then(|users| nats.know(users));
        for error in [tended, known].into_iter().filter_map(Result::err) {
            // Standard output may be gone; it is tried again all the same.
            let _ = complaints.hear(&error);
        }
        pause(TENDING, has_ended);
    }
    nats.stop();
}

/// Whose keys are good now.
fn users(database: &Path) -> Result<Vec<User>, FleetError> {
    let keys = Database::open_to_read(database)?.valid_keys()?.into_iter();
    let user = |key: KeyRow| {
        let opens = match key.is_token {
            true => Opens::Enrolment,
            // An earlier version took names that are none; such a key opens nothing any more.
            false => Opens::Agent(key.name.parse().ok()?),
        };
        Some(User {
            public: key.public,
            opens,
        })
    };
    Ok(keys.filter_map(user).collect())
}

/// One server at a time writes a folder.
fn lock(folder: &Path) -> Result<FileLock, FleetError> {
    let path = folder.join("server.lock");
    let file = fs::File::create(&path).map_err(FleetError::file("create", &path))?;
    FileLock::try_of(file, &path)?.ok_or_else(|| FleetError::FolderInUse {
        path: folder.to_owned(),
    })
}

const TENDING: Duration = Duration::from_millis(300);
