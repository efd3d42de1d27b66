//! What a machine must have before it is worth paying for: looked at once, before an agent takes its first job.

use super::{Setup, host::lock_host, spool::Spool};
use crate::{FleetError, engine::Engine, time::Skew};
use manyhands_lab::{
    clock::Stopwatch,
    machine::{Machine, Noise},
    record::Thresholds,
};
use serde::Serialize;
use std::{path::Path, time::Duration};

/// One thing that was looked at.
///
/// Example: see [`preflight`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word.
    pub subject: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen, as a clause.
    pub says: String,
}

/// How a thing is that was looked at.
///
/// Example: see [`preflight`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Fine,
    /// Results will be worse for it.
    Doubtful,
    /// There will be no results, or wrong ones.
    Wrong,
}

/// Looks at the server, the clock, the CPUs, the disk, the power and the load of this machine.
///
/// # Blocking
/// For `probe`, in which the load is watched, and for some seconds more if the server does not answer.
///
/// # Examples
/// ```
/// use manyhands_fleet::agent::{Allowed, Setup, Verdict, preflight};
/// use manyhands_fleet::engine::InProcess;
/// use manyhands_lab::launcher::Launcher;
/// use std::time::Duration;
///
/// let folder = tempfile::tempdir()?;
/// let setup = Setup {
///     name: "one".parse()?,
///     spool: folder.path().join("spool"),
///     host_lock: folder.path().join("host.lock"),
///     cpus: 2,
///     machine: None,
///     allowed: Allowed::default(),
///     launcher: Launcher::this_program()?,
/// };
/// let engine = InProcess::new(Duration::from_secs(60));
/// let findings = preflight(&engine, &setup, Duration::from_millis(10));
/// let server = findings.iter().find(|finding| finding.subject == "server");
/// assert!(server.is_some_and(|finding| finding.verdict == Verdict::Fine));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn preflight(engine: &dyn Engine, setup: &Setup, probe: Duration) -> Vec<Finding> {
    let machine = Machine::here();
    let mut findings = vec![server(engine)];
    // A server that cannot be reached has no clock either.
    if findings[0].verdict == Verdict::Fine {
        findings.push(clock(Skew::of(engine)));
    }
    findings.push(cpus(&machine, setup.cpus));
    findings.push(spool(&setup.spool));
    findings.push(turns(&setup.host_lock));
    findings.push(power(&machine));
    findings.push(load(&Noise::probe(probe)));
    findings
}

fn server(engine: &dyn Engine) -> Finding {
    let watch = Stopwatch::start();
    match engine.get("check") {
        Ok(_) => {
            let millis = watch.elapsed().as_millis();
            finding("server", Verdict::Fine, format!("answers in {millis} ms"))
        }
        Err(error) => finding("server", Verdict::Wrong, error.to_string()),
    }
}

fn clock(skew: Result<Skew, FleetError>) -> Finding {
    let Skew(millis) = match skew {
        Ok(skew) => skew,
        Err(error) => return finding("clock", Verdict::Wrong, error.to_string()),
    };
    let side = if millis < 0 { "before" } else { "behind" };
    let seconds = millis.unsigned_abs() as f64 / 1e3;
    // Times of runs are by the server's clock, so nothing in the results depends on it.
    let verdict = if millis.unsigned_abs() > SKEW_MILLIS_MAX {
        Verdict::Doubtful
    } else {
        Verdict::Fine
    };
    finding(
        "clock",
        verdict,
        format!("{seconds:.3} s {side} the server's"),
    )
}

fn cpus(machine: &Machine, offered: usize) -> Finding {
    let quota = machine.limits.quota;
    match quota {
        // A process that has used its quota up is stopped until the next period.
        Some(quota) => finding(
            "CPUs",
            Verdict::Doubtful,
            format!(
                "{offered} by a quota of {:.2}, which stops what is measured now and then; confine it to some CPUs instead",
                quota.cpus()
            ),
        ),
        None => finding("CPUs", Verdict::Fine, format!("{offered}, without a quota")),
    }
}

fn spool(folder: &Path) -> Finding {
    if let Err(error) = Spool::open(folder).and_then(|spool| spool.try_room()) {
        return finding("disk", Verdict::Wrong, error.to_string());
    }
    let Some(bytes) = room(folder) else {
        return finding("disk", Verdict::Fine, "can be written".to_owned());
    };
    let verdict = if bytes < ROOM_MIN {
        Verdict::Doubtful
    } else {
        Verdict::Fine
    };
    finding("disk", verdict, format!("{} MiB free", bytes >> 20))
}

/// Free bytes for this user; `None` where the system does not say.
#[cfg(unix)]
fn room(folder: &Path) -> Option<u64> {
    let system = nix::sys::statvfs::statvfs(folder).ok()?;
    // The types differ between systems.
    let (blocks, size) = (
        u128::from(system.blocks_available()),
        u128::from(system.fragment_size()),
    );
    u64::try_from(blocks * size).ok()
}

#[cfg(not(unix))]
fn room(_: &Path) -> Option<u64> {
    None
}

fn turns(lock: &Path) -> Finding {
    match lock_host(lock) {
        Ok(Some(_)) => finding("turns", Verdict::Fine, "no other agent measures".to_owned()),
        Ok(None) => finding(
            "turns",
            Verdict::Doubtful,
            "another agent of this machine measures now; the two take turns".to_owned(),
        ),
        Err(error) => finding("turns", Verdict::Wrong, error.to_string()),
    }
}

fn power(machine: &Machine) -> Finding {
    match machine.objection() {
        Some(objection) => finding("power", Verdict::Doubtful, objection.to_owned()),
        None => finding(
            "power",
            Verdict::Fine,
            "nothing is known against it".to_owned(),
        ),
    }
}

fn load(noise: &Noise) -> Finding {
    let verdict = if noise.is_quiet(&Thresholds::default()) {
        Verdict::Fine
    } else {
        Verdict::Doubtful
    };
    let says = noise.sentence();
    finding("load", verdict, says.trim_end_matches('.').to_owned())
}

fn finding(subject: &'static str, verdict: Verdict, says: String) -> Finding {
    Finding {
        subject,
        verdict,
        says,
    }
}

/// A clock that is off by more has nobody who sets it.
const SKEW_MILLIS_MAX: u64 = 2_000;
/// Bytes; the runs of some plans.
const ROOM_MIN: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Name,
        engine::{Delivery, InProcess, Message, Queue},
    };
    use manyhands_lab::machine::{Limits, Quota};
    use std::collections::HashSet;

    /// An engine that answers nothing, or whose clock is off.
    struct Odd {
        inner: InProcess,
        is_away: bool,
        before: Duration,
    }

    impl Engine for Odd {
        fn publish(&self, queue: Queue, about: &Name, all: &[Message]) -> Result<(), FleetError> {
            self.inner.publish(queue, about, all)
        }

        fn take(
            &self,
            queue: Queue,
            count_max: usize,
            wait: Duration,
        ) -> Result<Vec<Box<dyn Delivery>>, FleetError> {
            self.inner.take(queue, count_max, wait)
        }

        fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError> {
            self.inner.jobs_pending(most)
        }

        fn forget(&self, key: &str) -> Result<(), FleetError> {
            self.inner.forget(key)
        }

        fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError> {
            self.inner.put(key, value)
        }

        fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError> {
            if self.is_away {
                return Err(FleetError::engine("read a key")("nobody is there"));
            }
            self.inner.get(key)
        }

        fn now(&self) -> Result<Duration, FleetError> {
            Ok(self.inner.now()? + self.before)
        }
    }

    fn odd(is_away: bool, before: Duration) -> Odd {
        Odd {
            inner: InProcess::new(Duration::from_secs(60)),
            is_away,
            before,
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_wrong_and_says_why() {
        let found = server(&odd(true, Duration::ZERO));
        assert_eq!(found.verdict, Verdict::Wrong);
        assert!(found.says.contains("nobody is there"), "{}", found.says);
    }

    #[test]
    fn a_clock_an_hour_behind_the_server_is_doubtful() {
        let skew = Skew::of(&odd(false, Duration::from_hours(1)));
        let found = clock(skew);
        assert_eq!(found.verdict, Verdict::Doubtful, "{}", found.says);
        assert!(found.says.contains(" s behind the server's"), "{found:?}");
        assert!(
            found.says.starts_with("3600") || found.says.starts_with("3599"),
            "{found:?}"
        );
        assert_eq!(clock(Ok(Skew(-40))).says, "0.040 s before the server's");
        assert_eq!(clock(Ok(Skew(-40))).verdict, Verdict::Fine);
    }

    #[test]
    fn a_quota_is_doubtful_and_no_quota_is_fine() {
        let mut machine = Machine::default();
        assert_eq!(cpus(&machine, 2).verdict, Verdict::Fine);
        machine.limits = Limits {
            affinity: None,
            quota: Some(Quota {
                micros: 150_000,
                period_micros: 100_000,
            }),
        };
        let found = cpus(&machine, 1);
        assert_eq!(found.verdict, Verdict::Doubtful);
        assert!(found.says.contains("quota of 1.50"), "{}", found.says);
    }

    #[test]
    fn a_spool_that_cannot_be_made_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(spool(folder.path()).verdict, Verdict::Wrong);
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(spool(&file).verdict, Verdict::Wrong);
    }

    #[test]
    fn another_agent_at_work_is_doubtful() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock_host(&path).unwrap();
        assert_eq!(turns(&path).verdict, Verdict::Doubtful);
        drop(held);
        assert_eq!(turns(&path).verdict, Verdict::Fine);
    }

    #[test]
    fn others_that_use_the_cpus_are_doubtful() {
        let noise = |others| Noise {
            seconds: 1.0,
            others,
            ..Noise::default()
        };
        assert_eq!(load(&noise(Some(0.5))).verdict, Verdict::Doubtful);
        assert_eq!(load(&noise(Some(0.01))).verdict, Verdict::Fine);
        assert_eq!(load(&noise(None)).verdict, Verdict::Fine);
    }
}
