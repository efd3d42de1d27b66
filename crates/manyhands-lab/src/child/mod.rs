//! A fresh process that measures one case for another process of the same program.
//!
//! A program that measures starts itself again with [`VARIABLE`] set; the second process calls
//! [`serve`] instead of doing its main job and answers requests on its standard streams until
//! its input ends. What it is sent and how it answers is in `protocol`, how the messages are kept apart from what else the
//! program prints in `sequence`, and how a block is taken in `bench`.

mod bench;
mod copies;
pub(crate) mod protocol;
pub(crate) mod sequence;
mod serve;

pub(crate) use bench::Bench;
pub use protocol::{Batch, Taken};
pub use serve::serve;

use crate::LabError;
use manyhands::Runtime;
use std::{env, sync::Arc};

/// Name of the environment variable that makes a program serve.
pub const VARIABLE: &str = "MANYHANDS_LAB_CHILD";

/// Whether this process was started to serve. A program asks this before anything else, and
/// above all before its first parallel call: pinning holds for threads started later.
#[must_use]
pub fn is_wanted() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// A pool with this many workers, or with one for each CPU.
fn pool(workers: Option<usize>) -> Result<Arc<Runtime>, LabError> {
    let builder = Runtime::builder();
    let builder = match workers {
        Some(workers) => builder.workers(workers),
        None => builder,
    };
    Ok(Arc::new(builder.build().map_err(LabError::pool)?))
}
