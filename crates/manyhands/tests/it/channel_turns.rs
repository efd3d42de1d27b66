//! Every task that waits at a channel comes to its turn, though others that use it again and again are there first.

use crate::support::{LIMIT_SECS, on_runtime, within};
use futures::executor::LocalPool;
use futures::future::join_all;
use futures::task::LocalSpawnExt;
use manyhands::channel::{self, Receiver, Sender};
use manyhands::task::{self, Priority};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TASKS: usize = 5;
/// The tasks stop when one of them has had as many turns.
const TURNS_MAX: u64 = 2_000;

/// What a task waits for to have its turn.
#[derive(Debug, Clone, Copy)]
enum Way {
    Item,
    ManyItems,
    Room,
    RoomForMany,
}

const WAYS: [Way; 4] = [Way::Item, Way::ManyItems, Way::Room, Way::RoomForMany];

/// Tokens that tasks share: the items of a channel, or the room in it.
#[derive(Debug, Clone)]
struct Tokens {
    sender: Sender<()>,
    receiver: Receiver<()>,
    way: Way,
    /// Who waits is polled all the time, as beside a busy future in a `select`.
    is_polled_often: bool,
    most: Arc<AtomicU64>,
}

impl Tokens {
    fn new(count: usize, way: Way) -> Self {
        let (sender, receiver) = channel::bounded(count);
        if matches!(way, Way::Item | Way::ManyItems) {
            (0..count).for_each(|_| sender.try_send(()).unwrap());
        }
        Self {
            sender,
            receiver,
            way,
            is_polled_often: false,
            most: Arc::default(),
        }
    }

    async fn take(&self) {
        let mut take = pin!(self.take_when_woken());
        poll_fn(|context| {
            if self.is_polled_often {
                context.waker().wake_by_ref();
            }
            take.as_mut().poll(context)
        })
        .await;
    }

    async fn take_when_woken(&self) {
        match self.way {
            Way::Item => self.receiver.recv().await.unwrap(),
            Way::ManyItems => {
                let count = self.receiver.recv_many(&mut Vec::new(), 1).await;
                assert_eq!(count, Ok(1));
            }
            Way::Room => self.sender.send(()).await.unwrap(),
            Way::RoomForMany => {
                let mut items = VecDeque::from([()]);
                self.sender.send_many(&mut items).await.unwrap();
            }
        }
    }

    fn give_back(&self) {
        match self.way {
            Way::Item | Way::ManyItems => self.sender.try_send(()).unwrap(),
            Way::Room | Way::RoomForMany => self.receiver.try_recv().unwrap(),
        }
    }

    /// In each of its turns takes a token, keeps it while others run, gives it back, and has `rests` before the next
    /// turn. Returns the number of turns.
    async fn take_turns(self, rests: usize) -> u64 {
        let mut turns = 0;
        while self.most.load(Ordering::Relaxed) < TURNS_MAX {
            self.take().await;
            task::yield_now().await;
            self.give_back();
            turns += 1;
            self.most.fetch_max(turns, Ordering::Relaxed);
            for _ in 0..rests {
                task::yield_now().await;
            }
        }
        turns
    }
}

#[track_caller]
fn assert_each_had_turns(turns: &[u64], of: &str) {
    let fewest = turns.iter().min();
    assert!(fewest >= Some(&(TURNS_MAX / 100)), "{of}: {turns:?}");
}

#[test]
fn tasks_that_take_from_a_channel_what_they_gave_back_let_others_have_it() {
    on_runtime(1, |runtime| {
        for (way, count) in WAYS.iter().flat_map(|way| [(*way, 1), (*way, 2)]) {
            let tokens = Tokens::new(count, way);
            let spawn = |_| task::spawn(tokens.clone().take_turns(0));
            let tasks: Vec<_> = runtime.install(|| (0..TASKS).map(spawn).collect());
            let turns: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
            assert_each_had_turns(&turns, &format!("{way:?}, {count}"));
        }
    });
}

#[test]
fn two_tasks_in_turn_let_a_third_one_have_what_they_take_from_a_channel() {
    on_runtime(1, |runtime| {
        for way in WAYS {
            let tokens = Tokens::new(1, way);
            // The second one always comes when the first one has just given back.
            let spawn = |rests| task::spawn(tokens.clone().take_turns(rests));
            let tasks = runtime.install(|| [2, 2, 0].map(spawn));
            let turns = tasks.map(|task| task.join().unwrap());
            assert_each_had_turns(&turns, &format!("{way:?}"));
        }
    });
}

#[test]
fn tasks_that_are_polled_all_the_time_while_they_wait_let_another_one_have_its_turn_at_a_channel() {
    on_runtime(1, |runtime| {
        for way in WAYS {
            let tokens = Tokens::new(1, way);
            let spawn = |is_polled_often| {
                let tokens = tokens.clone();
                let tokens = Tokens {
                    is_polled_often,
                    ..tokens
                };
                task::spawn(tokens.take_turns(0))
            };
            let tasks = runtime.install(|| [true, true, false].map(spawn));
            let turns = tasks.map(|task| task.join().unwrap());
            assert_each_had_turns(&turns, &format!("{way:?}"));
        }
    });
}

#[test]
fn a_task_of_the_background_has_its_turn_at_a_channel() {
    on_runtime(1, |runtime| {
        for (way, rests) in WAYS
            .iter()
            .flat_map(|way| [(*way, 0), (*way, 1), (*way, 2)])
        {
            let tokens = Tokens::new(1, way);
            let spawn = |priority| {
                let builder = task::Builder::new().priority(priority);
                builder.spawn(tokens.clone().take_turns(rests))
            };
            let tasks = runtime.install(|| [Priority::Normal, Priority::Background].map(spawn));
            let turns = tasks.map(|task| task.join().unwrap());
            assert_each_had_turns(&turns, &format!("{way:?}, {rests}"));
        }
    });
}

#[test]
fn futures_that_one_task_polls_have_their_turns_at_a_channel() {
    on_runtime(1, |runtime| {
        for way in WAYS {
            let tokens = Tokens::new(1, way);
            let all = join_all((0..TASKS).map(|_| tokens.clone().take_turns(0)));
            let turns = runtime.install(|| task::spawn(all)).join().unwrap();
            assert_each_had_turns(&turns, &format!("{way:?}"));
        }
    });
}

#[test]
fn tasks_of_another_executor_have_their_turns_at_a_channel() {
    within(LIMIT_SECS, || {
        for way in WAYS {
            let tokens = Tokens::new(1, way);
            let mut pool = LocalPool::new();
            let spawner = pool.spawner();
            let spawn = |_| spawner.spawn_local_with_handle(tokens.clone().take_turns(0));
            let tasks: Vec<_> = (0..TASKS).map(spawn).collect::<Result<_, _>>().unwrap();
            let turns = pool.run_until(join_all(tasks));
            assert_each_had_turns(&turns, &format!("{way:?}"));
        }
    });
}
