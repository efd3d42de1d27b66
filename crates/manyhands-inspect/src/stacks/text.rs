//! Stacks as text: thread by thread, and merged.

use super::folding::{Shown, shown, summary};
use super::graph::{Call, Graph, Method, Segment, merge};
use super::{Frame, Frames, Stacks, ThreadStack};
use crate::groups::Groups;
use std::fmt::Write;

impl Stacks {
    /// Merges the stacks. A member of a segment is the number of a thread in `threads`.
    #[must_use]
    pub fn graph(&self, frames: Frames) -> Graph {
        let stacks = self.calls(frames);
        merge(stacks.iter().map(Vec::as_slice))
    }

    /// The calls of each thread, the outermost first.
    pub(crate) fn calls(&self, frames: Frames) -> Vec<Vec<Call>> {
        let calls = |thread: &ThreadStack| calls(&shown_of(thread, frames));
        self.threads.iter().map(calls).collect()
    }
}

/// One object of JSON: the stacks, the threads that wait for locks of other crates, the groups of tasks, and the graph of
/// each, with the fields `stacks`, `lock_waits`, `graph`, `tasks` and `task_graph`.
#[must_use]
pub fn stacks_json(stacks: &Stacks, tasks: &Groups, frames: Frames) -> String {
    let object = serde_json::json!({
        "stacks": stacks,
        "lock_waits": stacks.lock_waits(),
        "graph": stacks.graph(frames),
        "tasks": tasks,
        "task_graph": tasks.graph(),
    });
    object.to_string()
}

/// The lines of a thread's stack. An idle worker is in no code of the program's, whatever its outermost functions are called.
fn shown_of(thread: &ThreadStack, which: Frames) -> Vec<Shown<'_>> {
    match thread.is_idle() && which == Frames::OfProgram && !thread.frames.is_empty() {
        true => vec![Shown::Folded(&thread.frames)],
        false => shown(&thread.frames, which),
    }
}

/// The calls of a stack, the outermost first.
fn calls(lines: &[Shown<'_>]) -> Vec<Call> {
    let call = |line: &Shown<'_>| match line {
        Shown::Frame(frame) => Some(Call {
            function: frame.function.clone(),
            at: place(frame),
        }),
        Shown::Folded(_) => None,
    };
    lines.iter().rev().filter_map(call).collect()
}

/// Each thread with its stack, the innermost function first. Ends with a line feed.
#[must_use]
pub fn stacks_text(stacks: &Stacks, frames: Frames) -> String {
    let mut text = String::new();
    for (idx, thread) in stacks.threads.iter().enumerate() {
        if idx > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", heading(thread));
        for line in shown_of(thread, frames) {
            let _ = match line {
                Shown::Frame(frame) => writeln!(text, "    {}", frame_line(frame)),
                Shown::Folded(folded) => writeln!(text, "    ({})", summary(folded)),
            };
        }
        let missing = thread.missing.as_deref();
        if let Some(reason) = missing_reason(missing, &thread.frames, thread.cut) {
            let _ = writeln!(text, "    {reason}");
        }
    }
    if stacks.threads.is_empty() {
        text.push_str("no thread takes part in a runtime\n");
    }
    text
}

fn heading(thread: &ThreadStack) -> String {
    let mut text = format!(
        "{} of runtime {}, '{}' (thread {}): {}",
        who(thread),
        thread.runtime,
        thread.name,
        thread.thread,
        thread.state
    );
    if let Some(at) = &thread.task_spawned_at {
        let _ = write!(text, ", the task of {at}");
    }
    if let Some(lock) = thread.waits_for_lock() {
        let _ = write!(text, ", waits for {lock}");
    }
    text
}

fn who(thread: &ThreadStack) -> String {
    match thread.worker {
        Some(worker) => format!("worker {worker}"),
        None => "external thread".to_owned(),
    }
}

/// What is to be said of a stack that is not complete.
pub(super) fn missing_reason(
    missing: Option<&str>,
    frames: &[Frame],
    cut: bool,
) -> Option<&'static str> {
    match missing {
        Some("ended") => Some("(it has ended)"),
        Some(_) => Some("(it did not answer in time: it blocks SIGURG, or gets no processor)"),
        None if frames.is_empty() => Some("(no function is known)"),
        None if cut => Some("(and callers that could not be found)"),
        None => None,
    }
}

/// A function with its place.
pub(super) fn frame_line(frame: &Frame) -> String {
    let mut line = frame.function.clone();
    if frame.inlined {
        line.push_str(" [inlined]");
    }
    if let Some(place) = place(frame) {
        let _ = write!(line, "  {place}");
    }
    line
}

fn place(frame: &Frame) -> Option<String> {
    let file = frame.file.as_deref()?;
    Some(match frame.line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    })
}

/// The merged stacks, the outermost functions first, each segment below the one that calls it. Ends with a line feed.
///
/// `what` is what the stacks are of, such as `"threads"`, and `name` names one of them by its number.
#[must_use]
pub fn merged_text(graph: &Graph, what: &str, name: impl Fn(usize) -> String) -> String {
    let mut text = format!("{} {what}\n", graph.stacks);
    let mut depths: Vec<usize> = Vec::with_capacity(graph.segments.len());
    for segment in &graph.segments {
        let depth = segment.parent.map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
        let indent = "    ".repeat(depth);
        let _ = writeln!(text, "{indent}{}", title(segment, &name));
        for method in &segment.methods {
            let _ = writeln!(text, "{indent}  {}", method_line(method));
        }
    }
    if graph.segments_left_out > 0 {
        let _ = writeln!(text, "and {} more branches", graph.segments_left_out);
    }
    text
}

/// `3 × worker 0, worker 1, worker 2`.
fn title(segment: &Segment, name: &impl Fn(usize) -> String) -> String {
    let named = segment.members.iter().take(NAMED_MAX);
    let names: Vec<String> = named.map(|member| name(*member)).collect();
    let more = if segment.members.len() > NAMED_MAX {
        " and more"
    } else {
        ""
    };
    format!("{} × {}{more}", segment.stacks, names.join(", "))
}

fn method_line(method: &Method) -> String {
    let mut line = method.function.clone();
    for (idx, place) in method.places.iter().take(PLACES_MAX).enumerate() {
        let Some(at) = &place.at else { continue };
        let gap = if idx == 0 { "  " } else { ", " };
        let _ = write!(line, "{gap}{at}");
        if method.places.len() > 1 {
            let _ = write!(line, " ({})", place.stacks);
        }
    }
    line
}

impl ThreadStack {
    /// Names the thread in a few words, such as `worker 3`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.worker {
            Some(_) => who(self),
            None => format!("thread {}", self.thread),
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == "idle"
    }
}

const NAMED_MAX: usize = 8;
const PLACES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::{merged_text, stacks_text};
    use crate::stacks::{Frame, FrameKind, Frames, Stacks, ThreadStack};

    fn frame(function: &str, line: Option<u32>, kind: FrameKind) -> Frame {
        Frame {
            function: function.to_owned(),
            file: line.map(|_| "src/office.rs".to_owned()),
            line,
            module: "office".to_owned(),
            inlined: false,
            kind,
        }
    }

    fn thread(worker: Option<usize>, frames: Vec<Frame>) -> ThreadStack {
        ThreadStack {
            runtime: 1,
            worker,
            thread: 70,
            name: "office-0".to_owned(),
            state: "running".to_owned(),
            task_spawned_at: None,
            missing: None,
            frames,
            cut: false,
        }
    }

    /// Two workers in the same function on different lines, an idle one, and a thread that does not answer.
    fn stacks() -> Stacks {
        let busy = |worker, line| {
            thread(
                Some(worker),
                vec![
                    frame("libc::read", None, FrameKind::System),
                    frame("std::fs::read", None, FrameKind::System),
                    frame("office::file", Some(line), FrameKind::Program),
                    frame("manyhands::join", None, FrameKind::Manyhands),
                    frame("std::rt", None, FrameKind::System),
                ],
            )
        };
        let idle = frame("manyhands::sleep", None, FrameKind::Manyhands);
        let mut silent = thread(None, Vec::new());
        silent.missing = Some("silent".to_owned());
        Stacks {
            threads: vec![busy(0, 7), busy(1, 9), thread(Some(2), vec![idle]), silent],
        }
    }

    #[test]
    fn each_thread_is_shown_with_the_functions_of_the_program_and_how_many_carry_it() {
        let text = stacks_text(&stacks(), Frames::OfProgram);
        let first = "worker 0 of runtime 1, 'office-0' (thread 70): running\n    \
                     (1 frame of the system)\n    std::fs::read\n    office::file  src/office.rs:7\n    \
                     (2 frames of manyhands and the system)\n\nworker 1";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("external thread of runtime 1"), "{text}");
        assert!(text.ends_with(
            "    (it did not answer in time: it blocks SIGURG, or gets no processor)\n"
        ));
        let all = stacks_text(&stacks(), Frames::All);
        assert!(
            all.contains("\n    libc::read\n    std::fs::read\n"),
            "{all}"
        );
    }

    #[test]
    fn merged_stacks_show_who_shares_what_and_on_which_lines() {
        let stacks = stacks();
        let graph = stacks.graph(Frames::OfProgram);
        let text = merged_text(&graph, "threads", |member| stacks.threads[member].label());
        let expected = "4 threads\n\
                        2 × worker 2, thread 70\n\
                        2 × worker 0, worker 1\n  \
                        office::file  src/office.rs:7 (1), src/office.rs:9 (1)\n  \
                        std::fs::read\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_segment_stands_below_its_caller_and_many_members_are_counted() {
        let program = |names: &[&str]| {
            let frames = names.iter().rev();
            thread(
                Some(0),
                frames
                    .map(|name| frame(name, None, FrameKind::Program))
                    .collect(),
            )
        };
        let mut threads = vec![program(&["a", "b"]); 10];
        threads.push(program(&["a", "c"]));
        let graph = Stacks { threads }.graph(Frames::OfProgram);
        let text = merged_text(&graph, "threads", |member| member.to_string());
        let expected = "11 threads\n\
                        11 × 0, 1, 2, 3, 4, 5, 6, 7 and more\n  a\n    \
                        10 × 0, 1, 2, 3, 4, 5, 6, 7 and more\n      b\n    \
                        1 × 10\n      c\n";
        assert_eq!(text, expected);
        assert_eq!(
            stacks_text(&Stacks::default(), Frames::All),
            "no thread takes part in a runtime\n"
        );
    }
}
