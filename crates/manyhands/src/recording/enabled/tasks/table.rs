//! The table of recorded tasks: sharded, each shard behind a lock.
//!
//! A task keeps its number, not a pointer. A number names a place in the table and how often that place was used
//! before, so one that outlives its task finds nothing. A reader copies records under their shard's lock, so no record is
//! torn; different ones are read a moment apart.
//!
//! Not here: a record (`Record` of `manyhands-analysis`), a shard (`shard.rs`) and its lock (`shared_shard.rs`), what is recorded when
//! (`hooks.rs`), and what is made of it (`inspect/take.rs`).

use crate::recording::enabled::RecordedCell;
use crate::recording::enabled::tasks::shared_shard::SharedShard;
use crate::sync::Padded;
use manyhands_analysis::{Record, SHARDS, TaskNumber};

/// Adds a record, and the cell of a task. `spread` chooses the shard. `None` if the shard is full.
pub(crate) fn insert(
    spread: usize,
    record: Record,
    cell: Option<RecordedCell>,
) -> Option<TaskNumber> {
    let shard = spread % SHARDS;
    TABLE[shard].lock().insert(shard, record, cell)
}

/// Changes a record, if the task is still there.
pub(crate) fn change<R>(number: TaskNumber, change: impl FnOnce(&mut Record) -> R) -> Option<R> {
    TABLE[number.shard()].lock().change(number, change)
}

/// What `see` makes of a record and the task's cell, if the task is still there. The cell is in place until `see` returns.
pub(crate) fn with_cell<R>(
    number: TaskNumber,
    see: impl FnOnce(&Record, Option<RecordedCell>) -> R,
) -> Option<R> {
    TABLE[number.shard()].lock().with_cell(number, see)
}

/// Whether a task is still there.
pub(crate) fn has(number: TaskNumber) -> bool {
    with_cell(number, |_, _| ()).is_some()
}

/// Takes a record out.
pub(crate) fn remove(number: TaskNumber) {
    let removed = TABLE[number.shard()].lock().take(number);
    drop(removed);
}

/// How many records there are.
pub(crate) fn len() -> usize {
    TABLE.iter().map(|shard| shard.lock().len()).sum()
}

/// Calls `see` for each record with its number and version, one shard after the other. The lock of a shard is released from time
/// to time, and a thread that waits for it has it then, so that no task waits for long.
pub(crate) fn for_each(mut see: impl FnMut(TaskNumber, u32, &Record)) {
    for (number, shard) in TABLE.iter().enumerate() {
        shard.for_each(number, &mut see);
    }
}

static TABLE: [Padded<SharedShard>; SHARDS] = [const { Padded(SharedShard::empty()) }; SHARDS];

#[cfg(test)]
mod tests {
    use super::{Record, SHARDS, TaskNumber, has, insert, remove};

    fn record() -> Record {
        Record::new(0)
    }

    #[test]
    fn a_number_that_outlives_its_task_finds_nothing() {
        // No other test of this process fills this shard.
        let first = insert(SHARDS - 1, record(), None).unwrap();
        assert!(has(first));
        remove(first);
        assert!(!has(first));
        let mut again = insert(SHARDS - 1, record(), None).unwrap();
        while again.place() != first.place() {
            again = insert(SHARDS - 1, record(), None).unwrap();
        }
        assert_ne!(first, again);
        assert!(has(again) && !has(first));
        remove(first);
        assert!(has(again), "an old number removes nothing");
        assert_eq!(again.to_string(), format!("{first}.{}", again.uses()));
        assert_eq!(TaskNumber::from_bits(again.to_bits()), Some(again));
        for number in [first, again] {
            assert_eq!(TaskNumber::from_text(&number.to_string()), Some(number));
        }
        for text in ["", "x", "1.0", "1.x", "-1", "1.2.3", "4294967296"] {
            assert_eq!(TaskNumber::from_text(text), None, "{text}");
        }
    }
}
