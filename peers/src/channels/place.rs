//! Where the ends are used: on threads that block in the channel, on threads that block on a future, or in
//! tasks on one runtime.

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::thread;

use ::tokio::runtime::{Builder, Runtime};

use crate::channels::{Async, Blocking, Ends};

/// Something that was started and has a sum at its end; calling it waits.
pub(crate) type Running = Box<dyn FnOnce() -> u64>;

/// Starts what is measured.
pub(crate) trait Place {
    type Ends: Ends;

    /// Sends the numbers below `count`.
    fn produce(sender: Sender<Self>, count: u64) -> Running;

    /// Receives until the end and adds up.
    fn consume(receiver: Receiver<Self>) -> Running;

    /// Sends a number and waits for an answer, `count` times; the sum of the answers.
    fn ask(sender: Sender<Self>, receiver: Receiver<Self>, count: u64) -> Running;

    /// Sends back what it receives, until the end.
    fn answer(sender: Sender<Self>, receiver: Receiver<Self>) -> Running;
}

pub(crate) type Sender<P> = <<P as Place>::Ends as Ends>::Sender;
pub(crate) type Receiver<P> = <<P as Place>::Ends as Ends>::Receiver;

/// Threads that block in the channel.
#[derive(Debug)]
pub(crate) struct Threads<L>(PhantomData<L>);

impl<L: Blocking> Place for Threads<L> {
    type Ends = L;

    fn produce(sender: L::Sender, count: u64) -> Running {
        on_thread(move || {
            (0..count).for_each(|item| L::send(&sender, item));
            0
        })
    }

    fn consume(mut receiver: L::Receiver) -> Running {
        on_thread(move || std::iter::from_fn(|| L::recv(&mut receiver)).sum())
    }

    fn ask(sender: L::Sender, mut receiver: L::Receiver, count: u64) -> Running {
        on_thread(move || {
            let ask = |item| {
                L::send(&sender, item);
                L::recv(&mut receiver).unwrap_or_default()
            };
            (0..count).map(ask).sum()
        })
    }

    fn answer(sender: L::Sender, mut receiver: L::Receiver) -> Running {
        on_thread(move || {
            while let Some(item) = L::recv(&mut receiver) {
                L::send(&sender, item);
            }
            0
        })
    }
}

fn on_thread(work: impl FnOnce() -> u64 + Send + 'static) -> Running {
    let thread = thread::spawn(work);
    Box::new(|| thread.join().unwrap_or_default())
}

async fn produce<L: Async>(sender: L::Sender, count: u64) -> u64 {
    for item in 0..count {
        L::send(&sender, item).await;
    }
    0
}

async fn consume<L: Async>(mut receiver: L::Receiver) -> u64 {
    let mut sum = 0;
    while let Some(item) = L::recv(&mut receiver).await {
        sum += item;
    }
    sum
}

async fn ask<L: Async>(sender: L::Sender, mut receiver: L::Receiver, count: u64) -> u64 {
    let mut sum = 0;
    for item in 0..count {
        L::send(&sender, item).await;
        sum += L::recv(&mut receiver).await.unwrap_or_default();
    }
    sum
}

async fn answer<L: Async>(sender: L::Sender, mut receiver: L::Receiver) -> u64 {
    while let Some(item) = L::recv(&mut receiver).await {
        L::send(&sender, item).await;
    }
    0
}

macro_rules! asynchronous {
    ($place:ident, $start:ident) => {
        impl<L: Async + 'static> Place for $place<L> {
            type Ends = L;

            fn produce(sender: L::Sender, count: u64) -> Running {
                $start(produce::<L>(sender, count))
            }

            fn consume(receiver: L::Receiver) -> Running {
                $start(consume::<L>(receiver))
            }

            fn ask(sender: L::Sender, receiver: L::Receiver, count: u64) -> Running {
                $start(ask::<L>(sender, receiver, count))
            }

            fn answer(sender: L::Sender, receiver: L::Receiver) -> Running {
                $start(answer::<L>(sender, receiver))
            }
        }
    };
}

/// Threads that each block on one future.
#[derive(Debug)]
pub(crate) struct Polled<L>(PhantomData<L>);

asynchronous!(Polled, block_on_thread);

fn block_on_thread(future: impl Future<Output = u64> + Send + 'static) -> Running {
    on_thread(|| pollster::block_on(future))
}

/// Tasks on manyhands' own pool.
#[derive(Debug)]
pub(crate) struct PoolTasks<L>(PhantomData<L>);

asynchronous!(PoolTasks, spawn_on_pool);

fn spawn_on_pool(future: impl Future<Output = u64> + Send + 'static) -> Running {
    let task = manyhands::task::spawn(future);
    Box::new(|| task.join().unwrap_or_default())
}

/// Tasks on tokio's runtime.
#[derive(Debug)]
pub(crate) struct Tasks<L>(PhantomData<L>);

asynchronous!(Tasks, spawn);

fn spawn(future: impl Future<Output = u64> + Send + 'static) -> Running {
    let task = runtime().spawn(future);
    Box::new(|| runtime().block_on(task).unwrap_or_default())
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let runtime = Builder::new_multi_thread().worker_threads(2).build();
        runtime.expect("a runtime can be made")
    })
}
