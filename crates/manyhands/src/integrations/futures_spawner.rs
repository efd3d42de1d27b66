//! A runtime's handle as a spawner of `futures`; only with the feature `futures`.

use crate::task;
use crate::task::runtime_handle::Handle;
use futures_task::{FutureObj, LocalFutureObj, LocalSpawn, Spawn, SpawnError};

/// For libraries that take a spawner of `futures`. When the runtime has been shut down, the future is dropped.
///
/// # Examples
/// ```
/// use futures::task::SpawnExt;
/// use manyhands::{Handle, task};
///
/// let handle = Handle::current().spawn_with_handle(async { 6 * 7 }).unwrap();
/// assert_eq!(task::block_on(handle), 42);
/// ```
impl Spawn for Handle {
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), SpawnError> {
        drop(self.spawn(future));
        Ok(())
    }
}

/// The calling worker takes a local future, if it is one of the handle's runtime; other threads report that it is shut down.
impl LocalSpawn for Handle {
    fn spawn_local_obj(&self, future: LocalFutureObj<'static, ()>) -> Result<(), SpawnError> {
        self.status_local()?;
        drop(task::spawn_local(future));
        Ok(())
    }

    fn status_local(&self) -> Result<(), SpawnError> {
        self.is_on_worker()
            .then_some(())
            .ok_or_else(SpawnError::shutdown)
    }
}
