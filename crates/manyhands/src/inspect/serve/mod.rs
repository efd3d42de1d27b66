//! The socket: who may connect, what is asked and answered, and what a client may do to the program.

mod changes;
mod poll_once;
pub(crate) mod server;
mod stacks;
#[expect(
    unsafe_code,
    reason = "tasks are woken by their cells; see the file's header"
)]
mod wake_by_record;
mod wire;
