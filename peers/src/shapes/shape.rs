//! A shape of work: its words, and how one is drawn.

use std::fmt;

use crate::keys::Order;
use crate::mix::mix;

/// One shape. Its words are the case of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) caller: Caller,
    pub(crate) form: Form,
    pub(crate) costs: Costs,
    pub(crate) body: Body,
    /// Steps of the body that an item takes in the mean.
    pub(crate) steps: u32,
    pub(crate) len: usize,
}

/// Where a call comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Caller {
    Main,
    /// A task of the contender's pool.
    Task,
    /// Two threads at once, each with calls of its own.
    TwoThreads,
}

/// What is made of the items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    ForEach,
    Map,
    Reduce,
    /// Keeps this many percent.
    Filter(u32),
    /// The first that is wanted is after this many percent.
    Find(u32),
    /// Of numbers in this order: the items have no other body.
    Sort(Order),
    /// Counts by one of this many keys.
    Group(u32),
    /// A map by one of this many keys.
    Table(u32),
}

/// How what items cost is spread over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Costs {
    Even,
    /// One in fifty, at random, costs a hundred times as much as the others.
    RareHeavy,
    /// From nothing to twice the mean.
    Rising,
    /// The last quarter costs ten times as much as the others.
    TwoLevel,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Body {
    /// A multiplication that waits for the last one.
    Arithmetic,
    /// A read at a random place of 8 MB.
    Reads,
    /// 64 bytes allocated and freed.
    Allocations,
}

impl Shape {
    /// The shape with these words.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let shape = Self {
            caller: of_name(&CALLERS, words.next()?)?,
            form: Form::parse(words.next()?)?,
            costs: of_name(&COSTS, words.next()?)?,
            body: of_name(&BODIES, words.next()?)?,
            steps: words.next()?.parse().ok()?,
            len: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(shape)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {} {} {} {} {}",
            name_of(&CALLERS, self.caller),
            self.form,
            name_of(&COSTS, self.costs),
            name_of(&BODIES, self.body),
            self.steps,
            self.len
        )
    }
}

impl Form {
    fn parse(word: &str) -> Option<Self> {
        let (name, detail) = word.split_once(':').unwrap_or((word, ""));
        match name {
            "for-each" => Some(Self::ForEach),
            "map" => Some(Self::Map),
            "reduce" => Some(Self::Reduce),
            "filter" => Some(Self::Filter(detail.parse().ok()?)),
            "find" => Some(Self::Find(detail.parse().ok()?)),
            "sort" => Some(Self::Sort(of_name(&ORDERS, detail)?)),
            "group" => Some(Self::Group(detail.parse().ok()?)),
            "table" => Some(Self::Table(detail.parse().ok()?)),
            _ => None,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForEach => formatter.write_str("for-each"),
            Self::Map => formatter.write_str("map"),
            Self::Reduce => formatter.write_str("reduce"),
            Self::Filter(percent) => write!(formatter, "filter:{percent}"),
            Self::Find(percent) => write!(formatter, "find:{percent}"),
            Self::Sort(order) => write!(formatter, "sort:{}", name_of(&ORDERS, *order)),
            Self::Group(keys) => write!(formatter, "group:{keys}"),
            Self::Table(keys) => write!(formatter, "table:{keys}"),
        }
    }
}

/// Shapes without end, the same for the same seed.
#[derive(Debug)]
pub(crate) struct Draw {
    state: u64,
}

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    fn shape(&mut self) -> Shape {
        let caller = self.one_of(&CALLERS);
        let form = self.form();
        let call_nanos = self.between(CALL_NANOS);
        let len_of = |item_nanos: u32| {
            let len = call_nanos / item_nanos;
            (len as usize).clamp(LEN_MIN, LEN_MAX)
        };
        if let Form::Sort(_) = form {
            return Shape {
                caller,
                form,
                costs: Costs::Even,
                body: Body::Arithmetic,
                steps: 0,
                len: len_of(SORT_NANOS),
            };
        }
        let item_nanos = self.between(ITEM_NANOS);
        let body = self.one_of(&BODIES);
        Shape {
            caller,
            form,
            costs: self.one_of(&COSTS),
            body,
            steps: item_nanos.div_ceil(step_nanos(body)),
            len: len_of(item_nanos),
        }
    }

    fn form(&mut self) -> Form {
        match self.below(8) {
            0 => Form::ForEach,
            1 => Form::Map,
            2 => Form::Reduce,
            3 => Form::Filter([1, 50, 99][self.below(3)]),
            4 => Form::Find([1, 25, 50, 75, 99][self.below(5)]),
            5 => Form::Sort(self.one_of(&ORDERS)),
            6 => Form::Group(KEYS[self.below(3)]),
            _ => Form::Table(KEYS[self.below(3)]),
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[(&str, T)]) -> T {
        all[self.below(all.len())].1
    }

    fn below(&mut self, count: usize) -> usize {
        self.next_number() as usize % count
    }

    /// From `low` on, doubled this many times at most; as likely in each of the ranges between.
    fn between(&mut self, (low, doublings): (u32, usize)) -> u32 {
        let from = low << self.below(doublings);
        from + self.next_number() % from
    }

    fn next_number(&mut self) -> u32 {
        // The other half of SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let [_, _, _, _, bytes @ ..] = mix(self.state).to_be_bytes();
        u32::from_be_bytes(bytes)
    }
}

impl Iterator for Draw {
    type Item = Shape;

    fn next(&mut self) -> Option<Shape> {
        Some(self.shape())
    }
}

/// About how long a step takes.
fn step_nanos(body: Body) -> u32 {
    match body {
        Body::Arithmetic => 2,
        Body::Reads => 5,
        Body::Allocations => 20,
    }
}

fn of_name<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
    let found = all.iter().find(|(known, _)| *known == name)?;
    Some(found.1)
}

fn name_of<T: Copy + PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    let found = all.iter().find(|(_, known)| *known == value);
    found.map_or("", |(name, _)| name)
}

const CALLERS: [(&str, Caller); 3] = [
    ("main", Caller::Main),
    ("task", Caller::Task),
    ("two", Caller::TwoThreads),
];
const ORDERS: [(&str, Order); 5] = [
    ("spread", Order::Random),
    ("sorted", Order::Sorted),
    ("reversed", Order::Reversed),
    ("runs", Order::Runs),
    ("few", Order::Few),
];
const COSTS: [(&str, Costs); 4] = [
    ("even", Costs::Even),
    ("rare-heavy", Costs::RareHeavy),
    ("rising", Costs::Rising),
    ("two-level", Costs::TwoLevel),
];
const BODIES: [(&str, Body); 3] = [
    ("arithmetic", Body::Arithmetic),
    ("reads", Body::Reads),
    ("allocations", Body::Allocations),
];
/// How many keys there are: few, some, more than items.
const KEYS: [u32; 3] = [8, 1_000, u32::MAX];
/// How long a call takes on one thread, about: 20 µs to 80 ms, from where sharing may pay to where it always does.
const CALL_NANOS: (u32, usize) = (20_000, 12);
/// How long an item takes, about: 2 ns to 65 µs.
const ITEM_NANOS: (u32, usize) = (2, 15);
/// How long an item of a sort takes, about.
const SORT_NANOS: u32 = 40;
const LEN_MIN: usize = 2;
const LEN_MAX: usize = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_survives_its_words() {
        for shape in Draw::new(7).take(500) {
            assert_eq!(Shape::parse(&shape.to_string()), Some(shape));
        }
    }

    #[test]
    fn words_that_are_no_shape_are_refused() {
        for text in [
            "",
            "main map even arithmetic 3",
            "main map even arithmetic 3 4 5",
            "nobody map even arithmetic 3 4",
            "main sort:odd even arithmetic 3 4",
            "main filter even arithmetic 3 4",
        ] {
            assert_eq!(Shape::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_seed_draws_the_same_shapes_again_and_another_others() {
        let drawn = |seed| Draw::new(seed).take(20).collect::<Vec<_>>();
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
    }

    #[test]
    fn every_kind_of_everything_is_drawn() {
        let words: Vec<String> = Draw::new(1).take(500).map(|it| it.to_string()).collect();
        let has = |word: &str| {
            words.iter().any(|shape| {
                let mut words = shape.split([' ', ':']);
                words.any(|each| each == word)
            })
        };
        let names = CALLERS.iter().map(|it| it.0).chain(ORDERS.map(|it| it.0));
        let names = names
            .chain(COSTS.map(|it| it.0))
            .chain(BODIES.map(|it| it.0));
        for name in names.chain([
            "for-each", "map", "reduce", "filter", "find", "group", "table",
        ]) {
            assert!(has(name), "{name}");
        }
    }
}
