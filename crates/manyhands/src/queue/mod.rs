//! Queues of pointers to work: the fork-join deque and the task queue.
//!
//! Both hold pointers only; their users decide what is behind a pointer, which thread runs it and which one frees it.

mod deque;
mod task_queue;

pub(crate) use deque::{Deque, Popped};
pub(crate) use task_queue::{Linked, TaskQueue};
