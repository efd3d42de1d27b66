//! How the machine's CPUs hang together: sockets, cores, hardware threads, caches, memory nodes.

use super::files::{Files, parse_list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const CPUS: &str = "/sys/devices/system/cpu";

/// Shape of the whole machine, whatever part of it this process may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Processor packages.
    pub sockets: Option<usize>,
    /// Cores, all sockets together.
    pub cores: Option<usize>,
    /// Hardware threads, all cores together; more than cores if cores run several at once.
    pub threads: Option<usize>,
    /// Memory nodes.
    pub memory_nodes: Option<usize>,
    /// Caches of the first CPU, as the system lists them.
    pub caches: Vec<Cache>,
}

/// One cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// "Data", "Instruction" or "Unified".
    pub kind: String,
    /// Size.
    pub bytes: u64,
    /// CPUs that share it.
    pub shared_by: usize,
}

impl Topology {
    pub(super) fn read(files: &impl Files) -> Self {
        let list = |path: &str| parse_list(&files.text(path)?);
        let online = list(&format!("{CPUS}/online"));
        let distinct = |name: &str| {
            let of_cpu = |cpu: &u32| files.text(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
            let all: Option<BTreeSet<String>> = online.as_ref()?.iter().map(of_cpu).collect();
            all.map(|all| all.len())
        };
        Self {
            sockets: distinct("physical_package_id"),
            cores: distinct("thread_siblings_list"),
            threads: online.as_ref().map(Vec::len),
            memory_nodes: list("/sys/devices/system/node/online").map(|nodes| nodes.len()),
            caches: (0..).map_while(|idx| Cache::read(files, idx)).collect(),
        }
    }

    /// "1 socket, 4 cores, 8 hardware threads", as far as known.
    pub(super) fn line(&self) -> Option<String> {
        let parts = [
            counted(self.sockets, "socket"),
            counted(self.cores, "core"),
            counted(self.threads, "hardware thread"),
            counted(self.memory_nodes, "memory node"),
        ];
        super::join(parts)
    }

    /// "L1d 48 KiB, L3 32 MiB shared by 8".
    pub(super) fn caches_line(&self) -> Option<String> {
        super::join(self.caches.iter().map(|cache| Some(cache.line())))
    }
}

impl Cache {
    fn read(files: &impl Files, idx: usize) -> Option<Self> {
        let text = |name: &str| files.text(&format!("{CPUS}/cpu0/cache/index{idx}/{name}"));
        Some(Self {
            level: text("level")?.parse().ok()?,
            kind: text("type")?,
            bytes: size_bytes(&text("size")?)?,
            shared_by: parse_list(&text("shared_cpu_list")?)?.len(),
        })
    }

    fn line(&self) -> String {
        let level = self.level;
        let kind = match self.kind.as_str() {
            "Data" => "d",
            "Instruction" => "i",
            _ => "",
        };
        let size = match self.bytes >> 10 {
            kibibytes if kibibytes >= 1_024 && kibibytes % 1_024 == 0 => {
                format!("{} MiB", kibibytes >> 10)
            }
            kibibytes => format!("{kibibytes} KiB"),
        };
        match self.shared_by {
            0 | 1 => format!("L{level}{kind} {size}"),
            more => format!("L{level}{kind} {size} shared by {more}"),
        }
    }
}

fn size_bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn counted(count: Option<usize>, what: &str) -> Option<String> {
    let plural = if count? == 1 { "" } else { "s" };
    Some(format!("{} {what}{plural}", count?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::files::recorded::Recorded;

    /// One socket, two cores of two threads, numbered as Linux does: siblings are far apart.
    const LAPTOP: &str = "
/sys/devices/system/cpu/online 0-3
/sys/devices/system/node/online 0
/sys/devices/system/cpu/cpu0/topology/physical_package_id 0
/sys/devices/system/cpu/cpu1/topology/physical_package_id 0
/sys/devices/system/cpu/cpu2/topology/physical_package_id 0
/sys/devices/system/cpu/cpu3/topology/physical_package_id 0
/sys/devices/system/cpu/cpu0/topology/thread_siblings_list 0,2
/sys/devices/system/cpu/cpu1/topology/thread_siblings_list 1,3
/sys/devices/system/cpu/cpu2/topology/thread_siblings_list 0,2
/sys/devices/system/cpu/cpu3/topology/thread_siblings_list 1,3
/sys/devices/system/cpu/cpu0/cache/index0/level 1
/sys/devices/system/cpu/cpu0/cache/index0/type Data
/sys/devices/system/cpu/cpu0/cache/index0/size 48K
/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list 0
/sys/devices/system/cpu/cpu0/cache/index1/level 3
/sys/devices/system/cpu/cpu0/cache/index1/type Unified
/sys/devices/system/cpu/cpu0/cache/index1/size 32768K
/sys/devices/system/cpu/cpu0/cache/index1/shared_cpu_list 0-3
";

    #[test]
    fn siblings_make_one_core() {
        let topology = Topology::read(&Recorded(LAPTOP));
        let line = topology.line().unwrap();
        assert_eq!(line, "1 socket, 2 cores, 4 hardware threads, 1 memory node");
        let caches = topology.caches_line().unwrap();
        assert_eq!(caches, "L1d 48 KiB, L3 32 MiB shared by 4");
    }

    #[test]
    fn a_silent_system_has_no_topology() {
        let topology = Topology::read(&Recorded(""));
        assert_eq!(topology, Topology::default());
        assert_eq!((topology.line(), topology.caches_line()), (None, None));
    }

    #[test]
    fn half_the_files_do_not_make_half_the_cores() {
        let (files, _) = LAPTOP.split_once("1,3").unwrap();
        let topology = Topology::read(&Recorded(files));
        assert_eq!((topology.sockets, topology.cores), (Some(1), None));
        assert_eq!(topology.threads, Some(4));
    }

    #[test]
    fn sizes_may_have_units() {
        assert_eq!(size_bytes("48K"), Some(49_152));
        assert_eq!(size_bytes("2M"), Some(2_097_152));
        assert_eq!(size_bytes("512"), Some(512));
        for text in ["", "K", "x4K", "99999999999999999999K"] {
            assert_eq!(size_bytes(text), None, "{text:?}");
        }
    }
}
