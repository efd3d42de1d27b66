//! In which order a worker without work looks at the others: the nearest first.
//!
//! What is taken from near comes through a cache that both share, or at least from memory of the same node. Threads are
//! not pinned, so near is who was last seen on a processor near the one on which the thief runs at this moment. A worker
//! notes where it is whenever it looks at others, which it does before it sleeps, after it has woken, and once in a
//! round of its own work; an external thread notes it when it enters. A note may be old. Then a look comes later than
//! it could, and nothing else: every order has all others in it.
//!
//! Pools of up to [`WORKERS_UNORDERED`] workers, and machines of which no distances are known, look around as if all
//! were equally near.
//!
//! Not here: the distances (`runtime/distance.rs`), and the looking (`run_loop.rs`).
//!
//! # Threads
//! Each position has one writer, the occupant of its slot. Any thread reads.

use crate::runtime::distance::{Distances, Group, STEPS_MAX};
use crate::sync::atomic::{AtomicU32, Ordering};

/// Where the threads of one runtime were last seen.
#[derive(Debug)]
pub(crate) struct LastSeen {
    distances: Option<&'static Distances>,
    /// One more than the group, by slot; 0: not seen yet. Written only where a thread has come to another group, so
    /// that it can be read without moving cache lines.
    groups: Box<[AtomicU32]>,
}

impl LastSeen {
    /// Nobody was seen yet. There are `slots` places.
    pub(crate) fn new(workers: usize, slots: usize) -> Self {
        let distances = (workers > WORKERS_UNORDERED)
            .then(Self::distances)
            .flatten();
        Self::with_distances(distances, slots)
    }

    fn distances() -> Option<&'static Distances> {
        #[cfg(all(test, not(shuttle)))]
        if let Some(distances) = tests::PRETENDED.get() {
            return Some(distances);
        }
        Distances::of_this_machine()
    }

    fn with_distances(distances: Option<&'static Distances>, slots: usize) -> Self {
        let slots = distances.map_or(0, |_| slots);
        Self {
            distances,
            groups: (0..slots).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Whether some are nearer than others.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.distances.is_some()
    }

    /// Occupant of the slot: notes where it is now. Returns how far each slot is from there, in steps.
    pub(crate) fn look_from(&self, slot: usize) -> impl Fn(usize) -> u8 {
        let here = self.distances.and_then(Distances::group_here);
        self.note(slot, here);
        move |other| self.steps(here, other)
    }

    /// Occupant of the slot: notes where it is now.
    #[inline]
    pub(crate) fn note_here(&self, slot: usize) {
        if let Some(distances) = self.distances {
            self.note(slot, distances.group_here());
        }
    }

    fn note(&self, slot: usize, here: Option<Group>) {
        let (Some(here), Some(group)) = (here, self.groups.get(slot)) else {
            return;
        };
        let here = u32::from(here) + 1;
        // Relaxed, both: a hint, with one writer.
        if group.load(Ordering::Relaxed) != here {
            group.store(here, Ordering::Relaxed);
        }
    }

    fn steps(&self, here: Option<Group>, other: usize) -> u8 {
        // Relaxed: a hint.
        let group = self.groups.get(other).map(|it| it.load(Ordering::Relaxed));
        let group = group.and_then(|group| Group::try_from(group.checked_sub(1)?).ok());
        match (self.distances, here, group) {
            (Some(distances), Some(here), Some(group)) => distances.steps(here, group),
            _ => STEPS_MAX,
        }
    }
}

/// The positions from 0 to `count`, each once: those with fewer steps first, and beginning at a random one of those
/// with as many. Positions from [`ORDERED_MAX`] come last. `steps` is called once for each of the others.
pub(crate) fn nearest_first(
    count: usize,
    random: usize,
    steps: impl Fn(usize) -> u8,
) -> impl Iterator<Item = usize> {
    let ordered = count.min(ORDERED_MAX);
    let mut steps_of = [0; ORDERED_MAX];
    let mut ends = [0; RINGS];
    for (position, of) in steps_of[..ordered].iter_mut().enumerate() {
        *of = steps(position).min(STEPS_MAX);
        ends[usize::from(*of)] += 1;
    }
    let mut begin = 0;
    let begins = ends.map(|len| {
        begin += len;
        begin - len
    });
    let mut order = [0_u16; ORDERED_MAX];
    let mut next = begins;
    for (position, of) in (0_u16..).zip(&steps_of[..ordered]) {
        let next = &mut next[usize::from(*of)];
        order[*next] = position;
        *next += 1;
    }
    for (begin, len) in begins.into_iter().zip(ends).filter(|&(_, len)| len > 0) {
        order[begin..begin + len].rotate_left(random % len);
    }
    let rest = count - ordered;
    let others = (0..rest).map(move |step| ordered + (step + random % rest) % rest);
    (0..ordered)
        .map(move |index| usize::from(order[index]))
        .chain(others)
}

/// In smaller pools a look at all others takes about as long as it takes to know who is near. Not measured: there was no
/// machine with more than one group.
const WORKERS_UNORDERED: usize = 8;
/// Positions that are put in order. As many as the threads of the largest machines; a look at more takes longer than any
/// order could save.
const ORDERED_MAX: usize = 512;
/// Groups of positions that are equally far.
const RINGS: usize = STEPS_MAX as usize + 1;

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::{LastSeen, ORDERED_MAX, STEPS_MAX, WORKERS_UNORDERED, nearest_first};
    use crate::runtime::distance::Distances;
    use crate::runtime::distance::tests::{eight_caches, two_processors, two_sockets};
    use crate::{Runtime, join, parallel, task};
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Mutex, PoisonError};

    thread_local! {
        /// In place of this machine's distances, for the runtimes that this thread makes.
        pub(super) static PRETENDED: Cell<Option<&'static Distances>> = const { Cell::new(None) };
    }

    /// Keeps them for as long as the process lives, where leak checkers see that they are kept.
    fn keep(distances: Distances) -> &'static Distances {
        static KEPT: Mutex<Vec<&Distances>> = Mutex::new(Vec::new());
        let kept = Box::leak(Box::new(distances));
        KEPT.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(kept);
        kept
    }

    /// The order of a thief on processor `here` where worker number n was seen on processor n.
    fn order(distances: &'static Distances, cpus: usize, here: usize, random: usize) -> Vec<usize> {
        let seen = LastSeen::with_distances(Some(distances), cpus);
        (0..cpus).for_each(|cpu| seen.note(cpu, distances.group_at(cpu)));
        let here = distances.group_at(here);
        nearest_first(cpus, random, |other| seen.steps(here, other)).collect()
    }

    fn assert_complete(order: &[usize], count: usize) {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..count), "{order:?}");
    }

    #[test]
    fn on_two_sockets_the_own_one_comes_first() {
        let distances = keep(two_sockets().distances().unwrap());
        for random in [0, 1, 95, 96, 1_000_003] {
            let order = order(distances, 192, 50, random);
            assert_complete(&order, 192);
            let is_near = |cpu: &usize| (48..96).contains(cpu) || *cpu >= 144;
            assert!(order[..96].iter().all(is_near), "{order:?}");
        }
    }

    #[test]
    fn on_a_processor_with_eight_caches_the_own_one_comes_first() {
        let distances = keep(eight_caches().distances().unwrap());
        for random in 0..100 {
            let order = order(distances, 64, 37, random);
            assert_complete(&order, 64);
            let is_near = |cpu: &usize| (4..8).contains(cpu) || (36..40).contains(cpu);
            assert!(order[..8].iter().all(is_near), "{order:?}");
        }
    }

    #[test]
    fn among_equals_each_is_first_equally_often() {
        let mut firsts = [0; 64];
        let mut first_far = [0; 64];
        let distances = keep(eight_caches().distances().unwrap());
        for random in 0..56 * 8 {
            let order = order(distances, 64, 0, random);
            firsts[order[0]] += 1;
            first_far[order[8]] += 1;
        }
        let near = |cpu: usize| cpu < 4 || (32..36).contains(&cpu);
        for cpu in 0..64 {
            assert_eq!(firsts[cpu], if near(cpu) { 56 } else { 0 }, "{cpu}");
            assert_eq!(first_far[cpu], if near(cpu) { 0 } else { 8 }, "{cpu}");
        }
    }

    #[test]
    fn every_position_is_visited_once_whatever_the_steps() {
        for count in [0, 1, 2, 63, 64, ORDERED_MAX - 1, ORDERED_MAX, 1_500] {
            for random in [0, 1, 7, usize::MAX / 2, usize::MAX - 2_000] {
                let steps = |at| u8::try_from(at % 11).unwrap();
                let order: Vec<_> = nearest_first(count, random, steps).collect();
                assert_complete(&order, count);
                let ordered = &order[..count.min(ORDERED_MAX)];
                let steps: Vec<_> = ordered.iter().map(|at| (at % 11).min(5)).collect();
                assert!(steps.is_sorted(), "{steps:?}");
            }
        }
    }

    #[test]
    fn a_pool_that_knows_distances_runs_everything_once() {
        PRETENDED.set(Some(keep(two_processors().distances().unwrap())));
        let runtime = Runtime::builder().workers(2 * WORKERS_UNORDERED).build();
        PRETENDED.set(None);
        let runtime = runtime.unwrap();
        assert!(runtime.shared().knows_distances());
        let small = Runtime::builder().workers(WORKERS_UNORDERED).build();
        assert!(!small.unwrap().shared().knows_distances());
        runtime.install(|| {
            for _ in 0..20 {
                let sum = AtomicU64::new(0);
                let add = |i| {
                    let (a, b) = join(|| i, || busy(1));
                    sum.fetch_add(a + b, Ordering::Relaxed);
                };
                parallel::for_each(0..2_000_u64, add);
                assert_eq!(sum.into_inner(), 1_999 * 1_000 + 2_000);
                let tasks: Vec<_> = (0..100).map(|i| task::run(move || busy(i))).collect();
                let sum: u64 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
                assert_eq!(sum, 4_950);
            }
        });
    }

    /// Takes a microsecond or so.
    fn busy(value: u64) -> u64 {
        (0..200).fold(value, |value, _| std::hint::black_box(value))
    }

    #[test]
    fn who_was_not_seen_comes_last_and_where_nothing_is_known_all_are_equal() {
        let distances = keep(two_sockets().distances().unwrap());
        let seen = LastSeen::with_distances(Some(distances), 3);
        seen.note(0, distances.group_at(100));
        seen.note(1, distances.group_at(0));
        let steps = |here: Option<_>| [0, 1, 2].map(|other| seen.steps(here, other));
        assert_eq!(steps(distances.group_at(1)), [0, 0, STEPS_MAX]);
        assert_eq!(steps(None), [STEPS_MAX; 3]);
        let seen = LastSeen::with_distances(None, 3);
        assert!(!seen.is_used());
        seen.note(0, Some(1));
        assert_eq!(seen.look_from(0)(1), STEPS_MAX);
    }
}
