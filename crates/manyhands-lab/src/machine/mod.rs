//! The machine the numbers come from, as far as it tells.
//!
//! Each part of the card reads some small files and keeps what they say; nothing is guessed, and
//! nothing names a person, a host or a path. Beside it: [`Noise`], what others do to the machine,
//! and [`pin_to`], to use less of it.

mod build;
mod files;
mod host;
mod limits;
mod microarchitecture;
mod noise;
mod pin;
mod power;
mod topology;

pub use build::Build;
pub use host::Host;
pub use limits::{Limits, Quota};
pub use noise::{NOISE_PROBE, Noise};
pub use pin::{PinError, pin_to};
pub use power::Power;
pub use topology::{Cache, Topology};

use crate::system;
use files::{Files, System};
use microarchitecture::field;
use serde::{Deserialize, Serialize};
use std::{env, thread};

/// What is printed beside every result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Processor model, or the architecture if the system does not say.
    pub cpu: String,
    /// The processor's design, such as "Zen 3", or the numbers that stand for it.
    pub microarchitecture: Option<String>,
    /// CPUs this process may use, by affinity and quota.
    pub cpus: usize,
    /// Operating system and kernel.
    pub system: String,
    /// Whether the processor hashes SHA-1 and SHA-256 in hardware: then SHA-256 beats SHA-512.
    pub sha_instructions: bool,
    /// Shape of the whole machine.
    pub topology: Topology,
    /// What of it this process may use.
    pub limits: Limits,
    /// What decides the clock rate.
    pub power: Power,
    /// The machine behind the processor.
    pub host: Host,
    /// How this program was built.
    pub build: Build,
}

impl Machine {
    /// Asks the system.
    ///
    /// # Cost
    /// Some milliseconds, most of them for asking git.
    #[must_use]
    pub fn here() -> Self {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let affinity = system::allowed_cpus().map(|cpus| cpus.len());
        Self {
            build: Build::here(),
            ..Self::read(&System, cpus, affinity)
        }
    }

    /// Everything but the build.
    fn read(files: &impl Files, cpus: usize, affinity: Option<usize>) -> Self {
        let cpuinfo = files.text("/proc/cpuinfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").or_else(|| field(&cpuinfo, "Features"));
        let has_sha = |flags| host::has_word(flags, "sha_ni") || host::has_word(flags, "sha2");
        Self {
            cpu: microarchitecture::model(&cpuinfo).unwrap_or_else(|| env::consts::ARCH.to_owned()),
            microarchitecture: microarchitecture::of(&cpuinfo),
            cpus,
            system: system_line(&files.text("/proc/sys/kernel/osrelease").unwrap_or_default()),
            sha_instructions: flags.is_some_and(has_sha),
            topology: Topology::read(files),
            limits: Limits::read(files, affinity),
            power: Power::read(files),
            host: Host::read(files, flags),
            build: Build::default(),
        }
    }

    /// The kind of processor: model and design. Times of two kinds do not compare.
    #[must_use]
    pub fn processor(&self) -> String {
        let parts = [Some(self.cpu.clone()), self.microarchitecture.clone()];
        join(parts).unwrap_or_default()
    }

    /// One line: processor, CPUs, system.
    #[must_use]
    pub fn line(&self) -> String {
        let cpus = self.cpus_line();
        format!("{} · {cpus} · {}", self.processor(), self.system)
    }

    /// The whole card, a line for each part of which something is known.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let sha = self.sha_instructions.then(|| "SHA instructions".to_owned());
        let cpu = Some(self.processor());
        let usable = [Some(self.cpus_line()), self.limits.line()];
        let commit = self.build.commit.clone();
        let parts = [
            ("Processor", join([cpu, self.topology.line(), sha])),
            ("Caches", self.topology.caches_line()),
            ("Usable", join(usable)),
            (
                "System",
                join([Some(self.system.clone()), self.host.line()]),
            ),
            ("Power", self.power.line()),
            ("Build", self.build.line()),
            ("Instruction sets", self.build.target_features.clone()),
            ("Commit", commit),
        ];
        let known = |(name, text): (&str, Option<String>)| Some(format!("{name}: {}", text?));
        parts.into_iter().filter_map(known).collect()
    }

    /// Why times from this machine, as it is now, should not be taken; `None` if nothing is
    /// known against it.
    #[must_use]
    pub fn objection(&self) -> Option<&'static str> {
        (self.power.on_battery == Some(true))
            .then_some("the machine runs on battery, so its clock rate is not what it is on mains")
    }

    fn cpus_line(&self) -> String {
        match self.cpus {
            1 => "1 CPU".to_owned(),
            more => format!("{more} CPUs"),
        }
    }
}

/// The parts there are, with commas; `None` if there is none.
fn join(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let known: Vec<String> = parts.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The release may carry names that somebody gave; its numbers are enough.
fn system_line(release: &str) -> String {
    let is_number = |c: &char| c.is_ascii_digit() || *c == '.';
    let kernel: String = release.chars().take_while(is_number).collect();
    match env::consts::OS {
        "linux" => format!("Linux {kernel}").trim_end().to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{files::recorded::Recorded, *};

    const SERVER: &str = "
/proc/cpuinfo processor\t: 0
model name\t: Intel(R) Xeon(R)  CPU @ 2.50GHz
flags\t\t: fpu sha_ni avx2
/proc/sys/kernel/osrelease 6.1.0-18-cloud
/sys/devices/system/cpu/online 0-3
";

    #[test]
    fn the_model_is_read_and_tidied() {
        let machine = Machine::read(&Recorded(SERVER), 2, Some(3));
        assert_eq!(machine.cpu, "Intel Xeon CPU @ 2.50GHz");
        assert!(machine.sha_instructions);
        assert!(machine.line().contains("· 2 CPUs ·"));
    }

    #[test]
    fn a_kind_of_processor_is_its_model_and_its_design() {
        let mut machine = Machine::read(&Recorded(SERVER), 2, Some(3));
        assert_eq!(machine.processor(), "Intel Xeon CPU @ 2.50GHz");
        machine.microarchitecture = Some("Ice Lake".to_owned());
        assert_eq!(machine.processor(), "Intel Xeon CPU @ 2.50GHz, Ice Lake");
        assert!(
            machine
                .line()
                .starts_with("Intel Xeon CPU @ 2.50GHz, Ice Lake · 2 CPUs")
        );
    }

    #[test]
    fn a_silent_system_still_gives_a_line() {
        let machine = Machine::read(&Recorded(""), 1, None);
        assert_eq!(machine.cpu, env::consts::ARCH);
        assert!(machine.line().contains("1 CPU ·"));
        assert_eq!(machine.objection(), None);
    }

    #[test]
    fn the_card_has_a_line_for_each_part_that_is_known() {
        let machine = Machine::read(&Recorded(SERVER), 2, Some(3));
        let lines = machine.lines();
        let expected = "Processor: Intel Xeon CPU @ 2.50GHz, 4 hardware threads, SHA instructions";
        assert_eq!(lines[0], expected);
        assert_eq!(lines[1], "Usable: 2 CPUs, 3 in the affinity mask");
        assert!(
            !lines.iter().any(|line| line.starts_with("Power")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_card_of_four_fields_can_still_be_read() {
        let text = r#"{"cpu":"x","cpus":2,"system":"y","sha_instructions":true}"#;
        let machine: Machine = serde_json::from_str(text).unwrap();
        assert_eq!((machine.cpus, machine.topology), (2, Topology::default()));
    }

    #[test]
    fn the_card_of_this_machine_survives_its_file() {
        let machine = Machine::here();
        assert!(machine.cpus > 0 && machine.lines().len() >= 4);
        let text = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
    }

    #[test]
    fn a_battery_is_an_objection() {
        let mut machine = Machine::default();
        machine.power.on_battery = Some(true);
        assert!(
            machine
                .objection()
                .is_some_and(|reason| reason.contains("battery"))
        );
    }
}
