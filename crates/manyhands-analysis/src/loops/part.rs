//! What each runner of a recorded loop did, added up for its report, and who called the loop.
//!
//! Not here: when a part begins and ends (`recording/enabled/loops/running.rs` of the library).

use crate::loops::report::{AloneBecause, BlockReport, LoopReport, RunnerReport, TrialReport};
use crate::moment::Moment;
use crate::tasks::number::TaskNumber;
use std::panic::Location;
use std::time::Duration;

/// What one runner did. Times in ticks, but for those in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Part {
    thread: usize,
    worker: Option<usize>,
    /// When it began.
    pub joined: u64,
    left: u64,
    worked: u64,
    taking: u64,
    /// How long it was not on a processor; `None` if the system does not say.
    pub off_processor_nanos: Option<u64>,
    items: u64,
    blocks: u64,
    longest: Block,
}

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    ticks: u64,
    items: u64,
    items_before: u64,
    ticks_before: u64,
}

/// What all runners of a loop did.
#[derive(Debug, Default)]
pub struct Parts {
    runners: Vec<Part>,
    /// What the caller did before others could join.
    alone: Option<Part>,
    /// When it was opened to helpers.
    pub opened: Option<u64>,
    /// Why it ran on its caller alone, if that is known.
    pub alone_because: Option<AloneBecause>,
    trial: Option<TrialReport>,
}

/// Whether others can join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nobody can.
    Alone,
    /// They can.
    Shared,
}

impl Parts {
    /// Of a call that ended then, and was open to this number of threads. Positions from `end` on were not wanted any more;
    /// `None` if it has panicked.
    #[must_use]
    pub fn report(
        &self,
        call: &Call,
        end: Option<u64>,
        threads: usize,
        ended: Moment,
    ) -> LoopReport {
        let since = |ticks: u64| ended.length(ticks.saturating_sub(call.begun));
        let of = |part: &Part| part.report(call, ended);
        let run = self.runners.iter().map(|part| part.items).sum();
        let items = call.items.unwrap_or(run);
        LoopReport {
            body: call.body(),
            called_at: call.called_at,
            items,
            is_stopped: end.is_none_or(|end| end < items),
            has_panicked: end.is_none(),
            elapsed: since(ended.ticks),
            runners: self.runners.iter().map(of).collect(),
            threads: threads.max(1),
            opened_after: self.opened.map(since),
            before_opening: self.alone.as_ref().map(of),
            alone_because: match self.opened {
                // None at all: there was no item, or a body has panicked.
                None => self.alone_because.or(Some(AloneBecause::TooShort)),
                Some(_) => None,
            },
            trial: self.trial,
            calls: None,
        }
    }

    /// The caller has run this number of items by itself, as one block, since the call began.
    pub fn add_block_alone(&mut self, call: &Call, items: u64, now: u64) {
        let mut part = Part::begin(call.thread, None, call.begun);
        part.block(items, now);
        self.add(part, Phase::Alone);
    }

    /// The times of an item alone and on each of several runners were compared, in ticks as of this moment.
    pub fn compare(
        &mut self,
        (alone, shared): (u64, u64),
        runners: u64,
        is_contended: bool,
        now: Moment,
    ) {
        self.trial = Some(TrialReport {
            alone: now.length(alone),
            shared: now.length(shared),
            runners: usize::try_from(runners).unwrap_or(usize::MAX),
            is_contended,
        });
    }

    /// A part has ended that began in this phase; a later one of the same runner is added to the first.
    pub fn add(&mut self, part: Part, phase: Phase) {
        if phase == Phase::Alone {
            match &mut self.alone {
                Some(known) => known.add(&part),
                None => self.alone = Some(part),
            }
        }
        let is_same = |known: &&mut Part| known.thread == part.thread;
        match self.runners.iter_mut().find(is_same) {
            Some(known) => known.add(&part),
            None => self.runners.push(part),
        }
    }
}

impl Part {
    /// Of the thread with this name, which is that of this worker, and begins now.
    #[inline]
    #[must_use]
    pub fn begin(thread: usize, worker: Option<usize>, now: u64) -> Self {
        Self {
            thread,
            worker,
            joined: now,
            left: now,
            ..Self::default()
        }
    }

    /// It has run a block of this many items until now.
    #[inline]
    pub fn block(&mut self, items: u64, now: u64) {
        if items == 0 {
            // The call was opened before its first item.
            return;
        }
        let ticks = now.saturating_sub(self.left);
        self.left = now;
        if ticks > self.longest.ticks {
            self.longest = Block {
                ticks,
                items,
                items_before: self.items,
                ticks_before: self.worked,
            };
        }
        self.worked += ticks;
        self.items += items;
        self.blocks += 1;
    }

    /// It has taken items until now, or waited for its turn.
    #[inline]
    pub fn took_items(&mut self, now: u64) {
        self.taking += now.saturating_sub(self.left);
        self.left = now;
    }

    /// Adds a later part of the same runner.
    fn add(&mut self, later: &Self) {
        self.worker = self.worker.or(later.worker);
        self.left = later.left;
        if later.longest.ticks > self.longest.ticks {
            self.longest = Block {
                items_before: later.longest.items_before + self.items,
                ticks_before: later.longest.ticks_before + self.worked,
                ..later.longest
            };
        }
        self.worked += later.worked;
        self.taking += later.taking;
        self.items += later.items;
        self.blocks += later.blocks;
        let both = self.off_processor_nanos.zip(later.off_processor_nanos);
        self.off_processor_nanos = both.map(|(one, other)| one + other);
    }

    fn report(&self, call: &Call, now: Moment) -> RunnerReport {
        let since = |ticks: u64| now.length(ticks.saturating_sub(call.begun));
        RunnerReport {
            is_caller: self.thread == call.thread,
            worker: self.worker,
            joined_after: since(self.joined),
            left_after: since(self.left),
            worked: now.length(self.worked),
            took_items: now.length(self.taking),
            off_processor: self.off_processor_nanos.map(Duration::from_nanos),
            items: self.items,
            blocks: self.blocks,
            longest_block: BlockReport {
                took: now.length(self.longest.ticks),
                items: self.longest.items,
                items_before: self.longest.items_before,
                took_before: now.length(self.longest.ticks_before),
            },
        }
    }
}

/// Who calls a loop, and when.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// When it began, in ticks.
    pub begun: u64,
    /// How many items there are; `None` if that is known only at the end.
    pub items: Option<u64>,
    /// The type of what takes the items.
    pub consumer: &'static str,
    /// The line of the call.
    pub called_at: &'static Location<'static>,
    /// The task that has called it.
    pub task: Option<TaskNumber>,
    /// The name of the calling thread, as that of its part.
    pub thread: usize,
}

impl Call {
    /// The body: the first closure or function in the consumer's type that is not of the library, else the whole type.
    #[must_use]
    pub fn body(&self) -> &'static str {
        body_name(self.consumer)
    }
}

/// The body in a consumer's type: its first closure or function that is not of the library, else the whole type.
fn body_name(consumer: &'static str) -> &'static str {
    let is_of_path = |c: char| c.is_alphanumeric() || "_:{}#".contains(c);
    let paths = consumer.split(|c: char| !is_of_path(c));
    let mut others = paths.filter(|path| {
        let of_library = ["manyhands::", "core::", "alloc::", "std::"];
        path.contains("::") && !of_library.iter().any(|start| path.starts_with(start))
    });
    let closure = others.clone().find(|path| path.ends_with("{{closure}}"));
    closure.or_else(|| others.next()).unwrap_or(consumer)
}

#[cfg(test)]
mod tests {
    use super::{Part, Parts, Phase, body_name};

    fn part(worker: Option<usize>, joined: u64, blocks: &[(u64, u64)]) -> Part {
        let thread = worker.map_or(0, |worker| worker + 1);
        let mut part = Part {
            off_processor_nanos: Some(1),
            ..Part::begin(thread, worker, joined)
        };
        for &(items, ticks) in blocks {
            part.block(items, part.left + ticks);
        }
        part
    }

    #[test]
    fn the_longest_block_is_kept_with_what_came_before_it() {
        let part = part(None, 100, &[(1, 5), (8, 3), (64, 900), (7, 50)]);
        assert_eq!((part.items, part.blocks, part.worked), (80, 4, 958));
        let longest = part.longest;
        assert_eq!((longest.items, longest.ticks), (64, 900));
        assert_eq!((longest.items_before, longest.ticks_before), (9, 8));
        assert_eq!(part.left, 1_058);
    }

    #[test]
    fn the_time_in_which_items_are_taken_is_no_time_of_a_block() {
        let mut part = part(None, 100, &[(1, 5)]);
        part.took_items(135);
        part.block(2, 139);
        part.took_items(140);
        assert_eq!((part.worked, part.taking, part.left), (9, 31, 140));
        assert_eq!((part.longest.ticks, part.longest.items), (5, 1));
        let mut twice = part;
        twice.add(&part);
        assert_eq!((twice.worked, twice.taking), (18, 62));
    }

    #[test]
    fn parts_of_the_same_runner_are_added_and_those_of_others_are_not() {
        let mut parts = Parts::default();
        parts.add(part(None, 0, &[(2, 10)]), Phase::Alone);
        parts.add(part(None, 20, &[(3, 30)]), Phase::Shared);
        parts.add(part(Some(1), 25, &[(4, 10)]), Phase::Shared);
        parts.add(part(Some(1), 60, &[(1, 5)]), Phase::Shared);
        parts.add(part(Some(2), 60, &[(1, 5)]), Phase::Shared);
        let items: Vec<u64> = parts.runners.iter().map(|part| part.items).collect();
        assert_eq!(items, [5, 5, 1]);
        assert_eq!(parts.alone.unwrap().items, 2);
        let caller = parts.runners[0];
        assert_eq!((caller.longest.items_before, caller.left), (2, 50));
        assert_eq!(parts.runners[1].off_processor_nanos, Some(2));
    }

    #[test]
    fn a_body_is_named_by_the_function_that_it_stands_in() {
        for (consumer, name) in [
            (
                "manyhands::parallel::for_each::ForEach<shop::main::{{closure}}, ()>",
                "shop::main::{{closure}}",
            ),
            (
                "manyhands::parallel::map::Map<alloc::vec::Vec<shop::Item>, shop::price::{{closure}}>",
                "shop::price::{{closure}}",
            ),
            (
                "manyhands::parallel::for_each::ForEach<shop::price, ()>",
                "shop::price",
            ),
            ("manyhands::Sum<u64>", "manyhands::Sum<u64>"),
        ] {
            assert_eq!(body_name(consumer), name);
        }
    }
}
