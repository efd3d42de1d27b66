//! A `nats-server` that belongs to a folder: found, started, started again when it has died. It listens on loopback only,
//! or lets in only those whose keys it knows.
//!
//! A server of the fleet that was killed leaves its `nats-server` behind; the next one knows it by its name and uses it. If
//! that lets in everybody and must not, or is at another port, the next one ends it and starts another: two would write the
//! same files.

use super::{
    Address, Nats,
    nats::LetsIn,
    nats_config::{Guarded, User},
};
use crate::{FleetError, time::pause};
use manyhands_lab::{clock::Stopwatch, run::Interrupt};
use std::{
    env,
    fs::{self, File},
    io::Read,
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
        server.end_at_other_port()?;
        server.configure()?;
        if server.answers() {
            server.is_stale = true;
        } else {
            server.spawn()?;
        }
        match server
            .wait(address)
            .and_then(|lets_in| server.replace_if_open(lets_in, address))
        {
            Ok(()) => Ok(server),
            Err(error) => {
                if server.child.is_some() {
                    server.stop();
                }
                Err(error)
            }
        }
    }

    /// Ends the one that was left at another port, and notes the port of this one.
    fn end_at_other_port(&mut self) -> Result<(), FleetError> {
        let path = self.folder.join(PORT);
        let noted = fs::read_to_string(&path).unwrap_or_default();
        if let Ok(before) = noted.trim().parse::<u16>()
            && before != self.port
            && self.is_at(before)
            && !self.ends(|| !self.is_at(before))
        {
            let reason = format!("the one that was left at port {before} does not end");
            return Err(FleetError::NatsServer { reason });
        }
        fs::write(&path, self.port.to_string()).map_err(FleetError::file("write", &path))
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

    /// Whether the one of this folder is at this port: each says its name first, whomever it lets in.
    fn is_at(&self, port: u16) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let hear = || {
            let mut stream = TcpStream::connect_timeout(&address, CONNECTING)?;
            stream.set_read_timeout(Some(CONNECTING))?;
            let mut said = [0; 4_096];
            let length = stream.read(&mut said)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&said[..length]).into_owned())
        };
        let name = format!("\"server_name\":\"{}\"", self.name);
        hear().is_ok_and(|said| said.contains(&name))
    }

    /// Ends it and starts another one if it lets in everybody and must not: one that was started so reads no configuration.
    fn replace_if_open(&mut self, lets_in: LetsIn, address: &Address) -> Result<(), FleetError> {
        if self.guarded.is_none() || lets_in == LetsIn::Known {
            return Ok(());
        }
        // If it does not end, the next wait says so.
        self.ends(|| !self.answers());
        self.spawn()?;
        match self.wait(address)? {
            LetsIn::Known => Ok(()),
            LetsIn::Everybody => Err(FleetError::NatsServer {
                reason: "the one that was left here lets in everybody, and does not end".to_owned(),
            }),
        }
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
        let ip = self.guarded.as_ref().map(Guarded::own_ip);
        let ip = ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = SocketAddr::from((ip, self.port));
        TcpStream::connect_timeout(&address, CONNECTING).is_ok()
    }

    /// Waits until it answers under its own name; then whom it lets in.
    fn wait(&mut self, address: &Address) -> Result<LetsIn, FleetError> {
        let connection = Nats::connect(address)?;
        let watch = Stopwatch::start();
        let never = Interrupt::default();
        let wrong = |reason: String| FleetError::NatsServer { reason };
        while watch.elapsed() < STARTING {
            match connection.server() {
                Some((name, lets_in)) if name == self.name => return Ok(lets_in),
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

const PROGRAM: &str = "nats-server";
const LOG: &str = "nats-server.log";
const CONFIG: &str = "nats.conf";
const PID: &str = "nats-server.pid";
/// A file with the port of the one that was started last.
const PORT: &str = "port";
const STARTING: Duration = Duration::from_secs(20);
const STOPPING: Duration = Duration::from_secs(5);
const CONNECTING: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Opens;
    use std::net::TcpListener;

    #[test]
    fn none_is_started_beside_one_that_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut dead = Command::new("/bin/true").spawn().unwrap();
        dead.wait().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut server = NatsServer {
            program: "/does/not/exist".into(),
            folder: folder.path().to_owned(),
            name: "x".to_owned(),
            port: listener.local_addr().unwrap().port(),
            guarded: None,
            is_stale: false,
            child: Some(dead),
        };
        server.tend().unwrap();
        assert!(server.child.is_none());
        drop(listener);
        let refused = server.tend().unwrap_err();
        assert!(
            matches!(refused, FleetError::NatsServer { .. }),
            "{refused}"
        );
    }

    #[test]
    fn one_that_was_left_at_another_port_ends_before_the_next_one_begins() {
        let Ok(program) = find(None) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let start = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            drop(listener);
            let url = format!("nats://127.0.0.1:{port}");
            let address = Address::parse(&url, &crate::engine::Keys::default()).unwrap();
            NatsServer::start(program.clone(), folder.path(), port, None, &address).unwrap()
        };
        let mut killed = start();
        let mut left = killed.child.take().unwrap();
        let next = start();
        let found = [killed.port, next.port].map(|port| next.is_at(port));
        next.stop();
        // It has ended already.
        let _ = left.kill();
        left.wait().unwrap();
        assert_eq!(found, [false, true]);
    }

    #[test]
    fn a_configuration_that_nats_server_would_not_read_is_an_error_and_changes_nothing() {
        let Ok(program) = find(None) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let key = |name: &str| User {
            public: nkeys::KeyPair::new_user().public_key(),
            opens: Opens::Agent(name.parse().unwrap()),
        };
        let guarded = Guarded {
            ip: Ipv4Addr::LOCALHOST.into(),
            certificate: None,
            server: nkeys::KeyPair::new_user().public_key(),
            users: vec![key("one")],
        };
        let mut server = NatsServer {
            program,
            folder: folder.path().to_owned(),
            name: "x".to_owned(),
            port: 4,
            guarded: Some(guarded),
            is_stale: false,
            child: None,
        };
        server.configure().unwrap();
        let read = || fs::read_to_string(folder.path().join(CONFIG)).unwrap();
        let before = read();
        let twice = key("two");
        let error = server.know(vec![twice.clone(), twice]).unwrap_err();
        assert!(error.to_string().contains("uplicate"), "{error}");
        assert_eq!(read(), before);
        assert!(server.is_stale, "it is tried again");
        // None runs here that could get the signal.
        let error = server.know(vec![key("two")]).unwrap_err();
        assert!(error.to_string().contains("signal"), "{error}");
    }
}
