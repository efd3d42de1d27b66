//! The builder of cases: arms are closures over the size that store or return results.

use super::{Trial, Workload, checksum};
use crate::record::{Scale, Throughput};
use std::{any::Any, borrow::Cow, fmt, hash::Hash, hint, marker::PhantomData};

/// A case whose arms give results of type `R`.
///
/// `K` says how: arms that are [`Stored`] fill a vector that all arms share, so that all write to
/// the same pages; arms that are [`Returned`] give back one value. Results are cleared before
/// each sample and their checksum is compared after it: an arm that does nothing is found out.
///
/// # Examples
/// ```
/// use manyhands_lab::{Case, Workload};
///
/// let stored = Case::slots("squares", 0_u64)
///     .full_sizes([1_000, 10_000])
///     .unit("square")
///     .arm("by index", |n, slots| {
///         for index in 0..n {
///             slots[index] = (index as u64).pow(2);
///         }
///     })
///     .arm("by iterator", |_, slots| {
///         for (index, slot) in slots.iter_mut().enumerate() {
///             *slot = (index as u64).pow(2);
///         }
///     });
/// assert_eq!(stored.arms(), ["by index", "by iterator"]);
///
/// let returned = Case::returning("sum")
///     .full_sizes([1_000])
///     .arm("formula", |n| n * (n + 1) / 2)
///     .arm_async("loop", |n| async move { (0..=n).sum() });
/// let mut trial = returned.open(1_000);
/// assert_eq!(trial.called(0), trial.called(1));
/// ```
pub struct Case<R, K = Stored> {
    name: Cow<'static, str>,
    unit: Cow<'static, str>,
    throughput: Option<Throughput>,
    full: Vec<usize>,
    standard: Option<Vec<usize>>,
    quick: Option<Vec<usize>>,
    finds_break_even: bool,
    cpus: Option<usize>,
    order: Order,
    room: Room<R>,
    checksum: Checksum<R>,
    arms: Vec<Arm<R>>,
    kind: PhantomData<fn() -> K>,
}

/// Arms get the size and a vector for their results.
#[derive(Debug, Clone, Copy)]
pub struct Stored;

/// Arms get the size and return their result.
#[derive(Debug, Clone, Copy)]
pub struct Returned;

/// An arm that returns its result leaves it as the vector's only element.
struct Arm<R> {
    name: Cow<'static, str>,
    /// Makes the input of a call, outside of what is timed.
    set_up: Option<SetUp>,
    body: Body<R>,
}

/// The checksum of results, in their order or in any.
type Checksum<R> = Box<dyn Fn(&[R], Order) -> u64 + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Kept,
    Any,
}

fn checksum_of<T: Hash>(results: &[T], order: Order) -> u64 {
    match order {
        Order::Kept => checksum::of(results),
        Order::Any => checksum::in_any_order(results),
    }
}

type SetUp = Box<dyn Fn(usize) -> Box<dyn Any> + Send + Sync>;
/// Gets the size, the input of this call if one was made, and the results.
type Body<R> = Box<dyn Fn(usize, Option<Box<dyn Any>>, &mut Vec<R>) + Send + Sync>;

/// What the vector holds when an arm starts.
enum Room<R> {
    /// As many copies of this as the size says: the arm overwrites them.
    Slots(R),
    /// Nothing: the arm makes the vector.
    Empty,
}

impl<R: Hash + 'static> Case<R> {
    /// A case whose arms find `n` slots holding `blank` and overwrite them.
    #[must_use]
    pub fn slots(name: impl Into<Cow<'static, str>>, blank: R) -> Self {
        Self::with_room(name.into(), Room::Slots(blank), Box::new(checksum_of))
    }

    /// A case whose arms find an empty vector and put their own in its place.
    #[must_use]
    pub fn collected(name: impl Into<Cow<'static, str>>) -> Self {
        Self::with_room(name.into(), Room::Empty, Box::new(checksum_of))
    }
}

impl<R> Case<R> {
    /// Adds an arm: a closure that is given the size and the vector for its results. The first arm is the baseline.
    #[must_use]
    pub fn arm(
        self,
        name: impl Into<Cow<'static, str>>,
        body: impl Fn(usize, &mut Vec<R>) + Send + Sync + 'static,
    ) -> Self {
        let body = move |n, _, results: &mut Vec<R>| body(n, results);
        self.with_arm(name.into(), None, Box::new(body))
    }
}

impl<R: Hash + 'static> Case<R, Returned> {
    /// A case whose arms return their result. Dropping the result of one call is part of the next one's time.
    #[must_use]
    pub fn returning(name: impl Into<Cow<'static, str>>) -> Self {
        Self::with_room(name.into(), Room::Empty, Box::new(checksum_of))
    }
}

impl<R: 'static> Case<R, Returned> {
    /// A case whose arms return what has no hash, such as floats: arms agree where the keys of their
    /// results are equal. Otherwise as [`returning`](Self::returning).
    ///
    /// Sums of floats in another order differ in their last digits; a key that keeps fewer digits lets them agree.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{Case, Workload};
    ///
    /// let case = Case::returning_with_key("sum of roots", |sum: &f64| format!("{sum:.6e}"))
    ///     .full_sizes([1_000])
    ///     .arm("up", |n| (0..n).map(|i| (i as f64).sqrt()).sum())
    ///     .arm("down", |n| (0..n).rev().map(|i| (i as f64).sqrt()).sum());
    /// let mut trial = case.open(1_000);
    /// assert_eq!(trial.called(0), trial.called(1));
    /// ```
    #[must_use]
    pub fn returning_with_key<Key: Hash>(
        name: impl Into<Cow<'static, str>>,
        key: impl Fn(&R) -> Key + Send + Sync + 'static,
    ) -> Self {
        let of_keys = move |results: &[R], order| {
            let keys: Vec<Key> = results.iter().map(&key).collect();
            checksum_of(&keys, order)
        };
        Self::with_room(name.into(), Room::Empty, Box::new(of_keys))
    }

    /// Adds an arm: a closure that is given the size. The first arm is the baseline.
    #[must_use]
    pub fn arm(
        self,
        name: impl Into<Cow<'static, str>>,
        body: impl Fn(usize) -> R + Send + Sync + 'static,
    ) -> Self {
        let keep = move |n, _, results: &mut Vec<R>| {
            results.clear();
            results.push(body(n));
        };
        self.with_arm(name.into(), None, Box::new(keep))
    }

    /// Adds an arm whose calls take in what `set_up` makes for each of them from the size. Making
    /// it is not timed; dropping it is, unless the arm returns it.
    ///
    /// A sample has at most 1,024 calls, whose inputs are in memory together. Where all calls only
    /// read one input, have `set_up` return an [`Arc`](std::sync::Arc) to it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// use manyhands_lab::Case;
    ///
    /// let upside_down = |n| (0..n).rev().collect::<Vec<usize>>();
    /// let case = Case::returning("sort what is upside down")
    ///     .full_sizes([1_000, 100_000])
    ///     .arm_with_set_up("std", upside_down, |mut items| {
    ///         items.sort_unstable();
    ///         items
    ///     })
    ///     .arm_with_set_up("parallel", upside_down, |mut items| {
    ///         items.par_sort_unstable();
    ///         items
    ///     });
    /// ```
    #[must_use]
    #[doc(alias = "iter_batched")]
    #[doc(alias = "IterationSetup")]
    pub fn arm_with_set_up<Input: 'static>(
        self,
        name: impl Into<Cow<'static, str>>,
        set_up: impl Fn(usize) -> Input + Clone + Send + Sync + 'static,
        body: impl Fn(Input) -> R + Send + Sync + 'static,
    ) -> Self {
        let own = set_up.clone();
        let keep = move |n, input: Option<Box<dyn Any>>, results: &mut Vec<R>| {
            let input = input.and_then(|input| input.downcast().ok());
            results.clear();
            results.push(body(input.map_or_else(|| own(n), |input| *input)));
        };
        let set_up = Box::new(move |n| Box::new(set_up(n)) as Box<dyn Any>);
        self.with_arm(name.into(), Some(set_up), Box::new(keep))
    }

    /// Adds an arm whose future is driven to its end on the thread that measures.
    #[must_use]
    pub fn arm_async<F: Future<Output = R>>(
        self,
        name: impl Into<Cow<'static, str>>,
        body: impl Fn(usize) -> F + Send + Sync + 'static,
    ) -> Self {
        self.arm(name, move |n| pollster::block_on(body(n)))
    }
}

impl<R, K> Case<R, K> {
    fn with_room(name: Cow<'static, str>, room: Room<R>, checksum: Checksum<R>) -> Self {
        Self {
            name,
            unit: "item".into(),
            throughput: None,
            full: Vec::new(),
            standard: None,
            quick: None,
            finds_break_even: false,
            cpus: None,
            order: Order::Kept,
            room,
            checksum,
            arms: Vec::new(),
            kind: PhantomData,
        }
    }

    fn with_arm(mut self, name: Cow<'static, str>, set_up: Option<SetUp>, body: Body<R>) -> Self {
        self.arms.push(Arm { name, set_up, body });
        self
    }

    /// Sets the sizes, ascending; also those of the smaller scales unless they are set on their own.
    #[must_use]
    pub fn full_sizes(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.full = sizes.into_iter().collect();
        self
    }

    /// Sets the sizes of a standard run, ascending: those whose calls take no longer than seconds.
    #[must_use]
    pub fn standard_sizes(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.standard = Some(sizes.into_iter().collect());
        self
    }

    /// Sets the sizes of a quick run, ascending; without them it runs those of a standard one.
    #[must_use]
    pub fn quick_sizes(mut self, sizes: impl IntoIterator<Item = usize>) -> Self {
        self.quick = Some(sizes.into_iter().collect());
        self
    }

    /// Sets what one unit of the size is, in the singular; "item" unless set.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<Cow<'static, str>>) -> Self {
        self.unit = unit.into();
        self
    }

    /// Has a column that says how much each arm does in a second.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{Case, record::Throughput};
    /// let case = Case::returning("sum of words")
    ///     .throughput(Throughput::Bytes(8))
    ///     .arm("loop", |n| (0..n as u64).sum::<u64>());
    /// ```
    #[must_use]
    pub fn throughput(mut self, throughput: Throughput) -> Self {
        self.throughput = Some(throughput);
        self
    }

    /// Has sizes between those of the scale searched for the size from which an arm pays.
    #[must_use]
    pub fn finds_break_even(mut self) -> Self {
        self.finds_break_even = true;
        self
    }

    /// Pins the processes of this case to the first this many of the CPUs they may use.
    #[must_use]
    pub fn pinned_to(mut self, cpus: usize) -> Self {
        self.cpus = Some(cpus);
        self
    }

    /// Lets every arm give its results in any order: only which they are is compared.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.order = Order::Any;
        self
    }
}

impl<R: Clone, K> Workload for Case<R, K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn arms(&self) -> Vec<String> {
        self.arms.iter().map(|arm| arm.name.to_string()).collect()
    }

    fn sizes(&self, scale: Scale) -> Vec<usize> {
        let standard = self.standard.as_ref().unwrap_or(&self.full);
        match scale {
            Scale::Quick => self.quick.as_ref().unwrap_or(standard).clone(),
            Scale::Standard => standard.clone(),
            Scale::Full => self.full.clone(),
        }
    }

    fn unit(&self) -> &str {
        &self.unit
    }

    fn throughput(&self) -> Option<Throughput> {
        self.throughput
    }

    fn finds_break_even(&self) -> bool {
        self.finds_break_even
    }

    fn cpus(&self) -> Option<usize> {
        self.cpus
    }

    fn open(&self, n: usize) -> Box<dyn Trial + '_> {
        Box::new(Open {
            case: self,
            n,
            inputs: Vec::new(),
            results: Vec::new(),
        })
    }
}

impl<R, K> fmt::Debug for Case<R, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arms: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_ref()).collect();
        formatter
            .debug_struct("Case")
            .field("name", &self.name)
            .field("sizes", &self.full)
            .field("arms", &arms)
            .finish_non_exhaustive()
    }
}

/// The vector all arms of an open case share.
struct Open<'case, R, K> {
    case: &'case Case<R, K>,
    n: usize,
    /// Of the next calls.
    inputs: Vec<Box<dyn Any>>,
    results: Vec<R>,
}

/// Inputs of calls that are in memory together.
const INPUTS_MAX: u32 = 1 << 10;

impl<R: Clone, K> Trial for Open<'_, R, K> {
    fn reset(&mut self) {
        self.results.clear();
        if let Room::Slots(blank) = &self.case.room {
            self.results.resize(self.n, blank.clone());
        }
    }

    fn calls_max(&self, arm: usize) -> u32 {
        match self.case.arms[arm].set_up {
            Some(_) => INPUTS_MAX,
            None => u32::MAX,
        }
    }

    fn prepare(&mut self, arm: usize, times: u32) {
        self.inputs.clear();
        if let Some(set_up) = &self.case.arms[arm].set_up {
            self.inputs.extend((0..times).map(|_| set_up(self.n)));
        }
    }

    fn call(&mut self, arm: usize, times: u32) {
        let body = &self.case.arms[arm].body;
        for _ in 0..times {
            let input = self.inputs.pop();
            body(hint::black_box(self.n), input, &mut self.results);
            hint::black_box(&mut self.results);
        }
    }

    fn checksum(&self) -> u64 {
        (self.case.checksum)(&self.results, self.case.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn an_arm_that_stores_nothing_has_another_checksum() {
        let case = Case::slots("c", 0_u8)
            .full_sizes([4])
            .arm("fills", |_, slots| slots.fill(9))
            .arm("forgets", |_, _| ());
        let mut trial = case.open(4);
        assert_ne!(trial.called(0), trial.called(1));
    }

    #[test]
    fn results_in_another_order_agree_only_where_that_is_allowed() {
        let case = || {
            Case::collected("c")
                .arm("up", |n, results| *results = (0..n).collect())
                .arm("down", |n, results| *results = (0..n).rev().collect())
        };
        let agree = |case: Case<usize>| {
            let mut trial = case.open(4);
            trial.called(0) == trial.called(1)
        };
        assert!(!agree(case()));
        assert!(agree(case().in_any_order()));
    }

    #[test]
    fn floats_agree_by_their_keys() {
        let case = Case::returning_with_key("c", |value: &f64| format!("{value:.3e}"))
            .arm("one", |_| 0.1 + 0.2)
            .arm("the same", |_| 0.3)
            .arm("another", |_| 0.4);
        let mut trial = case.open(4);
        let checksums = [0, 1, 2].map(|arm| trial.called(arm));
        assert_eq!(checksums[0], checksums[1]);
        assert_ne!(checksums[0], checksums[2]);
    }

    #[test]
    fn the_checksum_of_a_returned_value_is_that_of_the_last_call() {
        let case = Case::returning("c")
            .arm("n", |n| n)
            .arm_async("n later", |n| async move { n })
            .arm("another", |n| n + 1);
        let mut trial = case.open(4);
        let mut checksum = |arm, times| {
            trial.reset();
            trial.call(arm, times);
            trial.checksum()
        };
        assert_eq!(checksum(0, 1), checksum(0, 3));
        assert_eq!(checksum(0, 1), checksum(1, 1));
        assert_ne!(checksum(0, 1), checksum(2, 1));
    }

    #[test]
    fn each_call_takes_in_an_input_that_was_made_before_the_calls() {
        let made = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&made);
        let set_up = move |n| vec![counted.fetch_add(1, Ordering::Relaxed); n];
        let case = Case::returning("c")
            .arm_with_set_up("as it came", set_up, |input: Vec<u32>| input)
            .arm("as it was made last", |n| vec![0; n]);
        let mut trial = case.open(4);
        trial.prepare(0, 3);
        assert_eq!(made.load(Ordering::Relaxed), 3);
        trial.call(0, 3);
        assert_eq!(made.load(Ordering::Relaxed), 3);
        let checksum = trial.checksum();
        trial.prepare(1, 1);
        trial.call(1, 1);
        assert_eq!(trial.checksum(), checksum);
    }

    #[test]
    fn smaller_scales_fall_back_to_the_next_larger() {
        fn check(case: &Case<u8>, expected: [&[usize]; 3]) {
            let sizes = [Scale::Quick, Scale::Standard, Scale::Full].map(|scale| case.sizes(scale));
            assert_eq!(sizes, expected);
        }
        let case = Case::collected("c").full_sizes([1, 2, 3]);
        check(&case, [&[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]);
        let case = case.standard_sizes([1, 2]);
        check(&case, [&[1, 2], &[1, 2], &[1, 2, 3]]);
        let case = case.quick_sizes([1]);
        check(&case, [&[1], &[1, 2], &[1, 2, 3]]);
    }
}
