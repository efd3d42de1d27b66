//! Queues of pointers to work: the fork-join deque, the task queue, and several of these used as one.
//!
//! They hold pointers only; their users decide what is behind a pointer, which thread runs it and which one frees it.

mod deque;
mod sharded_queue;
mod task_queue;
mod unqueued;

pub(crate) use deque::{Deque, Popped};
pub(crate) use sharded_queue::ShardedQueue;
pub(crate) use task_queue::{Linked, Run, TaskQueue};
pub(crate) use unqueued::Unqueued;
