//! The runtime as a spawner of `futures`; only with the feature `futures`.

use crate::runtime::current;
use crate::task;
use futures_task::{FutureObj, LocalFutureObj, LocalSpawn, Spawn, SpawnError};

/// Spawns on the current runtime, for libraries that take a spawner of `futures`.
///
/// As a [`LocalSpawn`] it works on workers only; on other threads it reports that it is shut down.
///
/// # Examples
/// ```
/// use futures::task::SpawnExt;
/// use manyhands::integrations::Spawner;
/// use manyhands::task;
///
/// let handle = Spawner.spawn_with_handle(async { 6 * 7 }).unwrap();
/// assert_eq!(task::block_on(handle), 42);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spawner;

impl Spawn for Spawner {
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), SpawnError> {
        drop(task::spawn(future));
        Ok(())
    }
}

impl LocalSpawn for Spawner {
    fn spawn_local_obj(&self, future: LocalFutureObj<'static, ()>) -> Result<(), SpawnError> {
        self.status_local()?;
        drop(task::spawn_local(future));
        Ok(())
    }

    fn status_local(&self) -> Result<(), SpawnError> {
        let is_on_worker = current::slot().is_some_and(|slot| slot.is_worker());
        is_on_worker.then_some(()).ok_or_else(SpawnError::shutdown)
    }
}
