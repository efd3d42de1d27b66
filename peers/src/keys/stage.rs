//! The child's side: the data of one size, its checksum, and its windows.

use std::hint::black_box;
use std::time::Duration;

use crate::keys::case::{Case, Task};
use crate::keys::{Keys, Row};
use crate::protocol::{Request, Sample};
use crate::shuffle::mix;
use crate::window;

/// What stays between the windows of one case.
#[derive(Debug)]
pub(crate) struct Stage {
    case: Case,
    values: Vec<u64>,
    table: Vec<Row>,
    checksum: u64,
    known_nanos: Option<f64>,
}

/// Answers one request, with the data at hand if it is of the same case.
pub(crate) fn answer<C: Keys>(
    stage: &mut Option<Stage>,
    request: &Request,
) -> Result<Sample, String> {
    let case = Case::parse(&request.case).ok_or_else(|| format!("no case '{}'", request.case))?;
    if stage.as_ref().is_some_and(|stage| stage.case != case) {
        *stage = None;
    }
    let stage = stage.get_or_insert_with(|| Stage::new::<C>(case));
    let nanos = stage.measure::<C>(request.window);
    Ok(Sample {
        checksum: stage.checksum,
        values: vec![nanos],
    })
}

impl Stage {
    fn new<C: Keys>(case: Case) -> Self {
        let rows = (case.len as u64 / 10).max(1);
        let below = match case.task {
            Task::CountFew => 1_000,
            Task::CountMany => 1_000_000,
            Task::Join => 2 * rows,
            Task::Sort | Task::SortStable => u64::MAX,
        };
        let mut stage = Self {
            case,
            values: (0..case.len as u64)
                .map(|number| mix(number) % below)
                .collect(),
            table: (0..rows).map(|row| (row, mix(row))).collect(),
            checksum: 0,
            known_nanos: None,
        };
        stage.checksum = stage.check::<C>();
        stage
    }

    /// A number that is right only if the result is.
    fn check<C: Keys>(&self) -> u64 {
        let sorted = |sort: fn(&mut [u64])| {
            let mut values = self.values.clone();
            sort(&mut values);
            let places = values.iter().zip(0_u64..);
            places.fold(0, |sum: u64, (value, place)| {
                sum.wrapping_add(mix(value ^ place))
            })
        };
        match self.case.task {
            Task::CountFew | Task::CountMany => {
                let counts = C::count(&self.values).into_iter();
                counts.fold(0, |sum: u64, (key, count)| {
                    sum.wrapping_add(mix(mix(key) ^ count as u64))
                })
            }
            Task::Join => C::join(&self.values, &self.table),
            Task::Sort => sorted(C::sort),
            Task::SortStable => sorted(C::sort_stable),
        }
    }

    fn measure<C: Keys>(&mut self, length: Duration) -> f64 {
        let (values, table) = (&self.values[..], &self.table[..]);
        let sorted = |sort: fn(&mut [u64])| {
            let mut values = black_box(values).to_vec();
            sort(&mut values);
            values
        };
        let nanos = match self.case.task {
            Task::CountFew | Task::CountMany => self.time(length, || C::count(black_box(values))),
            Task::Join => self.time(length, || C::join(black_box(values), black_box(table))),
            Task::Sort => self.time(length, || sorted(C::sort)),
            Task::SortStable => self.time(length, || sorted(C::sort_stable)),
        };
        self.known_nanos = Some(nanos);
        nanos
    }

    fn time<R>(&self, length: Duration, mut task: impl FnMut() -> R) -> f64 {
        window::back_to_back(length, self.known_nanos, || {
            black_box(task());
        })
    }
}
