//! Experiments, their cases and arms, as values.
//!
//! # Threads
//! Everything here stays on the thread that measures; only the bodies of the arms go elsewhere.

use std::{
    fmt,
    hash::{Hash, Hasher},
    hint,
};

/// One question with its cases, for example "five hashes over one paragraph".
pub struct Experiment {
    id: &'static str,
    title: &'static str,
    cases: Vec<Box<dyn Workload>>,
}

impl Experiment {
    /// Makes an experiment without cases.
    #[must_use]
    pub fn new(id: &'static str, title: &'static str) -> Self {
        Self {
            id,
            title,
            cases: Vec::new(),
        }
    }

    /// Adds a case.
    #[must_use]
    pub fn case(mut self, case: impl Workload + 'static) -> Self {
        self.cases.push(Box::new(case));
        self
    }

    /// Short name, unique in a registry.
    #[must_use]
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// One line for people.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The cases in the order they run.
    #[must_use]
    pub fn cases(&self) -> &[Box<dyn Workload>] {
        &self.cases
    }
}

impl fmt::Debug for Experiment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases: Vec<&str> = self.cases.iter().map(|case| case.name()).collect();
        formatter
            .debug_struct("Experiment")
            .field("id", &self.id)
            .field("cases", &cases)
            .finish_non_exhaustive()
    }
}

/// Which of a case's sizes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The sizes the experiment is about.
    Full,
    /// Small sizes that only show that everything works.
    Quick,
}

/// A case as the runner sees it, whatever its arms store.
pub trait Workload {
    /// Name within the experiment.
    fn name(&self) -> &str;

    /// Names of the arms; the first is the baseline.
    fn arms(&self) -> Vec<&'static str>;

    /// Sizes to measure, ascending.
    fn sizes(&self, scale: Scale) -> &[usize];

    /// Makes room for the results of size `n`; the arms are not called yet.
    fn open(&self, n: usize) -> Box<dyn Trial + '_>;
}

/// A case at one size, ready to be timed.
pub trait Trial {
    /// Forgets the results of earlier calls. Not timed.
    fn reset(&mut self);

    /// Calls one arm `times` times. This is what is timed.
    fn call(&mut self, arm: usize, times: u32);

    /// Checksum of the results stored by the last call. Not timed.
    fn checksum(&self) -> u64;
}

/// A case whose arms store results of type `R` in a vector.
///
/// Every arm gets the same vector, so that all arms write to the same pages. It is cleared before
/// each sample and its checksum compared after it: an arm that stores nothing is found out.
pub struct Case<R> {
    name: &'static str,
    full: Vec<usize>,
    quick: Vec<usize>,
    room: Room<R>,
    arms: Vec<(&'static str, ArmBody<R>)>,
}

type ArmBody<R> = Box<dyn Fn(usize, &mut Vec<R>)>;

/// What the vector holds when an arm starts.
enum Room<R> {
    /// As many copies of this as the size says: the arm overwrites them.
    Slots(R),
    /// Nothing: the arm makes the vector.
    Empty,
}

impl<R> Case<R> {
    /// A case whose arms find `n` slots holding `blank` and overwrite them.
    #[must_use]
    pub fn slots(name: &'static str, blank: R) -> Self {
        Self::with_room(name, Room::Slots(blank))
    }

    /// A case whose arms find an empty vector and put their own in its place.
    #[must_use]
    pub fn collected(name: &'static str) -> Self {
        Self::with_room(name, Room::Empty)
    }

    fn with_room(name: &'static str, room: Room<R>) -> Self {
        Self {
            name,
            full: Vec::new(),
            quick: Vec::new(),
            room,
            arms: Vec::new(),
        }
    }

    /// Sets the sizes, ascending; also those of a quick run unless they are set on their own.
    #[must_use]
    pub fn full_sizes(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.full = sizes.into_iter().collect();
        self
    }

    /// Sets the sizes of a quick run, ascending.
    #[must_use]
    pub fn quick_sizes(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.quick = sizes.into_iter().collect();
        self
    }

    /// Adds an arm: a closure that is given the size and the vector for its results. The first
    /// arm is the baseline.
    #[must_use]
    pub fn arm(mut self, name: &'static str, body: impl Fn(usize, &mut Vec<R>) + 'static) -> Self {
        self.arms.push((name, Box::new(body)));
        self
    }
}

impl<R: Clone + Hash> Workload for Case<R> {
    fn name(&self) -> &str {
        self.name
    }

    fn arms(&self) -> Vec<&'static str> {
        self.arms.iter().map(|(name, _)| *name).collect()
    }

    fn sizes(&self, scale: Scale) -> &[usize] {
        match scale {
            Scale::Quick if !self.quick.is_empty() => &self.quick,
            Scale::Quick | Scale::Full => &self.full,
        }
    }

    fn open(&self, n: usize) -> Box<dyn Trial + '_> {
        Box::new(Stored {
            case: self,
            n,
            results: Vec::new(),
        })
    }
}

impl<R> fmt::Debug for Case<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arms: Vec<&str> = self.arms.iter().map(|(name, _)| *name).collect();
        formatter
            .debug_struct("Case")
            .field("name", &self.name)
            .field("sizes", &self.full)
            .field("arms", &arms)
            .finish_non_exhaustive()
    }
}

/// The vector all arms of an open case share.
struct Stored<'case, R> {
    case: &'case Case<R>,
    n: usize,
    results: Vec<R>,
}

impl<R: Clone + Hash> Trial for Stored<'_, R> {
    fn reset(&mut self) {
        self.results.clear();
        if let Room::Slots(blank) = &self.case.room {
            self.results.resize(self.n, blank.clone());
        }
    }

    fn call(&mut self, arm: usize, times: u32) {
        let (_, body) = &self.case.arms[arm];
        for _ in 0..times {
            body(hint::black_box(self.n), &mut self.results);
            hint::black_box(&mut self.results);
        }
    }

    fn checksum(&self) -> u64 {
        let mut checksum = Checksum::new();
        self.results.hash(&mut checksum);
        checksum.finish()
    }
}

/// A fast order-sensitive hash, eight bytes a step, so that 64 MB of results take some 10 ms.
/// It guards against mistakes, not against people.
struct Checksum(u64);

impl Checksum {
    fn new() -> Self {
        Self(FNV_OFFSET)
    }

    fn step(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(GOLDEN_ODD);
    }
}

impl Hasher for Checksum {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.step(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.step(u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const GOLDEN_ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    fn checksum_of(results: &[u64]) -> u64 {
        let mut checksum = Checksum::new();
        results.hash(&mut checksum);
        checksum.finish()
    }

    #[test]
    fn the_checksum_sees_values_order_and_length() {
        let all = [
            checksum_of(&[]),
            checksum_of(&[0]),
            checksum_of(&[0, 0]),
            checksum_of(&[1, 2]),
            checksum_of(&[2, 1]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(one), "{all:x?}");
        }
    }

    #[test]
    fn an_arm_that_stores_nothing_has_another_checksum() {
        let case = Case::slots("c", 0_u8)
            .full_sizes([4])
            .arm("fills", |_, slots| slots.fill(9))
            .arm("forgets", |_, _| ());
        let mut trial = case.open(4);
        trial.reset();
        trial.call(0, 1);
        let filled = trial.checksum();
        trial.reset();
        trial.call(1, 1);
        assert_ne!(filled, trial.checksum());
    }

    #[test]
    fn quick_sizes_fall_back_to_the_full_ones() {
        let case = Case::<u8>::collected("c").full_sizes([1, 2]);
        assert_eq!(case.sizes(Scale::Quick), [1, 2]);
        let case = case.quick_sizes([1]);
        assert_eq!(case.sizes(Scale::Quick), [1]);
        assert_eq!(case.sizes(Scale::Full), [1, 2]);
    }
}
