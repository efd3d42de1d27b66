//! The machine the numbers come from, as far as it tells.

use std::{env, fs, thread};

/// What is printed beside every result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Processor model, or the architecture if the system does not say.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: usize,
    /// Operating system and kernel.
    pub system: String,
    /// Whether the processor hashes SHA-1 and SHA-256 in hardware: then SHA-256 beats SHA-512.
    pub sha_instructions: bool,
}

impl Machine {
    /// Asks the system.
    #[must_use]
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self::from_parts(
            &cpuinfo,
            &release,
            thread::available_parallelism().map_or(1, usize::from),
        )
    }

    fn from_parts(cpuinfo: &str, release: &str, cpus: usize) -> Self {
        let model = field(cpuinfo, "model name").map(tidy_model);
        let flags = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features"));
        let has_sha = |flags: &str| {
            flags
                .split_whitespace()
                .any(|flag| flag == "sha_ni" || flag == "sha2")
        };
        let kernel: String = release
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let system = match env::consts::OS {
            "linux" => format!("Linux {kernel}").trim_end().to_owned(),
            other => other.to_owned(),
        };
        Self {
            cpu: model.unwrap_or_else(|| env::consts::ARCH.to_owned()),
            cpus,
            system,
            sha_instructions: flags.is_some_and(has_sha),
        }
    }

    /// One line: processor, CPUs, system.
    #[must_use]
    pub fn line(&self) -> String {
        let cpus = match self.cpus {
            1 => "1 CPU".to_owned(),
            more => format!("{more} CPUs"),
        };
        format!("{} · {cpus} · {}", self.cpu, self.system)
    }
}

fn field<'text>(cpuinfo: &'text str, name: &str) -> Option<&'text str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// Drops trademark signs and repeated spaces.
fn tidy_model(model: &str) -> String {
    let plain = model.replace("(R)", "").replace("(TM)", "");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_and_tidied() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R)  CPU @ 2.50GHz\n\
                       flags\t\t: fpu sha_ni avx2\n";
        let machine = Machine::from_parts(cpuinfo, "6.1.0-18-cloud\n", 2);
        assert_eq!(machine.cpu, "Intel Xeon CPU @ 2.50GHz");
        assert!(machine.sha_instructions);
        assert!(machine.line().contains("· 2 CPUs ·"));
    }

    #[test]
    fn a_silent_system_still_gives_a_line() {
        let machine = Machine::from_parts("", "", 1);
        assert_eq!(machine.cpu, env::consts::ARCH);
        assert!(machine.line().contains("1 CPU ·"));
    }
}
