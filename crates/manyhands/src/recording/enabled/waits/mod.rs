//! Waits: what a task waits for, on which line and in which frames.

pub(crate) mod forget;
pub(crate) mod frame_mark;
pub(crate) mod lines;
pub(crate) mod site;
pub(crate) mod task_set;
