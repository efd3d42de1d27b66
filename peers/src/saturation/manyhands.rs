//! manyhands: everything on one pool, its default runtime.

use manyhands::task::{self, Priority};

use crate::saturation::{Service, Way, work};
use crate::tasks::{Manyhands, Pool};

#[derive(Debug)]
pub(crate) struct OnePool;

impl Service for OnePool {
    type Pool = Manyhands;

    async fn request(way: Way) -> u64 {
        match way {
            Way::InOrder => work::in_order(),
            Way::Loop => work::by_loop(),
            Way::Query => work::by_query(),
        }
    }

    fn spawn(
        pool: &Manyhands,
        priority: Priority,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        match priority {
            Priority::Normal => pool.spawn_detached(task),
            other => drop(task::Builder::new().priority(other).spawn(task)),
        }
    }
}
