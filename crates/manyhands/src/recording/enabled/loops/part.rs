//! What each runner of a recorded loop did, added up for its report, and who called the loop.
//!
//! Not here: when a part begins and ends (`running.rs`).

use crate::recording::AloneBecause;
use crate::recording::enabled::{
    BlockReport, LoopReport, RunnerReport, Site, TaskNumber, TrialReport,
};
use crate::sync::clock;
use std::time::Duration;

/// What one runner did. Times in ticks, but for those in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// Names the thread while it lives.
    pub(super) thread: usize,
    pub(super) worker: Option<usize>,
    pub(super) joined: u64,
    pub(super) left: u64,
    pub(super) worked: u64,
    pub(super) taking: u64,
    pub(super) off_processor_nanos: Option<u64>,
    pub(super) items: u64,
    pub(super) blocks: u64,
    longest: Block,
}

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    ticks: u64,
    items: u64,
    items_before: u64,
    ticks_before: u64,
}

#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) runners: Vec<Part>,
    /// What the caller did before others could join.
    pub(super) alone: Option<Part>,
    /// When it was opened to helpers.
    pub(super) opened: Option<u64>,
    pub(super) alone_because: Option<AloneBecause>,
    pub(super) trial: Option<TrialReport>,
}

/// Whether others can join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Alone,
    Shared,
}

impl Parts {
    /// Of a call that ended then, and was open to this number of threads.
    pub(super) fn report(&self, call: &Call, threads: usize, ended: u64) -> LoopReport {
        let since = |ticks: u64| elapsed(ticks.saturating_sub(call.begun));
        let of = |part: &Part| part.report(call);
        let run = self.runners.iter().map(|part| part.items).sum();
        LoopReport {
            body: body_name(call.consumer),
            called_at: call.site.0,
            items: call.items.unwrap_or(run),
            elapsed: since(ended),
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
    pub(super) fn add_block_alone(&mut self, call: &Call, items: u64, now: u64) {
        let mut part = Part::begin(call.thread, None, call.begun);
        part.block(items, now);
        self.add(part, Phase::Alone);
    }

    pub(super) fn add(&mut self, part: Part, phase: Phase) {
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
    pub(super) fn begin(thread: usize, worker: Option<usize>, now: u64) -> Self {
        Self {
            thread,
            worker,
            joined: now,
            left: now,
            ..Self::default()
        }
    }

    pub(super) fn block(&mut self, items: u64, now: u64) {
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

    pub(super) fn took_items(&mut self, now: u64) {
        self.taking += now.saturating_sub(self.left);
        self.left = now;
    }

    /// Adds a later part of the same runner.
    pub(super) fn add(&mut self, later: &Self) {
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

    pub(super) fn report(&self, call: &Call) -> RunnerReport {
        let since = |ticks: u64| elapsed(ticks.saturating_sub(call.begun));
        RunnerReport {
            is_caller: self.thread == call.thread,
            worker: self.worker,
            joined_after: since(self.joined),
            left_after: since(self.left),
            worked: elapsed(self.worked),
            took_items: elapsed(self.taking),
            off_processor: self.off_processor_nanos.map(Duration::from_nanos),
            items: self.items,
            blocks: self.blocks,
            longest_block: BlockReport {
                took: elapsed(self.longest.ticks),
                items: self.longest.items,
                items_before: self.longest.items_before,
                took_before: elapsed(self.longest.ticks_before),
            },
        }
    }
}

/// Who calls a loop, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) begun: u64,
    /// `None` if that is known only at the end.
    pub(super) items: Option<u64>,
    pub(super) consumer: &'static str,
    pub(super) site: Site,
    pub(super) task: Option<TaskNumber>,
    /// As that of its part.
    pub(super) thread: usize,
}

/// The body in a consumer's type: its first closure or function that is not of this library, else the whole type.
pub(crate) fn body_name(consumer: &'static str) -> &'static str {
    let is_of_path = |c: char| c.is_alphanumeric() || "_:{}#".contains(c);
    let paths = consumer.split(|c: char| !is_of_path(c));
    let mut others = paths.filter(|path| {
        let of_library = ["manyhands::", "core::", "alloc::", "std::"];
        path.contains("::") && !of_library.iter().any(|start| path.starts_with(start))
    });
    let closure = others.clone().find(|path| path.ends_with("{{closure}}"));
    closure.or_else(|| others.next()).unwrap_or(consumer)
}

/// A number of ticks as a time.
pub(crate) fn elapsed(ticks: u64) -> Duration {
    Duration::from_nanos(clock::nanos_in(ticks))
}

/// A number of ticks in microseconds.
pub(crate) fn micros(ticks: u64) -> u64 {
    clock::nanos_in(ticks) / 1_000
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
