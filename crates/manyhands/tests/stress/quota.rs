//! A pool in a cgroup of its own with less than one processor: it uses the quota for its size, and blocked work still
//! ends while the group is throttled.
//!
//! Where no such group can be made, which takes the rights of the machine's owner, the test reports it and passes;
//! reading the files of a quota is tested beside that code.

use crate::chaos;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, fs, io, process};

#[test]
#[cfg_attr(miri, ignore = "there are no groups")]
#[expect(clippy::print_stderr, reason = "says that it was skipped")]
fn a_pool_under_a_quota_has_its_size_and_ends_what_blocks() {
    match Group::with_a_third_of_a_processor() {
        Ok(group) => {
            let status = group.run("quota::within_the_group");
            assert!(status.expect("this program can be run").success());
        }
        Err(error) => eprintln!("skipped: no cgroup with a quota can be made: {error}"),
    }
}

#[test]
#[ignore = "run by the test above in a group of its own"]
fn within_the_group() {
    let runtime = manyhands::Runtime::builder().build();
    assert_eq!(runtime.expect("the numbers are right").workers(), 1);
    chaos::bodies_that_block_all_end_and_leave_a_pool_of_its_size();
}

/// A new group below that of this process.
struct Group(PathBuf);

impl Group {
    fn with_a_third_of_a_processor() -> io::Result<Self> {
        let parent = own_group(&fs::read_to_string("/proc/self/cgroup")?)
            .ok_or_else(|| io::Error::other("no group limits processors"))?;
        let group = Self(parent.join(format!("manyhands-test-{}", process::id())));
        fs::create_dir(&group.0)?;
        if group.0.join("cgroup.controllers").exists() {
            group.set("cpu.max", "33000 100000")?;
        } else {
            group.set("cpu.cfs_period_us", "100000")?;
            group.set("cpu.cfs_quota_us", "33000")?;
        }
        Ok(group)
    }

    /// Writes a file that must be there already.
    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        use io::Write;
        let mut file = fs::OpenOptions::new().write(true).open(self.0.join(file))?;
        file.write_all(value.as_bytes())
    }

    /// Runs one ignored test of this program in the group.
    fn run(&self, test: &str) -> io::Result<ExitStatus> {
        let join_and_run = "echo $$ > \"$0\" && exec \"$@\"";
        Command::new("sh")
            .args(["-c", join_and_run])
            .arg(self.0.join("cgroup.procs"))
            .arg(env::current_exe()?)
            .args(["--exact", "--ignored", test])
            .status()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // All its processes have ended; if it cannot be removed all the same, it does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}

/// The group of this process that limits processors.
fn own_group(membership: &str) -> Option<PathBuf> {
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        let mount = if controllers.split(',').any(|controller| controller == "cpu") {
            Path::new("/sys/fs/cgroup/cpu")
        } else if controllers.is_empty() {
            Path::new("/sys/fs/cgroup")
        } else {
            return None;
        };
        Some(mount.join(path))
    })
}
