//! What a run leaves behind: one head and a sequence of events, in the order they happened.
//!
//! Everything printed, drawn or exported is computed from these values and from nothing else, so
//! a report can be made again at any later time. They are plain data: no judgement, no clock.

mod claim;
mod event;
mod head;
mod settings;

pub use claim::{ClaimCard, ClaimPart, ClaimTest, Range};
pub use event::{
    Block, CoreTrace, Event, ItemEnds, Key, Meters, PeakReading, PoolMeters, Sample, ThreadCourse,
};
pub use head::{CaseCard, ExperimentCard, Head, Throughput};
pub use settings::{PoolState, Scale, Settings, Thresholds};

/// Version of the files' layout; a reader refuses what it does not know.
pub const FORMAT: u32 = 1;
