//! The numbers and the table of one case.

use std::hint::black_box;
use std::marker::PhantomData;

use crate::keys::{Keys, Order, Row, Task};
use crate::mix::mix;
use crate::sized::{self, Case, Stopwatch, in_order};

/// What a contender is given.
#[derive(Debug)]
pub(crate) struct Data<C> {
    task: Task,
    values: Vec<u64>,
    table: Vec<Row>,
    contender: PhantomData<C>,
}

impl<C: Keys> sized::Data for Data<C> {
    type Task = Task;

    fn new(case: Case<Task>) -> Self {
        let len = case.len as u64;
        let rows = (len / 10).max(1);
        let value = |number| match case.task {
            Task::CountFew => mix(number) % 1_000,
            Task::CountMany => mix(number) % 1_000_000,
            Task::CountSpread => spread(mix(number) % 1_000_000),
            Task::Join => mix(number) % (2 * rows),
            Task::JoinSpread => spread(mix(number) % (2 * rows)),
            Task::JoinClustered => clustered(mix(number) % (2 * rows)),
            Task::Sort(order) | Task::SortStable(order) => number_at(number, len, order),
        };
        let key = |row| match case.task {
            Task::JoinSpread => spread(row),
            Task::JoinClustered => clustered(row),
            _ => row,
        };
        Self {
            task: case.task,
            values: (0..len).map(value).collect(),
            table: (0..rows).map(|row| (key(row), mix(row))).collect(),
            contender: PhantomData,
        }
    }

    fn check(&self) -> u64 {
        match self.task {
            Task::CountFew | Task::CountMany | Task::CountSpread => {
                let counts = C::count(&self.values).into_iter();
                counts.fold(0, |sum: u64, (key, count)| {
                    sum.wrapping_add(mix(mix(key) ^ count as u64))
                })
            }
            Task::Join | Task::JoinSpread | Task::JoinClustered => {
                C::join(&self.values, &self.table)
            }
            Task::Sort(_) => in_order(&self.sorted(C::sort)),
            Task::SortStable(_) => in_order(&self.sorted(C::sort_stable)),
        }
    }

    fn measure(&self, stopwatch: Stopwatch) -> f64 {
        let (values, table) = (&self.values[..], &self.table[..]);
        match self.task {
            Task::CountFew | Task::CountMany | Task::CountSpread => {
                stopwatch.time(|| C::count(black_box(values)))
            }
            Task::Join | Task::JoinSpread | Task::JoinClustered => {
                stopwatch.time(|| C::join(black_box(values), black_box(table)))
            }
            Task::Sort(_) => stopwatch.time(|| self.sorted(C::sort)),
            Task::SortStable(_) => stopwatch.time(|| self.sorted(C::sort_stable)),
        }
    }
}

/// A key from the whole range for each number; different ones for different numbers.
fn spread(number: u64) -> u64 {
    mix(number ^ 0x9e37_79b9_7f4a_7c15)
}

/// Groups of 64 that follow one another, each far from the next.
fn clustered(number: u64) -> u64 {
    ((number / 64) << 32) | (number % 64)
}

/// One of numbers without end, of which each `len` that follow one another have this order.
pub(crate) fn number_at(number: u64, len: u64, order: Order) -> u64 {
    let place = number % len;
    match order {
        Order::Random => mix(number) % u64::MAX,
        Order::Sorted => place,
        Order::Reversed => len - place,
        Order::Runs => {
            let run = len.div_ceil(100);
            place % run * 100 + place / run
        }
        Order::Few => mix(number) % 8,
    }
}

impl<C> Data<C> {
    fn sorted(&self, sort: fn(&mut [u64])) -> Vec<u64> {
        let mut values = black_box(&self.values).clone();
        sort(&mut values);
        values
    }
}
