//! The child's side: one measurement of time, CPU time and memory.

use crate::tally;
use crate::tasks::Pool;
use manyhands_lab::contest::{CostMeter, Sample};

/// Answers a case with nanoseconds of wall time and of CPU time per task or yield, and megabytes of
/// memory at the peak above those at the start. Cases are `detached PLACE`, `awaited PLACE BATCH`
/// and `yields TASKS`.
pub(crate) fn answer<P: Pool>(pool: &P, case: &str) -> Result<Sample, String> {
    let words: Vec<&str> = case.split(' ').collect();
    // The first tasks start the threads and grow what does not depend on the count.
    awaited_outside(pool, WARM_UP, WARM_UP);
    awaited_inside(pool, WARM_UP, WARM_UP);

    let meter = CostMeter::start()?;
    match words[..] {
        ["detached", "outside"] => {
            detach(pool, COUNT);
            tally::wait_for(2 * WARM_UP + COUNT);
        }
        ["detached", "inside"] => {
            let inner = pool.clone();
            pool.spawn_detached(async move { detach(&inner, COUNT) });
            tally::wait_for(2 * WARM_UP + COUNT);
        }
        ["awaited", "outside", batch] => awaited_outside(pool, COUNT, number(batch)?),
        ["awaited", "inside", batch] => awaited_inside(pool, COUNT, number(batch)?),
        ["yields", tasks] => yields(pool, number(tasks)?),
        _ => return Err(format!("no case '{case}'")),
    }
    let cost = meter.stop()?;

    Ok(Sample {
        checksum: tally::total() as u64,
        values: vec![
            cost.nanos / COUNT as f64,
            cost.cpu_nanos / COUNT as f64,
            cost.megabytes,
        ],
    })
}

fn number(word: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("no number '{word}'"))
}

fn detach(pool: &impl Pool, count: usize) {
    for _ in 0..count {
        pool.spawn_detached(async { tally::count() });
    }
}

fn awaited_outside(pool: &impl Pool, count: usize, batch: usize) {
    pool.block_on(spawn_and_await(pool.clone(), count, batch));
}

fn awaited_inside(pool: &impl Pool, count: usize, batch: usize) {
    pool.block_on(pool.spawn(spawn_and_await(pool.clone(), count, batch)));
}

/// Spawns a batch, awaits its handles in order, and so on.
async fn spawn_and_await(pool: impl Pool, count: usize, batch: usize) {
    for _ in 0..count / batch {
        let spawn = |_| pool.spawn(async { tally::count() });
        let handles: Vec<_> = (0..batch).map(spawn).collect();
        for handle in handles {
            handle.await;
        }
    }
}

/// This many tasks share the yields.
fn yields<P: Pool>(pool: &P, tasks: usize) {
    let yield_in_turn = |_| {
        pool.spawn(async move {
            for _ in 0..COUNT / tasks {
                P::yield_now().await;
                tally::count();
            }
        })
    };
    let handles: Vec<_> = (0..tasks).map(yield_in_turn).collect();
    pool.block_on(async {
        for handle in handles {
            handle.await;
        }
    });
}

const COUNT: usize = 1_000_000;
const WARM_UP: usize = 1_000;
