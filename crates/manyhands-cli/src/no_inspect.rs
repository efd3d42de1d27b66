//! Where no program has a socket, in place of `inspect.rs`.

use crate::meant::Inspect;
use crate::output::Failure;
use manyhands_lab::console::{Ending, Printing};

/// Nothing gets here, because no path is meant.
pub(crate) fn run(_: &Inspect, _: Printing) -> Result<Ending, Failure> {
    unreachable!("`mean` refuses the command")
}
