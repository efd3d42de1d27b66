//! The expected result of a tree: the same program run in sequence, without the library.

use crate::rounds::mix;
use crate::tree::Tree;
use manyhands::AggregatePanic;
use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A value, or panics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Value(u64),
    Panics(Panics),
}

/// Ids of the panics that come out of a tree, none of them twice and at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Panics {
    /// All of these do.
    certain: BTreeSet<u64>,
    /// Nothing else does: a loop that has failed starts no new bodies.
    possible: BTreeSet<u64>,
}

/// The payload of every panic in a tree.
#[derive(Debug)]
pub(crate) struct Planned(pub(crate) u64);

impl Tree {
    /// Its value.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Leaf { id, work } => Outcome::Value(leaf(*id, *work)),
            Self::Loop(program) => Outcome::Value(program.in_sequence()),
            Self::Panic { id } => Outcome::Panics(Panics::one(*id)),
            Self::Catch { id, expected, .. } => Outcome::Value(caught(*id, value_of(expected))),
            Self::Join(a, b) | Self::Handshake(a, b) => match (a.outcome(), b.outcome()) {
                (Outcome::Value(a), Outcome::Value(b)) => Outcome::Value(joined(a, b)),
                (Outcome::Panics(panics), _) | (_, Outcome::Panics(panics)) => {
                    Outcome::Panics(panics)
                }
            },
            Self::Task(task, here) => match (here.outcome(), task.outcome()) {
                (Outcome::Value(here), Outcome::Value(task)) => Outcome::Value(joined(task, here)),
                (Outcome::Panics(panics), _) | (_, Outcome::Panics(panics)) => {
                    Outcome::Panics(panics)
                }
            },
            Self::Locked(child) => child.outcome(),
            Self::Scope { children, .. } | Self::Invoke(children) => {
                combined(all(children), in_order)
            }
            Self::ForEach(children) => combined(until_the_first_panic(children), in_any_order),
            Self::MapReduce(children) => combined(until_the_first_panic(children), in_order),
        }
    }
}

/// Each child's value, or the panics of all.
fn all(children: &[Arc<Tree>]) -> Result<Vec<u64>, Panics> {
    let mut values = Vec::new();
    let mut panics = Panics::default();
    for child in children {
        match child.outcome() {
            Outcome::Value(value) => values.push(value),
            Outcome::Panics(more) => {
                panics.certain.extend(more.certain);
                panics.possible.extend(more.possible);
            }
        }
    }
    if panics.possible.is_empty() {
        Ok(values)
    } else {
        Err(panics)
    }
}

/// Each child's value, or the panics of some.
fn until_the_first_panic(children: &[Arc<Tree>]) -> Result<Vec<u64>, Panics> {
    let is_panic = |child: &&Arc<Tree>| matches!(child.outcome(), Outcome::Panics(_));
    let count = children.iter().filter(is_panic).count();
    all(children).map_err(|mut panics| {
        if count > 1 {
            panics.certain.clear();
        }
        panics
    })
}

fn combined(values: Result<Vec<u64>, Panics>, combine: fn(&[u64]) -> u64) -> Outcome {
    match values {
        Ok(values) => Outcome::Value(combine(&values)),
        Err(panics) => Outcome::Panics(panics),
    }
}

impl Panics {
    fn one(id: u64) -> Self {
        let set = BTreeSet::from([id]);
        Self {
            certain: set.clone(),
            possible: set,
        }
    }
}

impl Outcome {
    /// Compares with the actual result.
    pub(crate) fn check(&self, seen: Result<u64, Box<dyn Any + Send>>) -> Result<(), String> {
        match (self, seen) {
            (Self::Value(expected), Ok(value)) if value == *expected => Ok(()),
            (Self::Value(expected), Ok(value)) => {
                Err(format!("{value} instead of the value {expected}"))
            }
            (Self::Panics(panics), Ok(value)) => Err(format!("{value} instead of {panics:?}")),
            (expected, Err(payload)) => {
                let ids = ids_in(payload)?;
                let set: BTreeSet<u64> = ids.iter().copied().collect();
                let fits = match expected {
                    Self::Value(_) => false,
                    Self::Panics(panics) => {
                        !set.is_empty()
                            && set.len() == ids.len()
                            && set.is_superset(&panics.certain)
                            && set.is_subset(&panics.possible)
                    }
                };
                if fits {
                    Ok(())
                } else {
                    Err(format!("panics {ids:?} instead of {expected:?}"))
                }
            }
        }
    }
}

/// The ids in a payload, those of nested aggregates included.
fn ids_in(payload: Box<dyn Any + Send>) -> Result<Vec<u64>, String> {
    let payload = match payload.downcast::<Planned>() {
        Ok(planned) => return Ok(vec![planned.0]),
        Err(payload) => payload,
    };
    let payload = match payload.downcast::<AggregatePanic>() {
        Ok(several) => {
            let nested: Result<Vec<Vec<u64>>, String> =
                several.into_payloads().into_iter().map(ids_in).collect();
            return nested.map(|ids| ids.concat());
        }
        Err(payload) => payload,
    };
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    Err(format!(
        "an unplanned panic: {}",
        text.unwrap_or("no message")
    ))
}

fn value_of(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Value(value) => Some(*value),
        Outcome::Panics(_) => None,
    }
}

/// A leaf's work.
pub(crate) fn leaf(id: u64, work: u64) -> u64 {
    (0..work).fold(mix(id), |value, _| std::hint::black_box(mix(value)))
}

pub(crate) fn caught(id: u64, value: Option<u64>) -> u64 {
    mix(id ^ value.map_or(1, mix))
}

pub(crate) fn joined(a: u64, b: u64) -> u64 {
    mix(a).wrapping_mul(3).wrapping_add(b)
}

/// An operation whose order counts.
pub(crate) fn in_order(values: &[u64]) -> u64 {
    values
        .iter()
        .map(|&value| step(value))
        .reduce(composed)
        .map_or(7, |(_, value)| value)
}

pub(crate) fn in_any_order(values: &[u64]) -> u64 {
    values
        .iter()
        .enumerate()
        .fold(11_u64, |sum, (index, &value)| {
            sum.wrapping_add(placed(index, value))
        })
}

pub(crate) fn placed(index: usize, value: u64) -> u64 {
    mix(value ^ mix(index as u64))
}

/// A value as a function `x -> x * factor + value`.
pub(crate) fn step(value: u64) -> (u64, u64) {
    (value | 1, value)
}

/// One function after the other: associative, not commutative.
pub(crate) fn composed(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (
        a.0.wrapping_mul(b.0),
        a.1.wrapping_mul(b.0).wrapping_add(b.1),
    )
}
