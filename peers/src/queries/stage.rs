//! The child's side: the data of one size, its checksum, and its windows.

use std::hint::black_box;
use std::time::Duration;

use crate::protocol::{Request, Sample};
use crate::queries::Queries;
use crate::queries::case::{Case, Chain};
use crate::shuffle::mix;
use crate::window;

/// What stays between the windows of one case.
#[derive(Debug)]
pub(crate) struct Stage {
    case: Case,
    values: Vec<u64>,
    checksum: u64,
    known_nanos: Option<f64>,
}

/// Answers one request, with the data at hand if it is of the same case.
pub(crate) fn answer<C: Queries>(
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
    fn new<C: Queries>(case: Case) -> Self {
        let mut stage = Self {
            case,
            values: (0..case.len as u64).map(mix).collect(),
            checksum: 0,
            known_nanos: None,
        };
        stage.checksum = stage.check::<C>();
        stage
    }

    /// A number that is right only if the result is; where an order is promised, only in that order.
    fn check<C: Queries>(&self) -> u64 {
        let len = self.values.len();
        let in_order = |results: Vec<u64>| {
            let places = results.iter().zip(0_u64..);
            places.fold(0, |sum: u64, (result, place)| {
                sum.wrapping_add(mix(result ^ place))
            })
        };
        let in_any_order = |results: Vec<u64>| {
            results
                .iter()
                .fold(0, |sum: u64, n| sum.wrapping_add(mix(*n)))
        };
        match self.case.chain {
            Chain::Map => in_order(C::map(&self.values)),
            Chain::Filter => in_any_order(C::filter(&self.values)),
            Chain::Sum => C::sum(&self.values),
            Chain::Min => C::min(&self.values).unwrap_or_default(),
            Chain::Any => u64::from(C::any(&self.values, self.wanted())),
            Chain::Primes => C::primes(len) as u64,
            Chain::Hashes => in_order(C::hashes(len)),
        }
    }

    fn measure<C: Queries>(&mut self, length: Duration) -> f64 {
        let (values, wanted, len) = (&self.values[..], self.wanted(), self.values.len());
        let nanos = match self.case.chain {
            Chain::Map => self.time(length, || C::map(black_box(values))),
            Chain::Filter => self.time(length, || C::filter(black_box(values))),
            Chain::Sum => self.time(length, || C::sum(black_box(values))),
            Chain::Min => self.time(length, || C::min(black_box(values))),
            Chain::Any => self.time(length, || C::any(black_box(values), black_box(wanted))),
            Chain::Primes => self.time(length, || C::primes(black_box(len))),
            Chain::Hashes => self.time(length, || C::hashes(black_box(len))),
        };
        self.known_nanos = Some(nanos);
        nanos
    }

    fn time<R>(&self, length: Duration, mut query: impl FnMut() -> R) -> f64 {
        window::back_to_back(length, self.known_nanos, || {
            black_box(query());
        })
    }

    /// What is looked for: the last one's `mix`.
    fn wanted(&self) -> u64 {
        self.values.last().copied().map(mix).unwrap_or_default()
    }
}
