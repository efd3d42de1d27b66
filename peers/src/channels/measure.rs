//! The child's side: one measurement of time and CPU time per message.

use crate::channels::Ends;
use crate::channels::place::{Place, Receiver, Running, Sender};
use manyhands_lab::contest::{CostMeter, Sample};

/// Answers `SHAPE LIMIT` with nanoseconds of wall time and of CPU time per message; for `pingpong` per
/// round trip.
pub(crate) fn answer<P: Place>(case: &str) -> Result<Sample, String> {
    let (shape, limit) = case
        .split_once(' ')
        .ok_or_else(|| format!("no case '{case}'"))?;
    let capacity = match limit {
        "unbounded" => None,
        "bounded" => Some(CAPACITY),
        _ => return Err(format!("no limit '{limit}'")),
    };
    // The first run starts threads and maps memory.
    run::<P>(shape, capacity, WARM_UP_MESSAGES)?;
    let count = if shape == "pingpong" {
        ROUND_TRIPS
    } else {
        MESSAGES
    };
    let meter = CostMeter::start()?;
    let checksum = run::<P>(shape, capacity, count)?;
    let cost = meter.stop()?;
    Ok(Sample {
        checksum,
        values: vec![cost.nanos / count as f64, cost.cpu_nanos / count as f64],
    })
}

fn run<P: Place>(shape: &str, capacity: Option<usize>, count: u64) -> Result<u64, String> {
    match shape {
        "1to1" => pass::<P>(1, 1, capacity, count),
        "4to1" => pass::<P>(4, 1, capacity, count),
        "2to2" => pass::<P>(2, 2, capacity, count),
        "pingpong" => Ok(bounce::<P>(capacity, count)),
        _ => Err(format!("no shape '{shape}'")),
    }
}

fn pass<P: Place>(
    producers: u64,
    consumers: usize,
    capacity: Option<usize>,
    count: u64,
) -> Result<u64, String> {
    let (sender, receiver) = P::Ends::channel(capacity);
    let mut receivers: Vec<Receiver<P>> = Vec::new();
    for _ in 1..consumers {
        receivers.push(P::Ends::share(&receiver).ok_or("there is one receiver only")?);
    }
    receivers.push(receiver);
    let consuming: Vec<Running> = receivers.into_iter().map(P::consume).collect();
    let senders: Vec<Sender<P>> = (0..producers).map(|_| sender.clone()).collect();
    drop(sender);
    let producing: Vec<Running> = senders
        .into_iter()
        .map(|sender| P::produce(sender, count / producers))
        .collect();
    Ok(producing
        .into_iter()
        .chain(consuming)
        .map(|run| run())
        .sum())
}

fn bounce<P: Place>(capacity: Option<usize>, count: u64) -> u64 {
    let (questions, asked) = P::Ends::channel(capacity);
    let (answers, answered) = P::Ends::channel(capacity);
    let running: [Running; 2] = [
        P::answer(answers, asked),
        P::ask(questions, answered, count),
    ];
    running.into_iter().map(|run| run()).sum()
}

const CAPACITY: usize = 128;
const MESSAGES: u64 = 500_000;
const ROUND_TRIPS: u64 = 20_000;
const WARM_UP_MESSAGES: u64 = 1_000;
