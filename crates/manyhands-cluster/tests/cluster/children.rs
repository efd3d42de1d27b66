//! Processes that a test starts. None outlives it, also where the test fails or does not end.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use manyhands::time;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A process that does not outlive this value.
pub(crate) struct Ended(Child);

impl Ended {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut started = started();
        let child = command.spawn().unwrap();
        started.insert(child.id());
        Self(child)
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
        started().remove(&self.0.id());
    }
}

/// Waits for what a program prints.
pub(crate) fn output(command: &mut Command) -> Output {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut started = started();
    let child = piped.spawn().unwrap();
    let id = child.id();
    started.insert(id);
    drop(started);
    let output = child.wait_with_output();
    self::started().remove(&id);
    output.unwrap()
}

/// For a test that does not end.
pub(crate) fn kill_all() {
    for id in &*started() {
        if let Ok(id) = i32::try_from(*id) {
            // One that has ended needs no signal.
            let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

/// Whether a process ends within half a minute.
pub(crate) fn ends(process: Pid) -> bool {
    for _ in 0..600 {
        if !runs(process) {
            return true;
        }
        time::sleep_blocking(Duration::from_millis(50));
    }
    false
}

/// Whether a process runs; one that has ended and that nobody has waited for does not.
fn runs(process: Pid) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat"));
    match status {
        Ok(status) => !status.contains(") Z "),
        Err(_) => !Path::new("/proc/self").exists() && kill(process, None).is_ok(),
    }
}

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
