//! The child's side: the data of one case, their checksum, and their windows.

use std::hint::black_box;
use std::time::Duration;

use crate::mix::mix;
use crate::sized::{Case, Task};
use crate::window;
use manyhands_lab::contest::{self, Request, Sample};

/// The input of one case, and how a contender works on it.
pub(crate) trait Data: Sized {
    type Task: Task;

    fn new(case: Case<Self::Task>) -> Self;

    /// A number that is right only if the result is; where an order is promised, only in that order.
    fn check(&self) -> u64;

    /// How long the task takes, in nanoseconds.
    fn measure(&self, stopwatch: Stopwatch) -> f64;
}

/// Measures one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    length: Duration,
    known_nanos: Option<f64>,
}

impl Stopwatch {
    /// Mean nanoseconds of a call.
    pub(crate) fn time<R>(self, mut call: impl FnMut() -> R) -> f64 {
        window::back_to_back(self.length, self.known_nanos, || {
            black_box(call());
        })
    }
}

/// A checksum of results that tells their order.
pub(crate) fn in_order(results: &[u64]) -> u64 {
    let places = results.iter().zip(0_u64..);
    places.fold(0, |sum: u64, (result, place)| {
        sum.wrapping_add(mix(result ^ place))
    })
}

/// What stays between the windows of one case.
struct Stage<D: Data> {
    case: Case<D::Task>,
    data: D,
    checksum: u64,
    known_nanos: Option<f64>,
}

/// Serves one contender until the parent closes the pipe.
pub(crate) fn serve<D: Data>() {
    let mut stage = None;
    contest::serve(|request| answer::<D>(&mut stage, request));
}

/// Answers one request, with the data at hand if it is of the same case.
fn answer<D: Data>(stage: &mut Option<Stage<D>>, request: &Request) -> Result<Sample, String> {
    let case = Case::parse(&request.case).ok_or_else(|| format!("no case '{}'", request.case))?;
    if stage.as_ref().is_some_and(|stage| stage.case != case) {
        *stage = None;
    }
    let stage = stage.get_or_insert_with(|| {
        let data = D::new(case);
        Stage {
            case,
            checksum: data.check(),
            data,
            known_nanos: None,
        }
    });
    let nanos = stage.data.measure(Stopwatch {
        length: request.window,
        known_nanos: stage.known_nanos,
    });
    stage.known_nanos = Some(nanos);
    Ok(Sample {
        checksum: stage.checksum,
        values: vec![nanos],
    })
}
