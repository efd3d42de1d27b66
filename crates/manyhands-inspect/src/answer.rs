//! What a program has answered, by the kinds of its lines.
//!
//! Not here: the lines (`manyhands-wire`), and how they come (`client.rs`).

use crate::view::{View, add};
use manyhands_wire::{Code, End, Gone, Line, RawLeaf, RawStack};

/// The lines of an answer, or of several that belong together.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) view: View,
    pub(crate) code: Code,
    pub(crate) threads: Vec<RawStack>,
    pub(crate) leaves: Vec<RawLeaf>,
    pub(crate) gone: Gone,
}

impl Answer {
    /// A line of it has come.
    pub(crate) fn add(&mut self, line: Line) {
        let view = &mut self.view;
        match line {
            Line::Runtime(runtime) => view.runtimes.push(runtime),
            Line::Task(task) => view.tasks.push(*task),
            Line::Group(group) => view.groups.push(group),
            Line::Loop(running) => view.loops.push(running),
            Line::Channel(channel) => view.channels.push(*channel),
            Line::Deadlock(deadlock) => view.deadlocks.push(deadlock),
            Line::Starvation(starvation) => view.starvations.push(starvation),
            Line::Report(report) => view.reports.push(report),
            Line::Code(code) => self.code = code,
            Line::Stack(stack) => self.threads.push(*stack),
            Line::Leaf(leaf) => self.leaves.push(leaf),
            Line::Gone(gone) => self.gone = gone,
            Line::End(end) => self.end(&end),
            // Of a newer program, or of no answer.
            _ => {}
        }
    }

    fn end(&mut self, end: &End) {
        let View {
            tasks_left_out,
            channels_left_out,
            groups_left_out,
            ..
        } = &mut self.view;
        add(tasks_left_out, end.tasks_left_out.unwrap_or(0));
        add(channels_left_out, end.channels_left_out.unwrap_or(0));
        add(groups_left_out, end.groups_left_out.unwrap_or(0));
    }
}
