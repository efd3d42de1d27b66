//! What goes on at the machine while this process does nothing.

use crate::{
    clock,
    meter::proc_stat::{self, CpuTicks},
    record::Thresholds,
    system,
};
use serde::{Deserialize, Serialize};
use std::{fs, time::Duration};

/// A good length of a probe: 200 ticks on each CPU.
pub const NOISE_PROBE: Duration = Duration::from_secs(2);

/// Shares of all CPUs' time, 0 to 1; `None` where the system does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Length of the probe in seconds.
    pub seconds: f64,
    /// Used by other processes.
    pub others: Option<f64>,
    /// Given to other machines by the hypervisor.
    pub steal: Option<f64>,
    /// Share of the wall time in which at least one task of the machine waited for a CPU.
    pub waiting: Option<f64>,
}

impl Noise {
    /// Does nothing for this long and tells what others did.
    ///
    /// # Blocking
    /// Sleeps for the whole time.
    #[must_use]
    pub fn probe(duration: Duration) -> Self {
        let before = Snapshot::take();
        let watch = clock::Stopwatch::start();
        clock::rest(duration);
        let seconds = watch.elapsed().as_secs_f64();
        Self::between(&before, &Snapshot::take(), seconds)
    }

    /// Whether others used less than the share from which on a block counts as disturbed. What is not known does not count.
    #[must_use]
    pub fn is_quiet(&self, thresholds: &Thresholds) -> bool {
        self.others.unwrap_or(0.0) + self.steal.unwrap_or(0.0) < thresholds.load
    }

    /// One sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let percent =
            |share: Option<f64>, what: &str| Some(format!("{what} {:.1} %", share? * 1e2));
        let seen = super::join([
            percent(self.others, "other processes used"),
            percent(self.steal, "the hypervisor took"),
            percent(self.waiting, "some task waited for a CPU"),
        ]);
        let seen = seen.unwrap_or_else(|| "this system tells nothing about others".to_owned());
        format!("In {:.1} s at rest: {seen}.", self.seconds)
    }

    fn between(before: &Snapshot, after: &Snapshot, seconds: f64) -> Self {
        let ticks = before.ticks.zip(after.ticks);
        let ticks = ticks.map(|(before, after)| after.since(before));
        let ticks = ticks.filter(|ticks| ticks.all() > 0);
        let share = |part: f64, ticks: CpuTicks| part / ticks.all() as f64;
        let own = before.own_ticks.zip(after.own_ticks);
        let own = own.map(|(before, after)| after - before);
        let waited = before.waited_micros.zip(after.waited_micros);
        let waited = waited.map(|(before, after)| after.saturating_sub(before));
        Self {
            seconds,
            others: ticks.zip(own).map(|(ticks, own)| {
                let others = ticks.busy as f64 - own;
                share(others.max(0.0), ticks)
            }),
            steal: ticks.map(|ticks| share(ticks.steal as f64, ticks)),
            waiting: waited.map(|micros| (micros as f64 / 1e6 / seconds).min(1.0)),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Snapshot {
    ticks: Option<CpuTicks>,
    own_ticks: Option<f64>,
    waited_micros: Option<u64>,
}

impl Snapshot {
    fn take() -> Self {
        let text = |path| fs::read_to_string(path).ok();
        let own = system::cpu_nanos().zip(system::tick_nanos());
        Self {
            ticks: text("/proc/stat").as_deref().and_then(proc_stat::total),
            own_ticks: own.map(|(nanos, tick)| nanos as f64 / tick as f64),
            waited_micros: text("/proc/pressure/cpu")
                .as_deref()
                .and_then(waited_micros),
        }
    }
}

/// `some avg10=0.56 avg60=0.82 avg300=0.89 total=2955576725`: the total, in microseconds. The
/// averages look back further than the probe, at whatever was compiled or started before.
fn waited_micros(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find(|line| line.starts_with("some "))?;
    let total = some
        .split_whitespace()
        .find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESSURE: &str = "some avg10=0.56 avg60=0.82 avg300=0.89 total=2955576725\n\
                            full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

    #[test]
    fn the_total_of_the_first_line_counts() {
        assert_eq!(waited_micros(PRESSURE), Some(2_955_576_725));
        for text in ["", "full total=1", "some avg10=1", "some total=x"] {
            assert_eq!(waited_micros(text), None, "{text:?}");
        }
    }

    fn snapshot(busy: u64, steal: u64, idle: u64, own: f64, waited: u64) -> Snapshot {
        Snapshot {
            ticks: Some(CpuTicks { busy, steal, idle }),
            own_ticks: Some(own),
            waited_micros: Some(waited),
        }
    }

    #[test]
    fn our_own_time_is_not_noise() {
        let before = snapshot(1_000, 10, 5_000, 50.0, 7_000_000);
        let after = snapshot(1_030, 14, 5_366, 60.0, 7_100_000);
        let noise = Noise::between(&before, &after, 2.0);
        assert_eq!(noise.others, Some(0.05));
        assert_eq!(noise.steal, Some(0.01));
        assert_eq!(noise.waiting, Some(0.05));
        let expected = "In 2.0 s at rest: other processes used 5.0 %, the hypervisor took 1.0 %, \
                        some task waited for a CPU 5.0 %.";
        assert_eq!(noise.sentence(), expected);
        assert!(!noise.is_quiet(&Thresholds::default()));
    }

    #[test]
    fn a_silent_system_has_no_noise_that_we_know_of() {
        let noise = Noise::between(&Snapshot::default(), &Snapshot::default(), 1.0);
        assert_eq!(
            (noise.others, noise.steal, noise.waiting),
            (None, None, None)
        );
        assert!(noise.sentence().contains("tells nothing"));
        assert!(noise.is_quiet(&Thresholds::default()));
    }

    #[test]
    fn a_probe_of_no_length_divides_by_nothing() {
        let noise = Noise::probe(Duration::ZERO);
        for share in [noise.others, noise.steal, noise.waiting]
            .into_iter()
            .flatten()
        {
            assert!((0.0..=1.0).contains(&share), "{noise:?}");
        }
    }
}
