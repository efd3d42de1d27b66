//! Loops: what is recorded of each while it runs, and the reports of those that have ended.

pub(crate) mod async_loops;
pub(crate) mod calls_report;
pub(crate) mod last_reports;
pub(crate) mod part;
pub(crate) mod report;
pub(crate) mod running;
