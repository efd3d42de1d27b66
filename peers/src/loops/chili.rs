//! chili has no loops: ranges are halved with `Scope::join` down to single items, slices down to
//! 1,024 elements, as its documentation suggests for work that is expensive to estimate.
//!
//! The scope is kept for the life of the process, as in chili's own benchmark; making one per call
//! costs about 3 µs.

use chili::Scope;

use crate::loops::Loops;

pub(crate) struct Chili(Scope<'static>);

impl Loops for Chili {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self(Scope::global()))
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        if len > 0 {
            for_range(&mut self.0, 0, len, &body);
        }
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        saxpy(&mut self.0, scale, x, y);
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        sum(&mut self.0, values)
    }
}

fn for_range<B: Fn(usize) + Sync>(scope: &mut Scope<'_>, low: usize, high: usize, body: &B) {
    if high - low == 1 {
        body(low);
        return;
    }
    let middle = low.midpoint(high);
    scope.join(
        |scope| for_range(scope, low, middle, body),
        |scope| for_range(scope, middle, high, body),
    );
}

fn saxpy(scope: &mut Scope<'_>, scale: f32, x: &[f32], y: &mut [f32]) {
    if x.len() <= LEAF_LEN {
        for (y, x) in y.iter_mut().zip(x) {
            *y += scale * x;
        }
        return;
    }
    let middle = x.len() / 2;
    let (x_low, x_high) = x.split_at(middle);
    let (y_low, y_high) = y.split_at_mut(middle);
    scope.join(
        |scope| saxpy(scope, scale, x_low, y_low),
        |scope| saxpy(scope, scale, x_high, y_high),
    );
}

fn sum(scope: &mut Scope<'_>, values: &[u64]) -> u64 {
    if values.len() <= LEAF_LEN {
        return values.iter().sum();
    }
    let (low, high) = values.split_at(values.len() / 2);
    let (low, high) = scope.join(|scope| sum(scope, low), |scope| sum(scope, high));
    low + high
}

/// Elements of a slice that are not split further: a few hundred nanoseconds.
const LEAF_LEN: usize = 1_024;
