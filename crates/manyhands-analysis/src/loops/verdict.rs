//! What kept a loop from being faster.
//!
//! A loop on `n` threads could have used `n` times its own time. What it did not use is lost, and each cause that is
//! recorded accounts for a part of that: the caller began alone; helpers came late or not at all; runners had nothing
//! left to do while others still worked; bodies took longer beside others than alone; threads were not on a processor.
//! The cause with the greatest part is the verdict, if that is a notable part of the whole.
//!
//! Not here: what is said about it (`sentences.rs`), and async loops (`calls_verdict.rs`).

use crate::loops::numbers::ratio;
use crate::loops::report::{AloneBecause, LoopReport};
use std::time::Duration;

/// What kept a loop from being faster.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing: its threads were busy for most of the time. Of an async loop: as many calls were in flight as a loop tries by
    /// itself.
    Scaled,
    /// All of it took hardly longer than handing a part to another thread.
    TooShort,
    /// It had so few items that threads were left over in the last round. Of an async loop: the list ended before the number of
    /// calls was found that is fastest.
    TooFewItems,
    /// The first items were so much lighter than later ones that the caller began those alone.
    SharedLate,
    /// The other runners waited for one that was in a long item, or in a block of items longer than those before. Of an async
    /// loop: one call still ran when the others had ended.
    LongItem,
    /// Its bodies take longer beside each other: they need the same memory, lock or atomic number. Of an async loop: more
    /// calls at a time were no faster, so that the loop did not raise their number.
    BodiesSlowEachOther,
    /// It runs over an iterator, which gives its items to one thread at a time: the others waited for it. Of an async loop:
    /// its source gave items slower than they were handled.
    SourceSlow,
    /// Helpers came late, left early, or never came: they slept, or had other work.
    HelpersElsewhere,
    /// Its threads were not on a processor: bodies blocked, or other threads ran there.
    OffProcessor,
    /// One runner is what the caller, or the limit of the runtime, allows.
    OneRunner,
    /// Too many loops, scopes and invokes of the calling thread were open.
    NoPlace,
    /// The caller of an async loop has set how many calls may run at once, or the highest number, and as many did.
    ConcurrencySet,
    /// The results of an async loop were taken slower than they came.
    ConsumerSlow,
    /// The async loop was stopped by a failure or a cancellation, or dropped, before its end.
    Stopped,
}

impl LoopReport {
    /// What kept it from being faster.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if let Some(calls) = &self.calls {
            return calls.verdict(self);
        }
        if let Some(because) = self.alone_because {
            return self.verdict_alone(because);
        }
        if self.threads_in_all() == 1 {
            return Verdict::OneRunner;
        }
        let notable = self.notable();
        // The time that bodies took because others ran beside them.
        let slowed = self.trial.map_or(Duration::ZERO, |trial| {
            let slower = trial.times_slower().max(1.0);
            self.worked().mul_f64(1.0 - 1.0 / slower)
        });
        if slowed > notable || self.trial.is_some_and(|trial| trial.is_contended) {
            return Verdict::BodiesSlowEachOther;
        }
        greatest((notable, Verdict::Scaled), &self.losses())
    }

    /// A loss of more than this is worth a word.
    fn notable(&self) -> Duration {
        times(self.elapsed, self.threads).mul_f64(NOTABLE)
    }

    /// Whether runners waited for one in a long item for a notable time, whatever else was lost.
    pub(super) fn has_waited_for_long_item(&self) -> bool {
        let [(waiting, because), ..] = self.losses();
        waiting > self.notable() && because == Verdict::LongItem
    }

    fn verdict_alone(&self, because: AloneBecause) -> Verdict {
        match because {
            AloneBecause::OneAllowed => Verdict::OneRunner,
            AloneBecause::SharingHurt => Verdict::BodiesSlowEachOther,
            AloneBecause::NoPlace => Verdict::NoPlace,
            AloneBecause::SourceSlow => Verdict::SourceSlow,
            AloneBecause::AlwaysShort | AloneBecause::TooShort => {
                let long = self.longest_block().filter(|block| {
                    block.took >= WORTH_SHARING && ratio(block.took, self.elapsed) > 0.5
                });
                match long {
                    _ if self.items == 1 => Verdict::TooFewItems,
                    Some(block) if block.items == 1 => Verdict::LongItem,
                    Some(_) => Verdict::SharedLate,
                    None => Verdict::TooShort,
                }
            }
        }
    }

    /// The lost time by its causes, summed over threads.
    fn losses(&self) -> [(Duration, Verdict); 6] {
        let opened = self.opened_after.unwrap_or(self.elapsed);
        let open = self.elapsed.saturating_sub(opened);
        let others = self.threads.saturating_sub(1);
        let items = usize::try_from(self.items).unwrap_or(usize::MAX);
        let needed = others.min(items.saturating_sub(1));
        let joined = self.helpers().map(|helper| helper.joined_after);
        let mut late: Vec<_> = joined.map(|joined| joined.saturating_sub(opened)).collect();
        late.sort_unstable();
        late.resize(needed.max(late.len()), open);
        let why_lacked = match self.elapsed < WORTH_SHARING {
            true => Verdict::TooShort,
            false => Verdict::HelpersElsewhere,
        };
        let last = self.last_left();
        let ends = self.runners.iter().map(|runner| runner.left_after);
        // Who waits for the iterator is not on a processor either.
        let off = self.runners.iter().filter_map(|runner| {
            let off = runner.off_processor?;
            Some(off.saturating_sub(runner.took_items))
        });
        [
            // Runners had nothing left to do.
            (
                ends.map(|end| last.saturating_sub(end)).sum(),
                self.why_others_waited(),
            ),
            // There were fewer items than threads.
            (times(open, others - needed), Verdict::TooFewItems),
            // The caller had not opened the loop.
            (times(opened, others), self.why_opened_late()),
            // Helpers were not there yet, or not at all, though there were items for them.
            (late.iter().take(needed).sum(), why_lacked),
            // Runners took items from an iterator, or waited for their turn.
            (self.took_items(), Verdict::SourceSlow),
            (
                off.sum::<Duration>() + self.after_last(),
                Verdict::OffProcessor,
            ),
        ]
    }

    fn why_others_waited(&self) -> Verdict {
        if self
            .last_busy()
            .is_some_and(|last| last.took_items > last.worked)
        {
            // Helpers leave while another runner keeps the iterator.
            return Verdict::SourceSlow;
        }
        let Some(longest) = self.longest_block() else {
            return Verdict::HelpersElsewhere;
        };
        if ratio(longest.took, self.elapsed) < LONG_SHARE {
            return Verdict::HelpersElsewhere;
        }
        let mean = self.worked().as_secs_f64() / self.items.max(1) as f64;
        let is_like_others = longest.items == 1 && longest.took.as_secs_f64() < 2.0 * mean;
        if is_like_others && self.rounds() <= FEW_ROUNDS {
            Verdict::TooFewItems
        } else {
            Verdict::LongItem
        }
    }

    fn why_opened_late(&self) -> Verdict {
        let Some(first) = &self.before_opening else {
            return Verdict::TooShort;
        };
        let block = first.longest_block;
        // Else the monitor has opened it in the middle of an item, so that this did not keep others from the rest.
        let is_opened_by_caller = Some(first.left_after) <= self.opened_after;
        if block.took < WORTH_SHARING {
            Verdict::TooShort
        } else if block.items == 1 && is_opened_by_caller {
            Verdict::LongItem
        } else {
            Verdict::SharedLate
        }
    }
}

/// The cause with the greatest time, the first of those with the same.
pub(crate) fn greatest(first: (Duration, Verdict), others: &[(Duration, Verdict)]) -> Verdict {
    // Of those with the same the last one is taken.
    let backwards = others.iter().rev().chain([&first]);
    let greatest = backwards.max_by_key(|cause| cause.0);
    greatest.map_or(first.1, |cause| cause.1)
}

fn times(time: Duration, count: usize) -> Duration {
    time * u32::try_from(count).unwrap_or(u32::MAX)
}

/// A loss of less than this part of what a loop could have used is not worth a word.
pub(crate) const NOTABLE: f64 = 0.2;
/// Others have waited for a block that took this part of the whole loop.
const LONG_SHARE: f64 = 0.25;
/// Items of the same length need so few rounds that one more or less can be seen.
const FEW_ROUNDS: u64 = 4;
/// What takes less than this alone gains little by another thread, which has to wake.
pub(crate) const WORTH_SHARING: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::Verdict;
    use crate::loops::report::{AloneBecause, BlockReport, LoopReport, RunnerReport, TrialReport};
    use std::time::Duration;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Worked from `joined` to `left`, in blocks of which one was the longest.
    fn runner(worker: Option<usize>, joined: u64, left: u64, longest: BlockReport) -> RunnerReport {
        RunnerReport {
            is_caller: worker.is_none(),
            worker,
            joined_after: ms(joined),
            left_after: ms(left),
            worked: ms(left - joined),
            took_items: Duration::ZERO,
            off_processor: Some(Duration::ZERO),
            items: 50,
            blocks: 5,
            longest_block: longest,
        }
    }

    fn block(took: Duration, items: u64, before: (u64, Duration)) -> BlockReport {
        BlockReport {
            took,
            items,
            items_before: before.0,
            took_before: before.1,
        }
    }

    fn short() -> BlockReport {
        block(Duration::from_micros(10), 1, (0, Duration::ZERO))
    }

    /// A loop of 100 ms on four threads, opened at once.
    fn shared(runners: Vec<RunnerReport>) -> LoopReport {
        LoopReport {
            body: "shop::main::{{closure}}",
            called_at: std::panic::Location::caller(),
            items: 200,
            elapsed: ms(100),
            runners,
            threads: 4,
            opened_after: Some(Duration::ZERO),
            before_opening: None,
            alone_because: None,
            trial: None,
            calls: None,
        }
    }

    fn alone(because: AloneBecause, longest: BlockReport) -> LoopReport {
        let caller = runner(None, 0, 100, longest);
        LoopReport {
            threads: 1,
            opened_after: None,
            before_opening: Some(caller.clone()),
            alone_because: Some(because),
            ..shared(vec![caller])
        }
    }

    fn all_from(joined: [u64; 3], left: u64) -> Vec<RunnerReport> {
        let mut runners = vec![runner(None, 0, 100, short())];
        for (worker, joined) in joined.into_iter().enumerate() {
            runners.push(runner(Some(worker), joined, left, short()));
        }
        runners
    }

    fn assert_says(report: &LoopReport, verdict: Verdict, sentence: &str) {
        let text = report.to_string();
        assert_eq!(report.verdict(), verdict, "{text}");
        assert!(text.ends_with(sentence), "{text}");
    }

    #[test]
    fn a_loop_whose_threads_are_busy_has_scaled() {
        let report = shared(all_from([1, 2, 5], 99));
        assert_says(
            &report,
            Verdict::Scaled,
            "helpers. 3.9 of 4 threads were busy with it on average.",
        );
        assert!(
            report
                .to_string()
                .starts_with("200 items ran in 100.0ms, in 20 blocks, on the calling thread and 3")
        );
    }

    #[test]
    fn a_thread_that_came_when_nothing_was_left_was_no_helper() {
        let mut report = shared(all_from([1, 2, 99], 100));
        report.runners[3].items = 0;
        let text = report.to_string();
        assert!(text.contains(" and 2 helpers."), "{text}");
    }

    #[test]
    fn a_thread_that_was_added_for_one_that_blocked_is_one_of_the_threads() {
        let report = LoopReport {
            threads: 2,
            ..shared(all_from([0, 0, 0], 100)[..3].to_vec())
        };
        assert_says(
            &report,
            Verdict::Scaled,
            "3.0 of 3 threads were busy with it on average.",
        );
        let two_on_one = LoopReport {
            threads: 1,
            ..shared(all_from([0, 0, 0], 100)[..2].to_vec())
        };
        assert_says(
            &two_on_one,
            Verdict::Scaled,
            "2.0 of 2 threads were busy with it on average.",
        );
        let late = LoopReport {
            threads: 2,
            ..shared(all_from([60, 70, 0], 100)[..3].to_vec())
        };
        assert_says(
            &late,
            Verdict::HelpersElsewhere,
            "2 of 2 other threads joined, the first after 60 % of the time: they had other work, or were not woken in time.",
        );
    }

    #[test]
    fn runners_that_wait_for_one_item_are_counted() {
        let mut report = shared(all_from([0, 0, 0], 20));
        report.runners[0].longest_block = block(ms(80), 1, (10, ms(5)));
        assert_says(
            &report,
            Verdict::LongItem,
            "3 of 4 threads waited for one item of 80.0ms.",
        );
    }

    #[test]
    fn runners_that_wait_for_a_block_hear_that_its_items_are_heavier() {
        let mut report = shared(all_from([0, 0, 0], 20));
        report.runners[0].longest_block = block(ms(80), 80, (100, ms(1)));
        assert_says(
            &report,
            Verdict::LongItem,
            "one block of 80 items that took 80.0ms; the items before it were 100 × lighter.",
        );
    }

    #[test]
    fn a_loop_that_was_opened_late_says_how_much_lighter_its_first_items_were() {
        let first = runner(
            None,
            0,
            70,
            block(ms(66), 33, (40, Duration::from_micros(800))),
        );
        let mut report = shared(all_from([70, 70, 70], 100));
        report.opened_after = Some(ms(70));
        report.before_opening = Some(first);
        assert_says(
            &report,
            Verdict::SharedLate,
            "Shared late: the first 40 items were 100 × lighter than the next 33, which the calling thread had taken as one \
             block.",
        );
    }

    #[test]
    fn a_loop_that_the_monitor_opened_in_the_middle_of_an_item_was_alone_until_then() {
        let first = runner(None, 0, 80, block(ms(80), 1, (0, Duration::ZERO)));
        let mut report = shared(all_from([60, 60, 60], 100));
        report.opened_after = Some(ms(60));
        report.before_opening = Some(first.clone());
        assert_says(
            &report,
            Verdict::SharedLate,
            "Shared late: the calling thread was alone for the first 60.0ms.",
        );
        report.opened_after = Some(ms(80));
        assert_eq!(report.verdict(), Verdict::LongItem);
    }

    #[test]
    fn a_loop_that_was_never_opened_because_its_first_items_were_lighter_was_shared_late_too() {
        let report = alone(
            AloneBecause::TooShort,
            block(ms(99), 60, (40, Duration::from_micros(4))),
        );
        assert_says(
            &report,
            Verdict::SharedLate,
            "which the calling thread had taken as one block.",
        );
    }

    #[test]
    fn bodies_that_slow_each_other_down_are_not_those_that_wait_for_each_other() {
        let mut report = shared(all_from([0, 0, 0], 100));
        let trial = TrialReport {
            alone: ms(1),
            shared: ms(3),
            runners: 4,
            is_contended: false,
        };
        report.trial = Some(trial);
        assert_says(
            &report,
            Verdict::BodiesSlowEachOther,
            "The bodies slow each other down: memory, or one atomic number or lock. An item takes 3.0 × as long on each of 4 \
             threads as alone.",
        );
        for runner in &mut report.runners {
            runner.off_processor = Some(ms(60));
        }
        assert_says(
            &report,
            Verdict::BodiesSlowEachOther,
            "they wait for each other, as at a lock. An item takes 3.0 × as long on each of 4 threads as alone.",
        );
        let hurt = alone(AloneBecause::SharingHurt, short());
        assert_says(
            &hurt,
            Verdict::BodiesSlowEachOther,
            "became slower when they were shared.",
        );
    }

    #[test]
    fn helpers_that_do_not_come_are_missed() {
        let caller = || vec![runner(None, 0, 100, short())];
        assert_says(
            &shared(caller()),
            Verdict::HelpersElsewhere,
            "None of 3 other threads joined: they had other work, or were not woken in time.",
        );
        let report = shared(all_from([50, 60, 70], 100));
        assert_says(
            &report,
            Verdict::HelpersElsewhere,
            "3 of 3 other threads joined, the first after 50 % of the time: they had other work, or were not woken in time.",
        );
        let mut brief = shared(caller());
        brief.elapsed = Duration::from_micros(90);
        assert_eq!(brief.verdict(), Verdict::TooShort);
    }

    #[test]
    fn items_that_are_too_few_for_the_threads_are_counted_in_rounds() {
        let mut runners = all_from([0, 0, 0], 50);
        for (runner, end) in runners.iter_mut().zip([100, 50, 50, 50]) {
            runner.longest_block = block(ms(50), 1, (0, Duration::ZERO));
            runner.left_after = ms(end);
        }
        let mut five = shared(runners);
        five.items = 5;
        assert_says(
            &five,
            Verdict::TooFewItems,
            "It had too few items: 5 of the same length on 4 threads take 2 rounds.",
        );
        let mut one = alone(
            AloneBecause::TooShort,
            block(ms(99), 1, (0, Duration::ZERO)),
        );
        one.items = 1;
        assert_says(&one, Verdict::TooFewItems, "one item is never divided.");
        let mut two = shared(vec![
            runner(None, 0, 100, short()),
            runner(Some(1), 0, 100, short()),
        ]);
        two.items = 2;
        assert_eq!(two.verdict(), Verdict::TooFewItems);
    }

    #[test]
    fn other_reasons_have_their_sentences() {
        assert_says(
            &alone(AloneBecause::TooShort, short()),
            Verdict::TooShort,
            "on the calling thread alone. It was too short: another thread would hardly have begun before the end.",
        );
        assert_says(
            &alone(AloneBecause::OneAllowed, short()),
            Verdict::OneRunner,
            "No more than one runner was allowed.",
        );
        assert_says(
            &alone(AloneBecause::NoPlace, short()),
            Verdict::NoPlace,
            "on the calling thread alone. Too many loops, scopes and invokes of the calling thread were open.",
        );
        let mut off = shared(all_from([0, 0, 0], 100));
        for runner in &mut off.runners {
            runner.off_processor = Some(ms(40));
        }
        assert_says(
            &off,
            Verdict::OffProcessor,
            "not on a processor for 40 % of their time: bodies blocked, or other threads ran there.",
        );
    }

    #[test]
    fn a_long_item_is_named_also_where_the_threads_had_no_processor() {
        let mut report = shared(all_from([0, 0, 0], 40));
        report.runners[0].longest_block = block(ms(80), 1, (10, ms(5)));
        for (runner, off) in report.runners.iter_mut().zip([90, 40, 40, 40]) {
            runner.off_processor = Some(ms(off));
        }
        assert_says(
            &report,
            Verdict::OffProcessor,
            "or other threads ran there. 3 of 4 threads waited for one item of 80.0ms.",
        );
    }

    #[test]
    fn runners_that_wait_for_an_iterator_say_so() {
        let mut report = shared(all_from([0, 0, 0], 100));
        for runner in &mut report.runners {
            (runner.worked, runner.took_items) = (ms(30), ms(70));
            runner.off_processor = Some(ms(65));
        }
        assert_says(
            &report,
            Verdict::SourceSlow,
            "Its threads waited for the iterator for 70 % of their time: it gives items to one of them at a time.",
        );
    }

    #[test]
    fn helpers_that_leave_while_another_keeps_the_iterator_had_nothing_else_to_do() {
        let mut report = shared(all_from([1, 2, 5], 10));
        let caller = &mut report.runners[0];
        (caller.worked, caller.took_items) = (ms(1), ms(95));
        assert_says(
            &report,
            Verdict::SourceSlow,
            "Its threads waited for the iterator for 81 % of their time: it gives items to one of them at a time.",
        );
        // One that comes when all is over has not kept it.
        report.runners.push(runner(Some(3), 100, 100, short()));
        assert_eq!(report.verdict(), Verdict::SourceSlow);
        // What it had taken was run for longer.
        let caller = &mut report.runners[0];
        (caller.worked, caller.took_items) = (ms(60), ms(36));
        assert_eq!(report.verdict(), Verdict::HelpersElsewhere);
    }

    #[test]
    fn nobody_waits_for_an_item_once_the_last_runner_has_left() {
        let mut runners = all_from([0, 0, 0], 20);
        runners[0] = runner(None, 0, 24, block(ms(24), 1, (0, Duration::ZERO)));
        // Comes when nothing is left.
        runners[3] = runner(Some(2), 99, 99, short());
        assert_says(
            &shared(runners),
            Verdict::OffProcessor,
            "not on a processor for 83 % of their time: bodies blocked, or other threads ran there.",
        );
    }

    #[test]
    fn the_two_sentences_are_the_text() {
        for report in [
            shared(all_from([1, 2, 5], 99)),
            alone(AloneBecause::OneAllowed, short()),
        ] {
            let both = format!("{} {}", report.ran(), report.why());
            assert_eq!(both, report.to_string());
            assert!(
                report.ran().ends_with('.') && report.why().ends_with('.'),
                "{both}"
            );
        }
    }

    #[test]
    fn shares_are_those_of_the_times() {
        let runners = vec![
            runner(None, 0, 90, short()),
            runner(Some(1), 25, 55, short()),
        ];
        let report = shared(runners);
        assert!((report.imbalance() - 1.5).abs() < 1e-9);
        assert!((report.alone_share() - 0.25).abs() < 1e-9);
        assert!((report.mean_runners() - 1.2).abs() < 1e-9);
        assert_eq!(report.rounds(), 50);
        let nobody = shared(Vec::new());
        assert!(
            (nobody.imbalance() - 1.0).abs() < 1e-9 && (nobody.alone_share() - 1.0).abs() < 1e-9
        );
    }
}
