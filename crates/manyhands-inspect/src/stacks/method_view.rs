//! A function in the middle, with who calls it and what it calls, counted over all stacks: a debugger's method view.
//!
//! A function of the stacks alone. A stack counts once, however often it goes from one function to another.

use super::graph::Call;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A function, as the stacks go through it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MethodView<'calls> {
    pub(crate) function: &'calls str,
    /// How many stacks go through it.
    pub(crate) stacks: usize,
    /// How many of them end in it.
    pub(crate) ends: usize,
    /// The functions that call it, and in how many stacks they do, that with the most stacks first.
    pub(crate) callers: Vec<(&'calls str, usize)>,
    /// The functions that it calls, in the same way.
    pub(crate) callees: Vec<(&'calls str, usize)>,
}

#[derive(Default)]
struct Counts<'calls> {
    stacks: usize,
    ends: usize,
    callers: BTreeMap<&'calls str, usize>,
    callees: BTreeMap<&'calls str, usize>,
}

/// A view of each function, that with the most stacks first. Each stack has its outermost call first.
pub(crate) fn method_views<'calls>(
    stacks: impl IntoIterator<Item = &'calls [Call]>,
) -> Vec<MethodView<'calls>> {
    let mut all: BTreeMap<&str, Counts<'_>> = BTreeMap::new();
    for calls in stacks {
        let functions: BTreeSet<&str> = calls.iter().map(|call| &*call.function).collect();
        for function in functions {
            all.entry(function).or_default().stacks += 1;
        }
        if let Some(last) = calls.last() {
            all.entry(&last.function).or_default().ends += 1;
        }
        let pairs = calls
            .windows(2)
            .map(|pair| (&*pair[0].function, &*pair[1].function));
        let pairs: BTreeSet<(&str, &str)> = pairs.collect();
        for (caller, callee) in pairs {
            let callees = &mut all.entry(caller).or_default().callees;
            *callees.entry(callee).or_default() += 1;
            let callers = &mut all.entry(callee).or_default().callers;
            *callers.entry(caller).or_default() += 1;
        }
    }
    let mut views: Vec<MethodView<'_>> = all
        .into_iter()
        .map(|(function, counts)| MethodView {
            function,
            stacks: counts.stacks,
            ends: counts.ends,
            callers: by_stacks(counts.callers),
            callees: by_stacks(counts.callees),
        })
        .collect();
    views.sort_by_key(|view| (Reverse(view.stacks), view.function));
    views
}

fn by_stacks(counts: BTreeMap<&str, usize>) -> Vec<(&str, usize)> {
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(function, stacks)| (Reverse(*stacks), *function));
    counts
}

#[cfg(test)]
mod tests {
    use super::{MethodView, method_views};
    use crate::stacks::graph::Call;

    /// Of stacks of functions, each a letter: `function stacks/ends: callers > callees`.
    fn lines(stacks: &[&str]) -> Vec<String> {
        let call = |letter: char| Call {
            function: letter.to_string(),
            at: None,
        };
        let stacks: Vec<Vec<Call>> = stacks
            .iter()
            .map(|stack| stack.chars().map(call).collect())
            .collect();
        let counted = |around: &[(&str, usize)]| -> String {
            let around = around
                .iter()
                .map(|(function, stacks)| format!("{function}{stacks}"));
            around.collect()
        };
        let line = |view: &MethodView<'_>| {
            let (callers, callees) = (counted(&view.callers), counted(&view.callees));
            let MethodView {
                function,
                stacks,
                ends,
                ..
            } = view;
            format!("{function} {stacks}/{ends}: {callers} > {callees}")
        };
        let views = method_views(stacks.iter().map(Vec::as_slice));
        views.iter().map(line).collect()
    }

    #[test]
    fn a_function_has_all_who_call_it_and_all_that_it_calls() {
        assert_eq!(
            lines(&["axm", "ayxm", "bxn", "bxn", "bx"]),
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
            lines(&["affff", "afgfg"]),
            ["a 2/0:  > f2", "f 2/1: a2f1g1 > f1g1", "g 1/1: f1 > f1",]
        );
    }

    #[test]
    fn stacks_without_functions_have_no_views() {
        assert_eq!(lines(&["", ""]), [""; 0]);
    }
}
