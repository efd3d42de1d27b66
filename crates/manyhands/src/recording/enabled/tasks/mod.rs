//! Tasks: what is recorded of each, and the table of all.

pub(crate) mod current;
pub(crate) mod hooks;
pub(crate) mod last_waker;
pub(crate) mod leaf_stacks;
#[expect(
    unsafe_code,
    reason = "where a cell is, any thread may know; see the file's header"
)]
pub(crate) mod recorded_cell;
mod shard;
mod shared_shard;
pub(crate) mod table;
pub(crate) mod thread_waits;
pub(crate) mod work_type;
