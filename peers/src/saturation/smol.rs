//! What smol is made of: async-executor for tasks, and `blocking` for the heavy request.

use crate::saturation::{Service, Way, work};
use crate::tasks::Smol;

#[derive(Debug)]
pub(crate) struct Unblock;

impl Service for Unblock {
    type Pool = Smol;

    async fn request(_way: Way) -> u64 {
        blocking::unblock(work::in_order).await
    }
}
