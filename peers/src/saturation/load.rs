//! The child's side of `load`: heavy requests and cheap tasks arrive on clocks, whether or not the service keeps up.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manyhands::task::Priority;

use crate::latencies::within;
use crate::saturation::clock::{self, Arrival, Stream};
use crate::saturation::measure::{CHEAP_TICK, cheap_times, send_cheap};
use crate::saturation::{Service, Way, threads};

/// The [times](cheap_times) of the cheap tasks, and the nanoseconds within which half and 99 of 100 heavy requests were answered, at this percentage of the capacity.
pub(crate) fn under_load<S: Service>(
    pool: &S::Pool,
    percent: NonZeroU32,
    window: Duration,
    expected: u64,
) -> Result<Vec<f64>, String> {
    let wrong = Arc::new(AtomicUsize::new(0));
    let ask = |arrival: Arrival| {
        let wrong = Arc::clone(&wrong);
        S::spawn(pool, Priority::Normal, async move {
            if S::request(Way::InOrder).await != expected {
                // Relaxed: published by the note that the request is done.
                wrong.fetch_add(1, Ordering::Relaxed);
            }
            arrival.note_done();
        });
    };
    let cheap = |arrival| send_cheap::<S>(pool, Priority::Normal, arrival);

    // The first requests start the threads; the capacity is measured with nothing beside it.
    let first = Stream::new(WARM_UP, WARM_UP / WARM_UP_REQUESTS, &ask);
    clock::send(&[&first]);
    first.wait();
    let capacity = threads::requests_per_second(CAPACITY_WINDOW);
    let heavy_tick = Duration::from_secs_f64(100.0 / (capacity * f64::from(percent.get())));

    let heavy = Stream::new(window, heavy_tick, &ask);
    let cheap = Stream::new(window, CHEAP_TICK, &cheap);
    clock::send(&[&cheap, &heavy]);
    let (cheap, mut heavy) = (cheap.wait(), heavy.wait().all);
    // Relaxed: all requests are done.
    match wrong.load(Ordering::Relaxed) {
        0 => {
            let heavy = [within(&mut heavy, 50), within(&mut heavy, 99)];
            Ok([cheap_times(cheap).as_slice(), &heavy].concat())
        }
        wrong => Err(format!("{wrong} wrong answers")),
    }
}

const CAPACITY_WINDOW: Duration = Duration::from_millis(200);
const WARM_UP: Duration = Duration::from_millis(40);
const WARM_UP_REQUESTS: u32 = 8;
