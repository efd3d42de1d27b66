//! One allocation for each task, from spawning to its result, counted in a process of its own; none where the
//! memory of an earlier task is used again.

use manyhands::Runtime;
use manyhands::task::{self, JoinHandle};
use manyhands_lab::{CountingAllocator, meter};
use std::hint::black_box;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// This many tasks are counted together.
const TASKS: u64 = 200;
/// Of this many counts the least is taken: during the first ones queues grow, and during any of them a thread of
/// the runtime may allocate something of its own.
const ROUNDS: usize = 50;

/// The only test here: no other may allocate beside it.
#[test]
fn a_task_is_one_allocation_from_its_spawning_to_its_result() {
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        runtime.install(|| {
            let large = [1_u64; 16];
            let futures = fewest(move || {
                task::spawn(async move {
                    task::yield_now().await;
                    black_box(large);
                })
            });
            assert_eq!(futures, TASKS, "futures, {workers} workers");
            let closures = fewest(move || {
                task::run(move || {
                    black_box(large);
                })
            });
            assert_eq!(closures, TASKS, "closures, {workers} workers");

            let futures = fewest(|| task::spawn(task::yield_now()));
            assert_eq!(futures, 0, "small futures, {workers} workers");
            let closures = fewest(|| task::run(|| ()));
            assert_eq!(closures, 0, "small closures, {workers} workers");
        });
    }
}

/// The allocations of all threads while a task spawns tasks and waits for them.
fn fewest(spawn: impl Fn() -> JoinHandle<()> + Send + 'static) -> u64 {
    let counting = task::spawn(async move {
        let mut handles = Vec::new();
        let mut fewest = u64::MAX;
        for _ in 0..ROUNDS {
            let before = allocations();
            handles.extend((0..TASKS).map(|_| spawn()));
            for handle in handles.drain(..) {
                handle.await.expect("nothing panics");
            }
            fewest = fewest.min(allocations() - before);
        }
        fewest
    });
    counting.join().expect("nothing panics")
}

fn allocations() -> u64 {
    meter::allocations().expect("the allocator counts").0
}
