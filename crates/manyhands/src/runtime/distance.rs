//! How far the machine's processors are from one another, as far as the system reports it.
//!
//! Processors that share the last cache and a NUMA node are a *group*. From one group to another it is one step on the
//! same node, and two or more to another node: the nodes are ranked by the distances that the firmware gives. Nothing
//! nearer than the last cache is told apart, because threads that are not pinned change their core, but seldom the
//! cache: Linux wakes a thread on a processor that shares the last cache with where it ran.
//!
//! Only on Linux; elsewhere, where all processors are one group, and where the files are missing or not understood,
//! nothing is known, which is no error.
//!
//! Not here: what is done with it (`worker/victims.rs`), and how many processors may be used (`topology.rs`).

use crate::sync::{OnceLock, current_cpu, files};
use std::path::{Path, PathBuf};

/// The groups of processors, and how far they are from one another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Distances {
    /// The group of each processor, by the processor's number.
    group_of: Vec<Option<Group>>,
    /// How many groups there are.
    groups: usize,
    /// Steps from each group to each group, row by row.
    steps: Vec<u8>,
}

/// The number of a group.
pub(crate) type Group = u16;

impl Distances {
    /// Those of this machine, read at the first call. `None` if all processors are near each other or nothing is known.
    pub(crate) fn of_this_machine() -> Option<&'static Self> {
        static DISTANCES: OnceLock<Option<Distances>> = OnceLock::new();
        DISTANCES
            .get_or_init(|| {
                // Where nobody can say on which processor it runs, nothing can be near.
                current_cpu()?;
                Self::read(&files::read)
            })
            .as_ref()
    }

    /// The group of the processor that the calling thread was running on a moment ago.
    pub(crate) fn group_here(&self) -> Option<Group> {
        self.group_of.get(current_cpu()?).copied().flatten()
    }

    /// The group of a processor.
    #[cfg(test)]
    pub(crate) fn group_at(&self, cpu: usize) -> Option<Group> {
        self.group_of[cpu]
    }

    /// Steps from one group to the other, from 0 to [`STEPS_MAX`].
    pub(crate) fn steps(&self, from: Group, to: Group) -> u8 {
        self.steps[usize::from(from) * self.groups + usize::from(to)]
    }

    /// From what `read` finds in the system's files; `None` if that makes no more than one group.
    fn read(read: &dyn Fn(&Path) -> Option<String>) -> Option<Self> {
        let online = list(&read(Path::new("/sys/devices/system/cpu/online"))?)?;
        let nodes = Nodes::read(read);
        let mut group_of = vec![None; online.iter().max()? + 1];
        // The node of each group.
        let mut node_of_group = Vec::new();
        for &cpu in &online {
            if group_of[cpu].is_some() {
                continue;
            }
            let group = Group::try_from(node_of_group.len()).ok()?;
            let node = nodes.node_of(cpu);
            node_of_group.push(node);
            group_of[cpu] = Some(group);
            for near in near(cpu, read) {
                if online.contains(&near) && nodes.node_of(near) == node && group_of[near].is_none()
                {
                    group_of[near] = Some(group);
                }
            }
        }
        let groups = node_of_group.len();
        let steps = (0..groups * groups).map(|pair| {
            let (from, to) = (pair / groups, pair % groups);
            if from == to {
                0
            } else {
                nodes.steps(node_of_group[from], node_of_group[to])
            }
        });
        let steps = steps.collect();
        (groups > 1).then_some(Self {
            group_of,
            groups,
            steps,
        })
    }
}

/// The processors that share the last cache with `cpu`, or its package where caches are not reported.
fn near(cpu: usize, read: &dyn Fn(&Path) -> Option<String>) -> Vec<usize> {
    let directory = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"));
    let cache = |index: usize| directory.join(format!("cache/index{index}"));
    let level =
        |index: usize| -> Option<u32> { read(&cache(index).join("level"))?.trim().parse().ok() };
    let last = (0..CACHES_MAX)
        .map_while(|index| level(index).map(|level| (level, index)))
        .max();
    let shared = last
        .and_then(|(_, index)| read(&cache(index).join("shared_cpu_list")))
        .or_else(|| read(&directory.join("topology/package_cpus_list")))
        .or_else(|| read(&directory.join("topology/core_siblings_list")));
    shared.and_then(|text| list(&text)).unwrap_or_default()
}

/// The NUMA nodes.
struct Nodes {
    /// The processors of each.
    cpus: Vec<Vec<usize>>,
    /// The firmware's distances between them, row by row; empty if they are not known.
    distances: Vec<Vec<u32>>,
    /// The distances between different nodes, each once, the least first.
    ranks: Vec<u32>,
}

impl Nodes {
    fn read(read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let directory = Path::new("/sys/devices/system/node");
        let online = read(&directory.join("online")).and_then(|text| list(&text));
        let online = online.unwrap_or_default();
        let of = |node: &usize, file: &str| read(&directory.join(format!("node{node}/{file}")));
        let cpus = |node| of(node, "cpulist").and_then(|text| list(&text));
        let cpus = online.iter().map(|node| cpus(node).unwrap_or_default());
        let row = |node| -> Option<Vec<u32>> {
            let text = of(node, "distance")?;
            let row: Result<Vec<u32>, _> = text.split_whitespace().map(str::parse).collect();
            // One for each node that is online, in their order.
            row.ok().filter(|row| row.len() == online.len())
        };
        let cpus = cpus.collect();
        let distances: Option<Vec<_>> = online.iter().map(row).collect();
        let distances = distances.unwrap_or_default();
        let mut ranks: Vec<u32> = Vec::new();
        for (from, row) in distances.iter().enumerate() {
            let others = row.iter().enumerate().filter(|&(to, _)| to != from);
            ranks.extend(others.map(|(_, distance)| distance));
        }
        ranks.sort_unstable();
        ranks.dedup();
        Self {
            cpus,
            distances,
            ranks,
        }
    }

    /// The place of the processor's node among those that are online. All processors of which this is not known are on
    /// one node.
    fn node_of(&self, cpu: usize) -> Option<usize> {
        self.cpus.iter().position(|cpus| cpus.contains(&cpu))
    }

    /// Steps between different groups of these nodes.
    fn steps(&self, from: Option<usize>, to: Option<usize>) -> u8 {
        if from == to {
            return 1;
        }
        let rank = from.zip(to).and_then(|(from, to)| {
            let distance = self.distances.get(from)?.get(to)?;
            self.ranks.iter().position(|rank| rank == distance)
        });
        u8::try_from(2 + rank.unwrap_or(0)).map_or(STEPS_MAX, |steps| steps.min(STEPS_MAX))
    }
}

/// Reads a list as in `0-3,8`. `None` if that is not one.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= PROCESSORS_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The most steps from one group to another; what is farther counts as this far.
pub(crate) const STEPS_MAX: u8 = 5;
/// Linux has fewer; a number beyond is an error in the file.
const PROCESSORS_MAX: usize = 1 << 16;
/// Caches of one processor; there are about four.
const CACHES_MAX: usize = 16;

#[cfg(test)]
pub(super) mod tests {
    use super::{Distances, Group, STEPS_MAX, list};
    use std::collections::HashMap;
    use std::fmt::Write as _;
    use std::ops::Range;
    use std::path::Path;

    /// A machine's files, by their paths below `/sys/devices/system`.
    #[derive(Default)]
    pub(crate) struct Machine(HashMap<String, String>);

    impl Machine {
        fn with(mut self, path: &str, text: impl Into<String>) -> Self {
            self.0.insert(path.to_owned(), text.into());
            self
        }

        /// Processors of which each one's second cache is its core's and the third one that of its line in `shared`.
        fn with_processors(mut self, shared: &[&str]) -> Self {
            for text in shared {
                for cpu in list(text).unwrap() {
                    for (index, level, whose) in [
                        (0, 1, &*cpu.to_string()),
                        (1, 2, &*cpu.to_string()),
                        (2, 3, *text),
                    ] {
                        let cache = format!("cpu/cpu{cpu}/cache/index{index}");
                        self = self
                            .with(&format!("{cache}/level"), format!("{level}\n"))
                            .with(&format!("{cache}/shared_cpu_list"), format!("{whose}\n"));
                    }
                }
            }
            self
        }

        fn with_nodes(mut self, nodes: &[(&str, &str)]) -> Self {
            self = self.with("node/online", format!("0-{}\n", nodes.len() - 1));
            for (node, (cpus, distance)) in nodes.iter().enumerate() {
                self = self
                    .with(&format!("node/node{node}/cpulist"), format!("{cpus}\n"))
                    .with(
                        &format!("node/node{node}/distance"),
                        format!("{distance}\n"),
                    );
            }
            self
        }

        pub(crate) fn distances(&self) -> Option<Distances> {
            Distances::read(&|path: &Path| {
                let path = path.to_str()?.strip_prefix("/sys/devices/system/")?;
                self.0.get(path).cloned()
            })
        }
    }

    /// Two sockets, each with 48 cores of two threads and one cache; the second threads have the upper numbers.
    pub(crate) fn two_sockets() -> Machine {
        Machine::default()
            .with("cpu/online", "0-191\n")
            .with_processors(&["0-47,96-143", "48-95,144-191"])
            .with_nodes(&[("0-47,96-143", "10 21"), ("48-95,144-191", "21 10")])
    }

    /// One socket with eight caches of four cores with two threads each.
    pub(crate) fn eight_caches() -> Machine {
        let shared = (0..8).map(|group| {
            let first = 4 * group;
            format!("{first}-{},{}-{}", first + 3, first + 32, first + 35)
        });
        let shared: Vec<String> = shared.collect();
        let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
        Machine::default()
            .with("cpu/online", "0-63\n")
            .with_processors(&shared)
            .with_nodes(&[("0-63", "10")])
    }

    /// Two that share nothing.
    pub(crate) fn two_processors() -> Machine {
        Machine::default()
            .with("cpu/online", "0-1")
            .with_processors(&["0", "1"])
            .with_nodes(&[("0", "10 21"), ("1", "21 10")])
    }

    fn group(distances: &Distances, cpu: usize) -> Group {
        distances.group_of[cpu].unwrap()
    }

    /// All of `cpus` are in one group.
    fn assert_near(distances: &Distances, cpus: impl IntoIterator<Item = usize>) {
        let groups: Vec<_> = cpus.into_iter().map(|cpu| group(distances, cpu)).collect();
        assert!(
            groups.windows(2).all(|pair| pair[0] == pair[1]),
            "{groups:?}"
        );
    }

    fn steps(distances: &Distances, from: usize, to: usize) -> u8 {
        distances.steps(group(distances, from), group(distances, to))
    }

    #[test]
    fn two_sockets_are_two_groups_two_steps_apart() {
        let distances = two_sockets().distances().unwrap();
        assert_eq!(distances.groups, 2);
        assert_near(&distances, (0..48).chain(96..144));
        assert_near(&distances, (48..96).chain(144..192));
        assert_eq!(steps(&distances, 3, 99), 0);
        assert_eq!(steps(&distances, 3, 50), 2);
        assert_eq!(steps(&distances, 150, 100), 2);
    }

    #[test]
    fn caches_of_one_node_are_one_step_apart() {
        let distances = eight_caches().distances().unwrap();
        assert_eq!(distances.groups, 8);
        assert_near(&distances, (4..8).chain(36..40));
        assert_eq!(steps(&distances, 0, 34), 0);
        assert_eq!(steps(&distances, 0, 4), 1);
        assert_eq!(steps(&distances, 63, 0), 1);
    }

    #[test]
    fn nodes_are_ranked_by_their_distances() {
        let machine = Machine::default()
            .with("cpu/online", "0-5")
            .with_processors(&["0", "1", "2", "3", "4,5"])
            .with_nodes(&[
                ("0,1", "10 12 32 22"),
                ("2", "12 10 22 32"),
                ("3", "32 22 10 12"),
                ("4-5", "22 32 12 10"),
            ]);
        let distances = machine.distances().unwrap();
        let from_first: Vec<u8> = (0..6).map(|to| steps(&distances, 0, to)).collect();
        assert_eq!(from_first, [0, 1, 2, 4, 3, 3]);
    }

    #[test]
    fn a_cache_that_spans_two_nodes_makes_a_group_of_each() {
        let machine = Machine::default()
            .with("cpu/online", "0-3")
            .with_processors(&["0-3"])
            .with_nodes(&[("0-1", "10 11"), ("2-3", "11 10")]);
        let distances = machine.distances().unwrap();
        assert_eq!((distances.groups, steps(&distances, 0, 3)), (2, 2));
    }

    #[test]
    fn where_caches_are_not_reported_a_package_is_a_group() {
        let package = |machine: Machine, cpus: Range<usize>, text: &str| {
            cpus.fold(machine, |machine, cpu| {
                machine.with(&format!("cpu/cpu{cpu}/topology/core_siblings_list"), text)
            })
        };
        let machine = Machine::default().with("cpu/online", "0-3\n");
        let machine = package(package(machine, 0..2, "0-1\n"), 2..4, "2-3\n");
        let distances = machine.distances().unwrap();
        assert_eq!(steps(&distances, 0, 1), 0);
        assert_eq!(steps(&distances, 0, 2), 1, "no node is known");
    }

    #[test]
    fn one_group_or_no_files_tell_nothing() {
        let machine = Machine::default()
            .with("cpu/online", "0-1")
            .with_processors(&["0-1"]);
        assert_eq!(machine.distances(), None);
        assert_eq!(Machine::default().distances(), None);
        assert_eq!(two_sockets().with("cpu/online", "0-x").distances(), None);
        assert_eq!(two_sockets().with("cpu/online", "").distances(), None);
    }

    #[test]
    fn malformed_files_leave_what_the_others_say() {
        let caches = |text: &str| two_sockets().with("cpu/cpu0/cache/index2/shared_cpu_list", text);
        for text in ["", "nonsense", "5-2", "0-99999999999", "\u{0}"] {
            let distances = caches(text).distances().unwrap();
            // The first processor is alone in its group, the second one makes the rest's.
            assert_eq!(distances.groups, 3, "{text}");
            assert_eq!(steps(&distances, 0, 1), 1, "{text}");
            assert_eq!(steps(&distances, 0, 50), 2, "{text}");
        }
        for text in ["", "10", "10 x", "10 21 33", "-10 21"] {
            let machine = two_sockets().with("node/node0/distance", text);
            assert_eq!(steps(&machine.distances().unwrap(), 0, 50), 2, "{text}");
        }
        let machine = two_sockets().with("node/online", "what");
        assert_eq!(steps(&machine.distances().unwrap(), 0, 50), 1);
    }

    #[test]
    fn a_processor_that_is_offline_is_in_no_group() {
        let distances = two_sockets()
            .with("cpu/online", "0-9,48-191")
            .distances()
            .unwrap();
        assert_eq!(distances.group_of[10], None);
        assert_near(&distances, (0..10).chain(96..144));
    }

    #[test]
    fn no_group_is_farther_than_the_last_step() {
        let nodes = 12_u32;
        let mut machine = Machine::default().with("cpu/online", format!("0-{}", nodes - 1));
        machine = machine.with("node/online", format!("0-{}", nodes - 1));
        for node in 0..nodes {
            let mut row = String::new();
            for to in 0..nodes {
                write!(row, "{} ", 10 + node.abs_diff(to)).unwrap();
            }
            machine = machine
                .with(&format!("node/node{node}/cpulist"), node.to_string())
                .with(&format!("node/node{node}/distance"), row);
        }
        let distances = machine.distances().unwrap();
        assert_eq!(steps(&distances, 0, 11), STEPS_MAX);
        assert_eq!(steps(&distances, 0, 1), 2);
    }

    #[test]
    fn this_machine_s_files_are_understood_or_say_nothing() {
        if let Some(distances) = Distances::of_this_machine() {
            assert!(distances.groups > 1);
            assert!(distances.group_here().is_some());
        }
    }
}
