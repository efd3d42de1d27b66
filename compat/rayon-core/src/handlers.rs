//! What is called where a pool's life touches the user's.

use crate::unwind::{AbortIfPanic, Payload, halt_unwinding};

/// The user's functions of one pool.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<PanicHandler>>,
    pub(crate) start: Option<Box<ThreadHandler>>,
    pub(crate) exit: Option<Box<ThreadHandler>>,
}

type PanicHandler = dyn Fn(Payload) + Send + Sync;
type ThreadHandler = dyn Fn(usize) + Send + Sync;

impl Handlers {
    /// Calls `f`. A panic goes to the handler; where there is none, or it panics too, the process ends.
    pub(crate) fn catch_unwind(&self, f: impl FnOnce()) {
        if let Err(payload) = halt_unwinding(f) {
            let frame = AbortIfPanic;
            if let Some(handler) = &self.panic {
                handler(payload);
                frame.disarm();
            }
        }
    }
}
