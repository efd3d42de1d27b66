//! The child's side: one measurement of time, CPU time and memory.

use crate::items::Items;
use crate::tally;
use manyhands_lab::contest::{CostMeter, Sample};

/// Answers `inside COUNT` or `outside COUNT` with nanoseconds of wall time per item, nanoseconds
/// of CPU time per item, megabytes of memory at the peak above those at the start, and the percentage of the items
/// that had not run when the last was handed over.
pub(crate) fn answer<C: Items>(contender: &mut C, case: &str) -> Result<Sample, String> {
    let (place, count) = case
        .split_once(' ')
        .ok_or_else(|| format!("no case '{case}'"))?;
    let count: u32 = count.parse().map_err(|_| format!("no count '{count}'"))?;
    let spawn = match place {
        "inside" => C::inside,
        "outside" => C::outside,
        _ => return Err(format!("no place '{place}'")),
    };
    // The first closures start the threads and grow what does not depend on the count.
    spawn(contender, WARM_UP_ITEMS);
    tally::wait_for(WARM_UP_ITEMS);
    tally::run_by_then();

    let meter = CostMeter::start()?;
    spawn(contender, count as usize);
    tally::wait_for(WARM_UP_ITEMS + count as usize);
    let cost = meter.stop()?;

    let all = WARM_UP_ITEMS + count as usize;
    let waiting = all - tally::run_by_then();
    let per_item = |nanos: f64| nanos / f64::from(count);
    Ok(Sample {
        checksum: tally::total() as u64,
        values: vec![
            per_item(cost.nanos),
            per_item(cost.cpu_nanos),
            cost.megabytes,
            100.0 * waiting as f64 / f64::from(count),
        ],
    })
}

const WARM_UP_ITEMS: usize = 1_000;
