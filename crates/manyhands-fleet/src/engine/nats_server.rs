//! A `nats-server` that belongs to a folder: found, started on loopback, started again when it has died.
//!
//! A server of the fleet that was killed leaves its `nats-server` behind; the next one knows it by its name and uses it.

use super::{Address, Nats};
use crate::{FleetError, time::pause};
use manyhands_lab::{clock::Stopwatch, run::Interrupt};
use std::{
    env,
    fs::{self, File},
    net::{SocketAddr, TcpStream},
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
    /// `None` if another process started it.
    child: Option<Child>,
}

impl NatsServer {
    /// Starts one that keeps its files in this folder, or finds the one that was left there.
    pub(crate) fn start(program: PathBuf, folder: &Path, port: u16) -> Result<Self, FleetError> {
        fs::create_dir_all(folder).map_err(FleetError::file("create", folder))?;
        let mut server = Self {
            program,
            name: name_of(folder)?,
            folder: folder.to_owned(),
            port,
            child: None,
        };
        if !server.answers() {
            server.spawn()?;
        }
        server.wait()?;
        Ok(server)
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
        let pid = self.folder.join(PID);
        let signal = format!("term={}", pid.display());
        let mut asking = Command::new(&self.program);
        asking
            .args(["--signal", &signal])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // If it cannot be asked, it is killed below; one that another process started stays for the next server.
        let _ = asking.status();
        if let Some(child) = &mut self.child {
            let watch = Stopwatch::start();
            while watch.elapsed() < STOPPING && matches!(child.try_wait(), Ok(None)) {
                pause(STEP, &Interrupt::default());
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn spawn(&mut self) -> Result<(), FleetError> {
        let log = self.folder.join(LOG);
        let log = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(FleetError::file("open", &log))?;
        let mut command = Command::new(&self.program);
        command
            .args(["--addr", "127.0.0.1", "--jetstream", "--port"])
            .arg(self.port.to_string())
            .args(["--name", &self.name, "--store_dir"])
            .arg(self.folder.join("store"))
            .arg("--pid")
            .arg(self.folder.join(PID))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        // Ctrl-C is for the fleet's server, which ends this one when it has stored everything.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| FleetError::NatsServer {
            reason: format!("'{}' does not start: {error}", self.program.display()),
        })?;
        self.child = Some(child);
        Ok(())
    }

    fn answers(&self) -> bool {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        TcpStream::connect_timeout(&address, CONNECTING).is_ok()
    }

    /// Waits until it answers under its own name.
    fn wait(&mut self) -> Result<(), FleetError> {
        let connection = Nats::connect(&Address::loopback(self.port)?)?;
        let watch = Stopwatch::start();
        let never = Interrupt::default();
        let wrong = |reason: String| FleetError::NatsServer { reason };
        while watch.elapsed() < STARTING {
            match connection.server_name() {
                Some(name) if name == self.name => return Ok(()),
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
        Err(wrong(format!("it did not answer within {STARTING:?}")))
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
const PID: &str = "nats-server.pid";
const STARTING: Duration = Duration::from_secs(20);
const STOPPING: Duration = Duration::from_secs(5);
const CONNECTING: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
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
}
