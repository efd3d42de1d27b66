//! A disk that is full while an agent measures, and has room again later.

use crate::{
    PLAN_OF_ONE, experiments,
    in_process::{Fleet, Odds, setup},
    machines::Machines,
    results,
};
use manyhands_fleet::{agent::Agent, commands};
use manyhands_lab::run::Interrupt;
use nix::sys::signal::Signal;
use std::{
    fs::{self, File},
    io::Write,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// A folder with a small disk of its own; `None` where this user may not make one.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status();
        let is_mounted = mounted.is_ok_and(|status| status.success());
        is_mounted.then(|| Self(folder.to_owned()))
    }

    /// Writes a file that leaves this room.
    fn fill(&self, left: usize) {
        let mut file = File::create(self.0.join("ballast")).unwrap();
        let page = [7; 4 << 10];
        let mut pages = 0;
        while file.write_all(&page).is_ok() {
            pages += 1;
        }
        assert!(pages * page.len() > left, "the disk is too small");
        file.set_len((pages * page.len() - left) as u64).unwrap();
    }

    fn clear(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, so that a failing test leaves nothing mounted either.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// The agent goes on when there is room; a plan that hands each job out twice at most is not used up by the wait.
pub(crate) fn an_agent_waits_for_room_on_its_disk() {
    let fleet = Fleet::new();
    let Some(disk) = SmallDisk::at(&fleet.folder.path().join("one")) else {
        println!("  skipped: no disk can be mounted here");
        return;
    };
    let engine = fleet.engine(Odds::NONE, 1);
    let mut setup = setup("one", fleet.folder.path());
    setup.spool = fleet.folder.path().join("one").join("spool");
    let mut agent = Agent::new(setup, &engine, experiments()).unwrap();
    disk.fill(LEFT);
    let plan = format!("{PLAN_OF_ONE}attempts = 2\n");
    commands::submit_to(&fleet.inner, &plan, None, &experiments()).unwrap();
    let (stop, complaints) = (Interrupt::default(), AtomicUsize::new(0));
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            agent.run(None, &stop, |error| {
                let text = error.to_string();
                assert!(text.contains("os error 28"), "{text}");
                if complaints.fetch_add(1, Ordering::Relaxed) + 1 == COMPLAINTS {
                    disk.clear();
                }
            });
        });
        let ended = fleet.serve_until(&engine, |database| {
            let plan = database.plans().unwrap().remove(0);
            plan.done + plan.failed == 1
        });
        stop.set();
        ended
    });
    assert!(ended, "not done in time");
    assert!(complaints.load(Ordering::Relaxed) >= COMPLAINTS);
    fleet.check(1);
}

/// The system ends an agent in the middle of a line that it writes; its next life goes on from the lines that are whole.
pub(crate) fn an_agent_that_cannot_write_goes_on_with_its_run_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut machines = Machines::start(folder.path());
    machines.submit(PLAN_OF_ONE, "");
    let number = machines.add_cramped_agent("cramped");
    let ended = machines.agents[number].child.wait().unwrap();
    assert_eq!(ended.signal(), Some(Signal::SIGXFSZ as i32), "{ended}");
    assert_eq!(machines.done(), 0);
    machines.restart_agent(number);
    machines.wait_until_done(1);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), 1, 1);
}

/// Bytes: enough for a run to begin, and too little for it to end.
const LEFT: usize = 24 << 10;
/// More than a plan hands out a job.
const COMPLAINTS: usize = 4;
