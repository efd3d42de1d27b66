//! Operators, one file for each family.

#![expect(
    clippy::type_complexity,
    reason = "an operator's type names all that it is made of"
)]

mod any;
pub(crate) mod apply;
mod chain;
mod chunks;
mod distinct;
pub(crate) mod flat_op;
mod gather_by;
mod group_by;
mod join;
mod least;
mod order_by;
mod part;
mod rev;
mod scan;
pub(crate) mod whiles;
pub(crate) mod zip;

pub use group_by::{Group, Lookup};
