//! One function at a time, with who calls it and what it calls, counted over all that go through it: a debugger's method
//! view, of threads or of tasks.
//!
//! A function of the stacks alone. A thread or task counts once, however often it goes from one function to another.

use crate::view::add;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A thread or a task, or several equal ones, as they go through functions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk<'text> {
    /// How many there are.
    pub(crate) count: usize,
    /// The functions, the outermost first. A task that waits for several things has one of these for each.
    pub(crate) stacks: Vec<Vec<&'text str>>,
    /// Waits for other tasks: the function that waits, and the outermost one of the task that it waits for.
    pub(crate) awaits: Vec<(&'text str, &'text str)>,
}

/// A function, as threads or tasks go through it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MethodView<'text> {
    pub(crate) function: &'text str,
    /// How many go through it.
    pub(crate) count: usize,
    /// How many of them end in it.
    pub(crate) ends: usize,
    /// The functions that call it, and how many do so, that with the most first.
    pub(crate) callers: Vec<(&'text str, usize)>,
    /// The functions that it calls, in the same way.
    pub(crate) callees: Vec<(&'text str, usize)>,
    /// The functions that wait for tasks that begin with it, in the same way.
    pub(crate) awaited_by: Vec<(&'text str, usize)>,
    /// The outermost functions of the tasks that it waits for, in the same way.
    pub(crate) awaits: Vec<(&'text str, usize)>,
}

#[derive(Default)]
struct Counts<'text> {
    count: usize,
    ends: usize,
    callers: BTreeMap<&'text str, usize>,
    callees: BTreeMap<&'text str, usize>,
    awaited_by: BTreeMap<&'text str, usize>,
    awaits: BTreeMap<&'text str, usize>,
}

/// A view of each function, that with the most threads or tasks first.
pub(crate) fn method_views<'text>(walks: &[Walk<'text>]) -> Vec<MethodView<'text>> {
    let mut all: BTreeMap<&str, Counts<'_>> = BTreeMap::new();
    for Walk {
        count,
        stacks,
        awaits,
    } in walks
    {
        let functions: BTreeSet<&str> = stacks.iter().flatten().copied().collect();
        for function in functions {
            add(&mut all.entry(function).or_default().count, *count);
        }
        let ends: BTreeSet<&str> = stacks.iter().filter_map(|s| s.last()).copied().collect();
        for function in ends {
            add(&mut all.entry(function).or_default().ends, *count);
        }
        let pairs = stacks.iter().flat_map(|stack| stack.windows(2));
        let pairs: BTreeSet<(&str, &str)> = pairs.map(|pair| (pair[0], pair[1])).collect();
        for (caller, callee) in pairs {
            let callees = &mut all.entry(caller).or_default().callees;
            add(callees.entry(callee).or_default(), *count);
            let callers = &mut all.entry(callee).or_default().callers;
            add(callers.entry(caller).or_default(), *count);
        }
        let awaits: BTreeSet<(&str, &str)> = awaits.iter().copied().collect();
        for (waiting, awaited) in awaits {
            let awaits = &mut all.entry(waiting).or_default().awaits;
            add(awaits.entry(awaited).or_default(), *count);
            let awaited_by = &mut all.entry(awaited).or_default().awaited_by;
            add(awaited_by.entry(waiting).or_default(), *count);
        }
    }
    let mut views: Vec<MethodView<'_>> = all
        .into_iter()
        .map(|(function, counts)| MethodView {
            function,
            count: counts.count,
            ends: counts.ends,
            callers: by_count(counts.callers),
            callees: by_count(counts.callees),
            awaited_by: by_count(counts.awaited_by),
            awaits: by_count(counts.awaits),
        })
        .collect();
    views.sort_by_key(|view| (Reverse(view.count), view.function));
    views
}

fn by_count(counts: BTreeMap<&str, usize>) -> Vec<(&str, usize)> {
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(function, count)| (Reverse(*count), *function));
    counts
}

#[cfg(test)]
mod tests {
    use super::{MethodView, Walk, method_views};

    /// Of walks of stacks of functions, each a letter: `function count/ends: callers > callees`, and behind a bar, if there
    /// are any, who awaits it and what it awaits.
    fn lines(walks: &[Walk<'_>]) -> Vec<String> {
        let counted = |around: &[(&str, usize)]| -> String {
            let around = around
                .iter()
                .map(|(function, count)| format!("{function}{count}"));
            around.collect()
        };
        let line = |view: &MethodView<'_>| {
            let (callers, callees) = (counted(&view.callers), counted(&view.callees));
            let (function, count, ends) = (view.function, view.count, view.ends);
            let calls = format!("{function} {count}/{ends}: {callers} > {callees}");
            match (counted(&view.awaited_by), counted(&view.awaits)) {
                (by, of) if by.is_empty() && of.is_empty() => calls,
                (by, of) => format!("{calls} | {by} > {of}"),
            }
        };
        method_views(walks).iter().map(line).collect()
    }

    fn functions(letters: &str) -> Vec<&str> {
        let ends = letters.char_indices().map(|(at, c)| at..at + c.len_utf8());
        ends.map(|range| &letters[range]).collect()
    }

    /// One for each of these stacks.
    fn threads<'text>(stacks: &[&'text str]) -> Vec<Walk<'text>> {
        let walk = |stack: &&'text str| Walk {
            count: 1,
            stacks: vec![functions(stack)],
            awaits: Vec::new(),
        };
        stacks.iter().map(walk).collect()
    }

    #[test]
    fn a_function_has_all_who_call_it_and_all_that_it_calls() {
        assert_eq!(
            lines(&threads(&["axm", "ayxm", "bxn", "bxn", "bx"])),
            [
                "x 5/1: b3a1y1 > m2n2",
                "b 3/0:  > x3",
                "a 2/0:  > x1y1",
                "m 2/2: x2 > ",
                "n 2/2: x2 > ",
                "y 1/0: a1 > x1",
            ]
        );
    }

    #[test]
    fn a_stack_counts_once_however_often_a_function_calls_itself() {
        assert_eq!(
            lines(&threads(&["affff", "afgfg"])),
            ["a 2/0:  > f2", "f 2/1: a2f1g1 > f1g1", "g 1/1: f1 > f1",]
        );
    }

    #[test]
    fn a_task_that_waits_for_several_things_counts_once_and_equal_tasks_by_their_number() {
        let both = Walk {
            count: 3,
            stacks: vec![functions("afx"), functions("afy"), functions("afx")],
            awaits: Vec::new(),
        };
        assert_eq!(
            lines(&[both]),
            [
                "a 3/0:  > f3",
                "f 3/0: a3 > x3y3",
                "x 3/3: f3 > ",
                "y 3/3: f3 > "
            ]
        );
    }

    #[test]
    fn waits_for_other_tasks_are_counted_apart_from_calls() {
        let waits = |count, stack, awaits| Walk {
            count,
            stacks: vec![functions(stack)],
            awaits,
        };
        let walks = [
            waits(2, "af", vec![("f", "b"), ("f", "b")]),
            waits(1, "b", vec![("b", "b")]),
        ];
        assert_eq!(
            lines(&walks),
            [
                "a 2/0:  > f2",
                "f 2/2: a2 >  |  > b2",
                "b 1/1:  >  | f2b1 > b1"
            ]
        );
    }

    #[test]
    fn stacks_without_functions_have_no_views() {
        assert_eq!(lines(&threads(&["", ""])), [""; 0]);
    }
}
