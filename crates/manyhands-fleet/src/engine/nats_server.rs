//! A `nats-server` that belongs to a folder: found, started, started again when it has died. It listens on loopback only,
//! or lets in only those whose keys it knows.
//!
//! A server of the fleet that was killed leaves its `nats-server` behind; the next one knows it by its name and uses it. If
//! that is at another address, lets in others, or does not encrypt as it must, the next one ends it and starts another: two would write the same files.

use super::{
    Address, Nats,
    nats_config::{Guarded, User},
};
use crate::{FleetError, time::pause};
use async_nats::ServerInfo;
use manyhands_lab::{clock::Stopwatch, run::Interrupt};
use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// The program `nats-server`: the one given, that of the variable `NATS_SERVER`, or the first on the path.
///
/// # Errors
/// [`FleetError::NoNatsServer`], whose text says how to install it.
///
/// # Examples
/// ```
/// use manyhands_fleet::engine::nats_server::find;
/// use std::path::Path;
///
/// assert_eq!(find(Some(Path::new("here/nats-server")))?, Path::new("here/nats-server"));
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
pub fn find(given: Option<&Path>) -> Result<PathBuf, FleetError> {
    let named = given.map(Path::to_owned);
    let named = named.or_else(|| env::var_os("NATS_SERVER").map(PathBuf::from));
    if let Some(named) = named {
        return Ok(named);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join(PROGRAM));
    programs
        .find(|program| program.is_file())
        .ok_or(FleetError::NoNatsServer)
}

/// A running `nats-server`.
#[derive(Debug)]
pub(crate) struct NatsServer {
    program: PathBuf,
    folder: PathBuf,
    name: String,
    port: u16,
    /// `None` for one that lets in everybody on this machine.
    guarded: Option<Guarded>,
    /// Whether it has not read its configuration since that was changed.
    is_stale: bool,
    /// `None` if another process started it.
    child: Option<Child>,
}

impl NatsServer {
    /// Starts one that keeps its files in this folder, or finds the one that was left there.
    pub(crate) fn start(
        program: PathBuf,
        folder: &Path,
        port: u16,
        guarded: Option<Guarded>,
        address: &Address,
    ) -> Result<Self, FleetError> {
        fs::create_dir_all(folder).map_err(FleetError::file("create", folder))?;
        let mut server = Self {
            program,
            name: name_of(folder)?,
            folder: folder.to_owned(),
            port,
            guarded,
            is_stale: false,
            child: None,
        };
        server.end_one_that_differs()?;
        server.configure()?;
        if server.answers() {
            server.is_stale = true;
        } else {
            server.spawn()?;
        }
        match server.wait(address) {
            Ok(()) => Ok(server),
            Err(error) => {
                if server.child.is_some() {
                    server.stop();
                }
                Err(error)
            }
        }
    }

    /// Ends the one that was left, if it is not as this one must be, and notes the address of this one.
    fn end_one_that_differs(&self) -> Result<(), FleetError> {
        let path = self.folder.join(ADDRESS);
        let noted = fs::read_to_string(&path).unwrap_or_default();
        let own = self.listens_at();
        let before = noted.trim().parse().unwrap_or(own);
        let is_of_use = |found: &ServerInfo| before == own && self.is_like(found);
        if self
            .found_at(before)
            .is_some_and(|found| !is_of_use(&found))
            && !self.ends(|| self.found_at(before).is_none())
        {
            let reason = format!("the one that was left at {before} does not end");
            return Err(FleetError::NatsServer { reason });
        }
        fs::write(&path, own.to_string()).map_err(FleetError::file("write", &path))
    }

    /// Asks the one of this folder to end. Returns whether it has, which is waited for some seconds.
    fn ends(&self, mut has_ended: impl FnMut() -> bool) -> bool {
        // If it cannot be asked, it has not ended in time.
        let _ = self.signal("term");
        let watch = Stopwatch::start();
        while !has_ended() {
            if watch.elapsed() > STOPPING {
                return false;
            }
            pause(STEP, &Interrupt::default());
        }
        true
    }

    /// The one of this folder, if it listens at this address: each says first what it is.
    fn found_at(&self, address: SocketAddr) -> Option<ServerInfo> {
        let stream = TcpStream::connect_timeout(&reached(address), CONNECTING).ok()?;
        stream.set_read_timeout(Some(CONNECTING)).ok()?;
        let mut line = String::new();
        BufReader::new(stream.take(INFO_MAX))
            .read_line(&mut line)
            .ok()?;
        let found: ServerInfo = serde_json::from_str(line.strip_prefix("INFO ")?).ok()?;
        (found.server_name == self.name).then_some(found)
    }

    /// Whether one asks for keys and encrypts as this one must.
    fn is_like(&self, found: &ServerInfo) -> bool {
        let encrypts = |guarded: &Guarded| guarded.certificate.is_some();
        found.auth_required == self.guarded.is_some()
            && found.tls_required == self.guarded.as_ref().is_some_and(encrypts)
    }

    fn listens_at(&self) -> SocketAddr {
        let ip = self.guarded.as_ref().map(|guarded| guarded.ip);
        SocketAddr::from((ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), self.port))
    }

    /// Starts it again if it has died.
    pub(crate) fn tend(&mut self) -> Result<(), FleetError> {
        if let Some(child) = &mut self.child
            && matches!(child.try_wait(), Ok(None))
        {
            return Ok(());
        }
        if self.answers() {
            // The one that a killed server had just started has taken the port.
            self.child = None;
            return Ok(());
        }
        self.spawn()
    }

    /// Asks it to end and waits for that.
    pub(crate) fn stop(mut self) {
        // If it cannot be asked, it is killed below; one that another process started stays for the next server.
        let mut child = self.child.take();
        self.ends(|| {
            let ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
            child.as_mut().is_none_or(ended)
        });
        if let Some(mut child) = child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// From now on it lets in these, beside the fleet's server, and ends the connections of others.
    ///
    /// # Errors
    /// [`FleetError::NatsServer`] if it would not read the new configuration, or does not get the signal: then it goes on
    /// with the old one. [`FleetError::File`] if it cannot be written.
    pub(crate) fn know(&mut self, users: Vec<User>) -> Result<(), FleetError> {
        if let Some(guarded) = &mut self.guarded
            && guarded.users != users
        {
            guarded.users = users;
            self.is_stale = true;
        }
        if self.is_stale {
            self.configure()?;
            if !self.signal("reload") {
                return Err(FleetError::NatsServer {
                    reason: "the signal to read whose keys are good did not reach it".to_owned(),
                });
            }
            self.is_stale = false;
        }
        Ok(())
    }

    fn configure(&self) -> Result<(), FleetError> {
        let Some(guarded) = &self.guarded else {
            return Ok(());
        };
        let text = guarded.text(&self.name, self.port, &self.folder, PID);
        let (path, new) = (self.folder.join(CONFIG), self.folder.join("nats.conf.new"));
        fs::write(&new, text).map_err(FleetError::file("write", &new))?;
        self.test(&new)?;
        fs::rename(&new, &path).map_err(FleetError::file("write", &path))
    }

    /// Whether its program can read a configuration. A running one says nothing of one that it does not take.
    fn test(&self, path: &Path) -> Result<(), FleetError> {
        let mut testing = Command::new(&self.program);
        testing.arg("-t").arg("--config").arg(path);
        let tested = testing
            .output()
            .map_err(|error| self.does_not_start(&error))?;
        if tested.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&tested.stderr);
        Err(FleetError::NatsServer {
            reason: format!("it refuses its configuration: {}", said.trim()),
        })
    }

    fn does_not_start(&self, error: &std::io::Error) -> FleetError {
        FleetError::NatsServer {
            reason: format!("'{}' does not start: {error}", self.program.display()),
        }
    }

    /// Sends it a signal by its own program; `false` if it is not there, or not yet.
    fn signal(&self, signal: &str) -> bool {
        let signal = format!("{signal}={}", self.folder.join(PID).display());
        let mut asking = Command::new(&self.program);
        asking
            .args(["--signal", &signal])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        asking.status().is_ok_and(|status| status.success())
    }

    fn spawn(&mut self) -> Result<(), FleetError> {
        let log = self.folder.join(LOG);
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(FleetError::file("open", &log))?;
        let mut command = Command::new(&self.program);
        if self.guarded.is_some() {
            command.arg("--config").arg(self.folder.join(CONFIG));
        } else {
            command
                .args(["--addr", "127.0.0.1", "--jetstream", "--port"])
                .arg(self.port.to_string())
                .args(["--name", &self.name, "--store_dir"])
                .arg(self.folder.join("store"))
                .arg("--pid")
                .arg(self.folder.join(PID));
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // Ctrl-C is for the fleet's server, which ends this one when it has stored everything.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command
            .spawn()
            .map_err(|error| self.does_not_start(&error))?;
        self.child = Some(child);
        Ok(())
    }

    fn answers(&self) -> bool {
        TcpStream::connect_timeout(&reached(self.listens_at()), CONNECTING).is_ok()
    }

    /// Waits until it answers under its own name.
    fn wait(&mut self, address: &Address) -> Result<(), FleetError> {
        let connection = Nats::connect(address)?;
        let watch = Stopwatch::start();
        let never = Interrupt::default();
        let wrong = |reason: String| FleetError::NatsServer { reason };
        while watch.elapsed() < STARTING {
            match connection.server() {
                Some(found) if found.server_name == self.name && self.is_like(&found) => {
                    return Ok(());
                }
                Some(found) if found.server_name == self.name => {
                    let reason = "the one that a killed server had just started lets in others; start this one again";
                    return Err(wrong(reason.to_owned()));
                }
                Some(_) => {
                    let port = self.port;
                    return Err(wrong(format!(
                        "port {port} belongs to another program; choose one with --port, or --join that NATS server"
                    )));
                }
                None => pause(STEP, &never),
            }
            if let Some(child) = &mut self.child
                && let Ok(Some(status)) = child.try_wait()
            {
                let log = self.folder.join(LOG);
                return Err(wrong(format!(
                    "it ended with {status}; see '{}'",
                    log.display()
                )));
            }
        }
        let why = connection.why();
        Err(wrong(format!("it did not answer within {STARTING:?}{why}")))
    }
}

/// The name of the server of a folder, made when the folder is.
fn name_of(folder: &Path) -> Result<String, FleetError> {
    let path = folder.join("name");
    if let Ok(name) = fs::read_to_string(&path)
        && !name.is_empty()
    {
        return Ok(name);
    }
    let name = format!("manyhands-{}", crate::wire::new_id());
    fs::write(&path, &name).map_err(FleetError::file("write", &path))?;
    Ok(name)
}

/// Where this machine reaches what listens at an address.
fn reached(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}

const PROGRAM: &str = "nats-server";
const LOG: &str = "nats-server.log";
const CONFIG: &str = "nats.conf";
const PID: &str = "nats-server.pid";
/// A file that says where the one that was started last listens.
const ADDRESS: &str = "address";
/// Bytes in which a server says what it is.
const INFO_MAX: u64 = 1 << 16;
const STARTING: Duration = Duration::from_secs(20);
const STOPPING: Duration = Duration::from_secs(5);
const CONNECTING: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);

#[cfg(unix)]
#[cfg(test)]
mod tests;
