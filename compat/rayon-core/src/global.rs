//! The pool of threads that have no slot in another.
//!
//! It is on the default runtime of manyhands, unless it was built with what that cannot give.

use crate::ThreadPoolBuildError;
use crate::call;
use crate::registry::Registry;
use crate::settings::Settings;
use crate::shared::{LentSlot, SharedHost};
use crate::threads::{self, DefaultSpawn, ThreadSpawn};
use crate::worker::WorkerThread;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

struct Global {
    registry: Arc<Registry>,
    /// `None`: it has threads of its own.
    host: Option<&'static SharedHost>,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();
static MAKING: Mutex<()> = Mutex::new(());

/// The global pool; made on first use.
pub(crate) fn registry() -> &'static Arc<Registry> {
    &global().registry
}

fn global() -> &'static Global {
    if let Some(global) = GLOBAL.get() {
        return global;
    }
    match make(Settings::default(), DefaultSpawn) {
        Ok(global) => global,
        Err(error) => GLOBAL
            .get()
            .unwrap_or_else(|| panic!("the global thread pool has not been initialized: {error}")),
    }
}

/// Makes the global pool.
pub(crate) fn init<S: ThreadSpawn>(
    settings: Settings,
    spawn: S,
) -> Result<&'static Registry, ThreadPoolBuildError> {
    make(settings, spawn).map(|global| &*global.registry)
}

fn make<S: ThreadSpawn>(
    settings: Settings,
    spawn: S,
) -> Result<&'static Global, ThreadPoolBuildError> {
    let _alone = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::already_initialized());
    }
    let global = build(settings, spawn)?;
    Ok(GLOBAL.get_or_init(|| global))
}

fn build<S: ThreadSpawn>(mut settings: Settings, spawn: S) -> Result<Global, ThreadPoolBuildError> {
    let runtime = match S::IS_DEFAULT {
        true => settings.default_runtime(),
        false => None,
    };
    let Some(runtime) = runtime else {
        let registry = threads::build(settings, spawn)?;
        let host = None;
        return Ok(Global { registry, host });
    };
    let host = SharedHost::build(runtime, settings)?;
    Ok(Global {
        registry: Arc::clone(host.registry()),
        host: Some(host),
    })
}

/// The calling thread's pool, else the global one.
pub(crate) fn current() -> Arc<Registry> {
    match WorkerThread::current() {
        Some(worker) => Arc::clone(worker.registry()),
        None => Arc::clone(registry()),
    }
}

/// A slot of the global pool for the calling thread, if it has none, is a worker of manyhands, and the pool is on its
/// runtime.
pub(crate) fn lend_slot() -> Option<LentSlot> {
    global().host?.take_slot_inline()
}

/// Calls `op` on a thread with a slot: on the calling one if it has, else on one of the global pool. `op` gets
/// whether it was sent there.
#[inline]
pub(crate) fn in_worker<OP, R>(op: OP) -> R
where
    OP: FnOnce(&WorkerThread, bool) -> R + Send,
    R: Send,
{
    match WorkerThread::current() {
        Some(worker) => op(worker, false),
        None => in_worker_cold(op),
    }
}

/// A worker of manyhands takes a slot, if the pool is on its runtime.
#[cold]
fn in_worker_cold<OP, R>(op: OP) -> R
where
    OP: FnOnce(&WorkerThread, bool) -> R + Send,
    R: Send,
{
    match lend_slot() {
        Some(lent) => op(lent.worker(), false),
        None => call::send(registry(), None, op),
    }
}
