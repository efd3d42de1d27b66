//! The child's side: which measurement a case is, and the one at saturation.

use std::thread;
use std::time::{Duration, Instant};

use manyhands::task::Priority;
use manyhands_lab::contest::{Request, Sample};

use crate::latencies::within;
use crate::saturation::clients::Clients;
use crate::saturation::clock::{self, Arrival, Stream, Waits};
use crate::saturation::load::under_load;
use crate::saturation::{Service, Way, work};

/// Answers `loop`, `query`, `in-order` and `priorities` with nanoseconds for each heavy request, requests a second, and the
/// nanoseconds within which half and 99 of 100 cheap tasks ran and 99 of 100 did after the sender had handed them over; `load PERCENT` as [`under_load`] says.
pub(crate) fn answer<S: Service>(pool: &S::Pool, request: &Request) -> Result<Sample, String> {
    let (case, window, expected) = (request.case.as_str(), request.window, work::in_order());
    let usual = (Priority::Normal, Priority::Normal);
    let ranked = (Priority::Background, Priority::Interactive);
    let values = match case {
        "loop" => saturated::<S>(pool, Way::Loop, usual, window, expected)?,
        "query" => saturated::<S>(pool, Way::Query, usual, window, expected)?,
        "in-order" => saturated::<S>(pool, Way::InOrder, usual, window, expected)?,
        "priorities" => saturated::<S>(pool, Way::InOrder, ranked, window, expected)?,
        _ => {
            let percent = case.strip_prefix("load ").map(str::parse);
            let Some(Ok(percent)) = percent else {
                return Err(format!("no case '{case}'"));
            };
            under_load::<S>(pool, percent, window, expected)?
        }
    };
    Ok(Sample {
        checksum: expected,
        values,
    })
}

/// The clients' priority and the cheap tasks' are the two of `priorities`.
fn saturated<S: Service>(
    pool: &S::Pool,
    way: Way,
    priorities: (Priority, Priority),
    window: Duration,
    expected: u64,
) -> Result<Vec<f64>, String> {
    let (heavy, cheap) = priorities;
    let clients = Clients::start::<S>(pool, heavy, way, expected);
    thread::sleep(SETTLING);
    let send = |arrival| send_cheap::<S>(pool, cheap, arrival);
    let cheap = Stream::new(window, CHEAP_TICK, &send);
    let (answered, start) = (clients.answered(), Instant::now());
    clock::send(&[&cheap]);
    let answered = clients.answered() - answered;
    let seconds = start.elapsed().as_secs_f64();
    clients.finish()?;
    let requests = throughput(answered as f64 / seconds);
    Ok([requests.as_slice(), &cheap_times(cheap.wait())].concat())
}

/// The nanoseconds within which half and 99 of 100 tasks ran, and 99 of 100 did after the sender had handed them
/// over.
pub(crate) fn cheap_times(mut waits: Waits) -> [f64; 3] {
    [
        within(&mut waits.all, 50),
        within(&mut waits.all, 99),
        within(&mut waits.after, 99),
    ]
}

/// Hands over a task that does nothing but note when it runs.
pub(crate) fn send_cheap<S: Service>(pool: &S::Pool, priority: Priority, arrival: Arrival) {
    S::spawn(pool, priority, async move { arrival.note_done() });
}

/// Nanoseconds for each request, and requests a second.
pub(crate) fn throughput(requests_per_second: f64) -> [f64; 2] {
    [1e9 / requests_per_second, requests_per_second]
}

/// Five hundred cheap tasks a second.
pub(crate) const CHEAP_TICK: Duration = Duration::from_millis(2);
/// Before the clock: the threads have started and every client is at work.
const SETTLING: Duration = Duration::from_millis(100);
