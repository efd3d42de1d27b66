//! The child's side: one measurement of time, CPU time and memory.

use std::fs;

use crate::clock;
use crate::items::{Items, tally};
use crate::protocol::Sample;

/// Answers `inside COUNT` or `outside COUNT` with nanoseconds of wall time per item, nanoseconds
/// of CPU time per item, and megabytes of memory at the peak above those at the start.
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

    let before_bytes = reset_peak_memory()?;
    let cpu = clock::process_cpu();
    let start = clock::now();
    spawn(contender, count as usize);
    tally::wait_for(WARM_UP_ITEMS + count as usize);
    let nanos = clock::nanos_since(start);
    let cpu_nanos = (clock::process_cpu() - cpu).as_secs_f64() * 1e9;
    let grown_bytes = status_bytes("VmHWM:")?.saturating_sub(before_bytes);

    let per_item = |nanos: f64| nanos / f64::from(count);
    Ok(Sample {
        checksum: tally::total() as u64,
        values: vec![
            per_item(nanos),
            per_item(cpu_nanos),
            grown_bytes as f64 / 1e6,
        ],
    })
}

/// Sets the peak to the present use and returns it.
fn reset_peak_memory() -> Result<u64, String> {
    fs::write("/proc/self/clear_refs", "5")
        .map_err(|error| format!("the memory peak cannot be reset: {error}"))?;
    status_bytes("VmRSS:")
}

/// A field of the process's status, given there in KiB.
fn status_bytes(field: &str) -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| format!("no {field} in the status"))
}

const WARM_UP_ITEMS: usize = 1_000;
