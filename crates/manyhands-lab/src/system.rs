//! The few system calls the laboratory makes, under the same names on every system.
//!
//! Where a system has no such call the answer is `None`, or an error of kind `Unsupported`.

use crate::record::Meters;
use std::io;

/// CPU time of this process so far, all threads, user and system, with that of the processes that it started and
/// that have ended.
pub(crate) fn cpu_nanos() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike;
        use nix::time::{ClockId, clock_gettime};
        let own = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        let ended = ended.user_time() + ended.system_time();
        u64::try_from(own.num_nanoseconds() + ended.num_nanoseconds()).ok()
    }
    #[cfg(not(unix))]
    None
}

/// Page faults so far of the processes that this one started and that have ended. None ends without some.
pub(crate) fn ended_faults() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        u64::try_from(ended.minor_page_faults()).ok()
    }
    #[cfg(not(unix))]
    None
}

/// CPU time of the calling thread so far, user and system.
pub(crate) fn thread_cpu_nanos() -> Option<u64> {
    #[cfg(unix)]
    {
        use nix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
        u64::try_from(std::time::Duration::from(time).as_nanos()).ok()
    }
    #[cfg(not(unix))]
    None
}

/// CPU time, faults and context switches of this process so far, all threads together.
pub(crate) fn counters() -> Meters {
    #[cfg(unix)]
    use nix::sys::resource::{UsageWho, getrusage};
    #[cfg(unix)]
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        return Meters {
            cpu_nanos: cpu_nanos(),
            minor_faults: u64::try_from(usage.minor_page_faults()).ok(),
            major_faults: u64::try_from(usage.major_page_faults()).ok(),
            voluntary_switches: u64::try_from(usage.voluntary_context_switches()).ok(),
            involuntary_switches: u64::try_from(usage.involuntary_context_switches()).ok(),
            ..Meters::default()
        };
    }
    Meters::default()
}

/// Length of one tick, the unit of the CPU times in `/proc/stat`.
pub(crate) fn tick_nanos() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        use nix::unistd::{SysconfVar, sysconf};
        let per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
        1_000_000_000_u64.checked_div(per_second)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// CPUs that the calling thread may run on, ascending.
pub(crate) fn allowed_cpus() -> Option<Vec<usize>> {
    #[cfg(target_os = "linux")]
    {
        use nix::{sched, unistd::Pid};
        let set = sched::sched_getaffinity(Pid::from_raw(0)).ok()?;
        let is_allowed = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
        Some((0..sched::CpuSet::count()).filter(is_allowed).collect())
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Lets the calling thread, and threads it starts from now on, run on these CPUs only.
#[cfg(target_os = "linux")]
pub(crate) fn allow_cpus(cpus: &[usize]) -> io::Result<()> {
    use nix::{sched, unistd::Pid};
    let mut set = sched::CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(sched::sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Lets the calling thread, and threads it starts from now on, run on these CPUs only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allow_cpus(_cpus: &[usize]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A signal to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Run no further until continued.
    Stop,
    Continue,
}

/// Sends a signal to a process that this one started and has not waited for yet.
#[cfg(unix)]
pub(crate) fn send_signal(id: u32, signal: Signal) {
    use nix::{sys::signal, unistd::Pid};
    let signal = match signal {
        Signal::Stop => signal::Signal::SIGSTOP,
        Signal::Continue => signal::Signal::SIGCONT,
    };
    if let Ok(id) = i32::try_from(id) {
        // It fails only if the process has ended, which its next answer will show.
        let _ = signal::kill(Pid::from_raw(id), signal);
    }
}

/// Sends a signal to a process that this one started and has not waited for yet.
#[cfg(not(unix))]
pub(crate) fn send_signal(_id: u32, _signal: Signal) {}

/// Makes the kernel end this process when the thread that started it ends.
#[cfg(target_os = "linux")]
pub(crate) fn end_with_parent() {
    use nix::sys::{prctl, signal::Signal};
    // It cannot fail with a signal that exists.
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
}

/// Makes the kernel end this process when the thread that started it ends.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_parent() {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    };
    use std::process::Command;

    #[test]
    fn the_time_of_a_process_counts_once_it_has_ended() {
        let of_ended = || {
            let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it has one");
            u64::try_from(usage.user_time().num_nanoseconds()).expect("time is positive")
        };
        let (before, ended_before) = (cpu_nanos().expect("it has one"), of_ended());
        let counting = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let ended = Command::new("sh").args(["-c", counting]).status();
        assert!(ended.is_ok_and(|status| status.success()));
        let (used, of_child) = (
            cpu_nanos().expect("it has one") - before,
            of_ended() - ended_before,
        );
        assert!(
            of_child > 1_000_000 && used >= of_child,
            "{used} {of_child}"
        );
    }
}
