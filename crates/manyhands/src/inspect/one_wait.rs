//! The only wait of a task, as it lies in the record: in as few bytes as it needs.
//!
//! Not here: several waits, and those that do not fit (`waits.rs`).

use crate::inspect::coarse::{Bits48, CoarseTime};
use crate::inspect::interned::Line;
use crate::inspect::task_number::TaskNumber;
use crate::inspect::wait_kind::WaitKind;
use crate::inspect::waits::WaitRecord;

/// The only wait of a task: for no scope or group, and in no frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneWait {
    pub(super) owner: Option<TaskNumber>,
    pub(super) at: Line,
    pub(super) leaf: Bits48,
    pub(super) resource: Bits48,
    /// [`CoarseTime::NONE`] until the poll has ended in which it began.
    pub(super) since: CoarseTime,
    pub(super) kind: WaitKind,
    pub(super) standing: Standing,
}

/// Which poll has recorded a task's only wait, and whether the end of it wakes the task itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Direct,
    Inside,
    /// Of the poll before, while the task is polled.
    EarlierDirect,
    /// Of the poll before, while the task is polled.
    EarlierInside,
}

impl Standing {
    /// The same in the next poll.
    pub(super) fn earlier(self) -> Self {
        match self {
            Self::Direct | Self::EarlierDirect => Self::EarlierDirect,
            Self::Inside | Self::EarlierInside => Self::EarlierInside,
        }
    }
}

impl OneWait {
    /// `None` if the wait does not fit.
    pub(super) fn of(wait: &WaitRecord) -> Option<Self> {
        if wait.set.is_some() || wait.frame != 0 {
            return None;
        }
        Some(Self {
            owner: wait.owner,
            at: wait.at,
            leaf: Bits48::of(wait.leaf as u64)?,
            resource: Bits48::of(wait.resource as u64)?,
            since: CoarseTime::of(wait.since),
            kind: wait.kind,
            standing: if wait.is_direct {
                Standing::Direct
            } else {
                Standing::Inside
            },
        })
    }

    pub(super) fn is_earlier(&self) -> bool {
        self.standing == self.standing.earlier()
    }

    pub(super) fn record(&self) -> WaitRecord {
        let address = |bits: Bits48| usize::try_from(bits.get()).expect("it was an address");
        WaitRecord {
            leaf: address(self.leaf),
            kind: self.kind,
            resource: address(self.resource),
            owner: self.owner,
            set: None,
            at: self.at,
            since: self.since.ticks(),
            is_direct: matches!(self.standing, Standing::Direct | Standing::EarlierDirect),
            frame: 0,
        }
    }
}
