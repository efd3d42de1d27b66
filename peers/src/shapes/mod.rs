//! A search for shapes of work in which manyhands loses: random ones, drawn from a seed, beside the plain loop, static
//! parts on as many threads as there are processors, and rayon.
//!
//! A shape ([`Shape`]) is who calls, what is collected, what the items cost, what they do, and how many there are. Each is
//! measured in two fresh processes of every contender, so that what a process draws by luck is not taken for a loss.

mod compare;
mod data;
mod halves;
mod manyhands;
mod plain;
mod rayon;
mod shape;
mod verdict;

use std::collections::HashMap;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use manyhands_lab::contest::{self, Arm, Request, Sample};

use data::Data;
use shape::{Caller, Shape};

pub(crate) use compare::compare;

/// What a contender can do.
pub(crate) trait Shapes: 'static {
    fn for_each(len: usize, body: impl Fn(usize) + Send + Sync);

    /// What `body` makes of each index below `len`, in order.
    fn map(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> Vec<u64>;

    /// The wrapped sum of what `body` makes of each index below `len`.
    fn sum(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> u64;

    /// What `body` makes of each index below `len`, in order, without what is not to be kept.
    fn filter(
        len: usize,
        body: impl Fn(usize) -> u64 + Send + Sync,
        is_kept: impl Fn(u64) -> bool + Send + Sync,
    ) -> Vec<u64>;

    /// The first index below `len` that is wanted.
    fn find(len: usize, is_wanted: impl Fn(usize) -> bool + Send + Sync) -> Option<usize>;

    /// Sorts; equal values may change places.
    fn sort(values: &mut [u64]);

    /// How often each key of an index below `len` occurs, in any order.
    fn group(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> Vec<(u64, usize)>;

    /// The last index below `len` of each key.
    fn table(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> HashMap<u64, usize>;

    /// Calls in a task of the contender's pool, if it has one.
    fn in_task(call: impl FnOnce() -> f64 + Send + 'static) -> f64 {
        call()
    }
}

/// The contenders; the first is the base, whose checksums the others must have.
pub(crate) const ARMS: [Arm; 4] = [
    Arm::base("plain", "plain"),
    Arm::contender("halves"),
    Arm::contender("rayon"),
    Arm::contender(OURS),
];

const OURS: &str = "manyhands";

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "plain" => serve_as::<plain::Plain>(),
        "halves" => serve_as::<halves::Halves>(),
        "rayon" => serve_as::<rayon::Rayon>(),
        OURS => serve_as::<manyhands::Manyhands>(),
        _ => return false,
    }
    true
}

/// What stays between the windows of one shape.
struct Stage {
    shape: Shape,
    data: Arc<Data>,
    checksum: u64,
    known_nanos: Option<f64>,
}

fn serve_as<C: Shapes>() {
    let mut stage: Option<Stage> = None;
    contest::serve(|request| answer::<C>(&mut stage, request));
}

/// Answers one request, with the data at hand if it is of the same shape.
fn answer<C: Shapes>(stage: &mut Option<Stage>, request: &Request) -> Result<Sample, String> {
    let shape = Shape::parse(&request.case);
    let shape = shape.ok_or_else(|| format!("no shape '{}'", request.case))?;
    if stage.as_ref().is_some_and(|stage| stage.shape != shape) {
        *stage = None;
    }
    let stage = stage.get_or_insert_with(|| {
        let data = Data::new(shape);
        Stage {
            shape,
            checksum: data.check::<C>(),
            data: Arc::new(data),
            known_nanos: None,
        }
    });
    let nanos = stage.measure::<C>(request.window);
    stage.known_nanos = Some(nanos);
    Ok(Sample {
        checksum: stage.checksum,
        values: vec![nanos],
    })
}

impl Stage {
    /// Mean nanoseconds of a call, as the shape calls.
    fn measure<C: Shapes>(&self, window: Duration) -> f64 {
        let (data, known) = (Arc::clone(&self.data), self.known_nanos);
        match self.shape.caller {
            Caller::Main => data.measure::<C>(window, known),
            Caller::Task => C::in_task(move || data.measure::<C>(window, known)),
            Caller::TwoThreads => {
                let begin = Barrier::new(2);
                let call = || {
                    begin.wait();
                    data.measure::<C>(window, known)
                };
                thread::scope(|scope| {
                    let other = scope.spawn(call);
                    let ours = call();
                    let theirs = other.join().expect("no body panics");
                    f64::midpoint(ours, theirs)
                })
            }
        }
    }
}
