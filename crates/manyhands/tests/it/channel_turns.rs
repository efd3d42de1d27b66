//! Every task that waits at a channel comes to its turn, though others that use it again and again are there first.

use crate::support::on_runtime;
use manyhands::channel::{self, Receiver, Sender};
use manyhands::task;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TASKS: usize = 5;
/// The tasks stop when one of them has had as many turns.
const TURNS_MAX: u64 = 2_000;

/// Runs several tasks on one worker. In each of its turns a task takes a token from a channel that has fewer of them, keeps
/// it while others run, and gives it back. Returns how many turns each has had.
fn turns_of_tasks(tokens: usize) -> Vec<u64> {
    let (give, take) = channel::bounded(tokens);
    (0..tokens).for_each(|_| give.try_send(()).unwrap());
    let most = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| task::spawn(take_turns(take.clone(), give.clone(), Arc::clone(&most))))
        .collect();
    tasks.into_iter().map(|task| task.join().unwrap()).collect()
}

async fn take_turns(take: Receiver<()>, give: Sender<()>, most: Arc<AtomicU64>) -> u64 {
    let mut turns = 0;
    while most.load(Ordering::Relaxed) < TURNS_MAX {
        take.recv_async().await.unwrap();
        task::yield_now().await;
        give.send_async(()).await.unwrap();
        turns += 1;
        most.fetch_max(turns, Ordering::Relaxed);
    }
    turns
}

#[test]
fn tasks_that_take_from_a_channel_what_they_gave_back_let_others_have_it() {
    on_runtime(1, |runtime| {
        for tokens in [1, 2] {
            let turns = runtime.install(|| turns_of_tasks(tokens));
            let fewest = turns.iter().min();
            assert!(fewest >= Some(&(TURNS_MAX / 100)), "{tokens}: {turns:?}");
        }
    });
}
