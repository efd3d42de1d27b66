//! The items of a shape: what each costs and does, and the calls over them.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::keys::number_at;
use crate::mix::mix;
use crate::shapes::Shapes;
use crate::shapes::shape::{Body, Costs, Form, Shape};
use crate::sized::in_order;
use crate::window;

/// What a call needs.
#[derive(Debug)]
pub(crate) struct Data {
    shape: Shape,
    /// Steps of each item; none where the items have no body.
    steps: Vec<u32>,
    /// What random reads read.
    table: Vec<u64>,
    /// What is sorted, one after the other: a processor soon predicts every branch in the sort of the same numbers.
    values: Vec<Vec<u64>>,
    sorts: AtomicUsize,
    /// What is looked for.
    wanted: u64,
}

impl Data {
    pub(crate) fn new(shape: Shape) -> Self {
        let mut data = Self {
            shape,
            steps: Vec::new(),
            table: Vec::new(),
            values: Vec::new(),
            sorts: AtomicUsize::new(0),
            wanted: 0,
        };
        if let Form::Sort(order) = shape.form {
            let len = shape.len as u64;
            let of = |first| (first..first + len).map(|number| number_at(number, len, order));
            let firsts = (0..NUMBERS_SORTED.max(len)).step_by(shape.len);
            data.values = firsts.map(|first| of(first).collect()).collect();
            return data;
        }
        let of = |index| steps_of(shape, index);
        data.steps = (0..shape.len).map(of).collect();
        if shape.body == Body::Reads {
            data.table = (0..TABLE_LEN).map(mix).collect();
        }
        if let Form::Find(percent) = shape.form {
            let place = (shape.len - 1) * percent as usize / 100;
            data.wanted = data.work(place);
        }
        data
    }

    /// A number that is right only if the result is.
    pub(crate) fn check<C: Shapes>(&self) -> u64 {
        let len = self.shape.len;
        let sum_of = |values: &[u64]| {
            let hashed = values.iter().map(|&value| mix(value));
            hashed.fold(0, u64::wrapping_add)
        };
        match self.shape.form {
            Form::ForEach => {
                let total = AtomicU64::new(0);
                // Relaxed: the loop's end publishes its items' effects.
                C::for_each(len, |index| {
                    total.fetch_add(self.work(index), Ordering::Relaxed);
                });
                total.into_inner()
            }
            Form::Map => in_order(&C::map(len, |index| self.work(index))),
            Form::Reduce => C::sum(len, |index| self.work(index)),
            Form::Filter(percent) => in_order(&self.filtered::<C>(percent)),
            Form::Find(_) => self.found::<C>().map_or(u64::MAX, |place| place as u64),
            Form::Sort(_) => in_order(&sorted::<C>(&self.values[0])),
            Form::Group(keys) => {
                let groups = self.grouped::<C>(keys).into_iter();
                let hashes: Vec<u64> = groups.map(|(key, count)| mix(key) ^ count as u64).collect();
                sum_of(&hashes)
            }
            Form::Table(keys) => {
                let lasts = self.tabled::<C>(keys).into_iter();
                let hashes: Vec<u64> = lasts.map(|(key, last)| mix(key) ^ last as u64).collect();
                sum_of(&hashes)
            }
        }
    }

    /// Mean nanoseconds of a call.
    pub(crate) fn measure<C: Shapes>(&self, window: Duration, known_nanos: Option<f64>) -> f64 {
        let len = self.shape.len;
        let time = |call: &mut dyn FnMut()| window::back_to_back(window, known_nanos, call);
        match self.shape.form {
            Form::ForEach => time(&mut || {
                C::for_each(len, |index| {
                    black_box(self.work(index));
                });
            }),
            Form::Map => time(&mut || drop(black_box(C::map(len, |index| self.work(index))))),
            Form::Reduce => time(&mut || {
                black_box(C::sum(len, |index| self.work(index)));
            }),
            Form::Filter(percent) => time(&mut || drop(black_box(self.filtered::<C>(percent)))),
            Form::Find(_) => time(&mut || {
                black_box(self.found::<C>());
            }),
            Form::Sort(_) => time(&mut || {
                // Relaxed: any of them will do.
                let turn = self.sorts.fetch_add(1, Ordering::Relaxed);
                black_box(sorted::<C>(&self.values[turn % self.values.len()]));
            }),
            Form::Group(keys) => time(&mut || drop(black_box(self.grouped::<C>(keys)))),
            Form::Table(keys) => time(&mut || drop(black_box(self.tabled::<C>(keys)))),
        }
    }

    fn filtered<C: Shapes>(&self, percent: u32) -> Vec<u64> {
        let is_kept = move |value: u64| value % 100 < u64::from(percent);
        C::filter(self.shape.len, |index| self.work(index), is_kept)
    }

    fn found<C: Shapes>(&self) -> Option<usize> {
        C::find(self.shape.len, |index| self.work(index) == self.wanted)
    }

    fn grouped<C: Shapes>(&self, keys: u32) -> Vec<(u64, usize)> {
        C::group(self.shape.len, |index| self.work(index) % u64::from(keys))
    }

    fn tabled<C: Shapes>(&self, keys: u32) -> HashMap<u64, usize> {
        C::table(self.shape.len, |index| self.work(index) % u64::from(keys))
    }

    /// Does one item.
    #[inline]
    fn work(&self, index: usize) -> u64 {
        let steps = self.steps[index];
        let mut state = index as u64 + 1;
        match self.shape.body {
            Body::Arithmetic => {
                for _ in 0..steps {
                    // The shift keeps a compiler from folding several steps into one multiplication.
                    state = (state ^ (state >> 32)).wrapping_mul(FACTOR);
                }
            }
            Body::Reads => {
                for _ in 0..steps {
                    let place = state.wrapping_mul(FACTOR) >> (64 - TABLE_BITS);
                    state ^= self.table[place as usize];
                }
            }
            Body::Allocations => {
                for _ in 0..steps {
                    let cell = black_box(Box::new([state; 8]));
                    state = cell[7].wrapping_mul(FACTOR);
                }
            }
        }
        mix(state)
    }
}

fn sorted<C: Shapes>(values: &[u64]) -> Vec<u64> {
    let mut values = black_box(values).to_vec();
    C::sort(&mut values);
    values
}

/// The steps of one item, so that those of all have the shape's mean.
fn steps_of(shape: Shape, index: usize) -> u32 {
    let (index, len) = (index as u64, shape.len as u64);
    // As a fraction of the mean.
    let (part, whole) = match shape.costs {
        Costs::Even => (1, 1),
        // 49 × 50 and 1 × 5,000 are 50 × 149.
        Costs::RareHeavy if mix(index).is_multiple_of(50) => (5_000, 149),
        Costs::RareHeavy => (50, 149),
        Costs::Rising => (2 * index + 1, len),
        // 3 × 4 and 1 × 40 are 4 × 13.
        Costs::TwoLevel if index >= len / 4 * 3 => (40, 13),
        Costs::TwoLevel => (4, 13),
    };
    let steps = (u64::from(shape.steps) * part + whole / 2) / whole;
    u32::try_from(steps).unwrap_or(u32::MAX)
}

/// More than a processor can learn.
const NUMBERS_SORTED: u64 = 1 << 20;
const FACTOR: u64 = 0x5851_f42d_4c95_7f2d;
/// 8 MB of numbers.
const TABLE_BITS: u32 = 20;
const TABLE_LEN: u64 = 1 << TABLE_BITS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::halves::Halves;
    use crate::shapes::manyhands::Manyhands;
    use crate::shapes::plain::Plain;
    use crate::shapes::rayon::Rayon;
    use crate::shapes::shape::Draw;

    #[test]
    fn all_contenders_agree_on_every_shape() {
        // Shorter than what is measured: this is about results.
        let short = |shape: Shape| Shape {
            steps: shape.steps.min(3),
            len: shape.len.min(3_000),
            ..shape
        };
        for shape in Draw::new(3).take(200).map(short) {
            let data = Data::new(shape);
            let expected = data.check::<Plain>();
            assert_eq!(data.check::<Halves>(), expected, "halves: {shape}");
            assert_eq!(data.check::<Rayon>(), expected, "rayon: {shape}");
            assert_eq!(data.check::<Manyhands>(), expected, "manyhands: {shape}");
        }
    }

    #[test]
    fn costs_keep_their_mean() {
        for costs in [
            Costs::Even,
            Costs::RareHeavy,
            Costs::Rising,
            Costs::TwoLevel,
        ] {
            let shape = Shape::parse("main map even arithmetic 1000 10000");
            let shape = Shape {
                costs,
                ..shape.unwrap()
            };
            let steps = (0..shape.len).map(|index| u64::from(steps_of(shape, index)));
            let mean = steps.sum::<u64>() as f64 / shape.len as f64;
            assert!((900.0..1_100.0).contains(&mean), "{costs:?}: {mean}");
        }
    }
}
