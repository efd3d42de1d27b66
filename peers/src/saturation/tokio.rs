//! tokio: the heavy request in place, on the blocking threads, or on rayon beside it.

use tokio::sync::oneshot;
use tokio::task;

use crate::saturation::{Service, Way, work};
use crate::tasks::Tokio;

/// In the task, by `block_in_place`.
#[derive(Debug)]
pub(crate) struct InPlace;

/// By `spawn_blocking`.
#[derive(Debug)]
pub(crate) struct OnBlockingThreads;

/// On rayon's pool, which has loops.
#[derive(Debug)]
pub(crate) struct OnRayon;

impl Service for InPlace {
    type Pool = Tokio;

    async fn request(_way: Way) -> u64 {
        task::block_in_place(work::in_order)
    }
}

impl Service for OnBlockingThreads {
    type Pool = Tokio;

    async fn request(_way: Way) -> u64 {
        let sum = task::spawn_blocking(work::in_order).await;
        sum.expect("hashing does not panic")
    }
}

impl Service for OnRayon {
    type Pool = Tokio;

    async fn request(way: Way) -> u64 {
        let work = match way {
            Way::InOrder => work::in_order,
            Way::Loop | Way::Query => work::by_rayon,
        };
        let (sender, receiver) = oneshot::channel();
        // The receiver is there until it has the sum.
        rayon::spawn(move || {
            let _ = sender.send(work());
        });
        receiver.await.expect("hashing does not panic")
    }
}
