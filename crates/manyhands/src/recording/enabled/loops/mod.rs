//! Loops: what is recorded of each while it runs, and where the reports of those that have ended are kept.

pub(crate) mod async_loops;
pub(crate) mod calls_account;
pub(crate) mod last_reports;
pub(crate) mod running;
