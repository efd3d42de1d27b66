//! Queues of pointers to work: the fork-join deque and the task queue.
//!
//! Both carry pointers only; what they point to, who runs it and who frees it is decided above.

mod deque;
mod task_queue;

pub(crate) use deque::{Deque, Popped};
pub(crate) use task_queue::{Linked, TaskQueue};
