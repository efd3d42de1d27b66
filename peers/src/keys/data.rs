//! The numbers and the table of one case.

use std::hint::black_box;
use std::marker::PhantomData;

use crate::keys::{Keys, Row, Task};
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
        let rows = (case.len as u64 / 10).max(1);
        let below = match case.task {
            Task::CountFew => 1_000,
            Task::CountMany => 1_000_000,
            Task::Join => 2 * rows,
            Task::Sort | Task::SortStable => u64::MAX,
        };
        let numbers = 0..case.len as u64;
        Self {
            task: case.task,
            values: numbers.map(|number| mix(number) % below).collect(),
            table: (0..rows).map(|row| (row, mix(row))).collect(),
            contender: PhantomData,
        }
    }

    fn check(&self) -> u64 {
        match self.task {
            Task::CountFew | Task::CountMany => {
                let counts = C::count(&self.values).into_iter();
                counts.fold(0, |sum: u64, (key, count)| {
                    sum.wrapping_add(mix(mix(key) ^ count as u64))
                })
            }
            Task::Join => C::join(&self.values, &self.table),
            Task::Sort => in_order(&self.sorted(C::sort)),
            Task::SortStable => in_order(&self.sorted(C::sort_stable)),
        }
    }

    fn measure(&self, stopwatch: Stopwatch) -> f64 {
        let (values, table) = (&self.values[..], &self.table[..]);
        match self.task {
            Task::CountFew | Task::CountMany => stopwatch.time(|| C::count(black_box(values))),
            Task::Join => stopwatch.time(|| C::join(black_box(values), black_box(table))),
            Task::Sort => stopwatch.time(|| self.sorted(C::sort)),
            Task::SortStable => stopwatch.time(|| self.sorted(C::sort_stable)),
        }
    }
}

impl<C> Data<C> {
    fn sorted(&self, sort: fn(&mut [u64])) -> Vec<u64> {
        let mut values = black_box(&self.values).clone();
        sort(&mut values);
        values
    }
}
