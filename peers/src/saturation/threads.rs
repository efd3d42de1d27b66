//! The machine's capacity: as many plain threads as workers that do one heavy request after the other. Nothing is beside
//! them, or the sender of cheap tasks, which does each at once: what these wait is its own lateness.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use manyhands_lab::contest::Sample;

use crate::saturation::clock::{self, Arrival, Stream};
use crate::saturation::measure::{CHEAP_TICK, cheap_times, throughput};
use crate::saturation::work;

/// Answers with nanoseconds for each request and requests a second, and with the [times](cheap_times) of cheap tasks beside
/// as many requests again.
pub(crate) fn answer(window: Duration) -> Sample {
    let throughput = throughput(requests_per_second(window));
    let at_once = |arrival: Arrival| arrival.note_done();
    let cheap = Stream::new(window, CHEAP_TICK, &at_once);
    thread::scope(|scope| {
        scope.spawn(|| requests_per_second(window));
        clock::send(&[&cheap]);
    });
    Sample {
        checksum: work::in_order(),
        values: [throughput.as_slice(), &cheap_times(cheap.wait())].concat(),
    }
}

/// What all threads together do.
pub(crate) fn requests_per_second(window: Duration) -> f64 {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| one(window))).collect();
        let rates = threads.into_iter().map(|thread| thread.join());
        rates
            .map(|rate| rate.expect("hashing does not panic"))
            .sum()
    })
}

/// What one thread does.
fn one(window: Duration) -> f64 {
    let (mut requests, start) = (0, Instant::now());
    while start.elapsed() < window {
        black_box(work::in_order());
        requests += 1;
    }
    f64::from(requests) / start.elapsed().as_secs_f64()
}
