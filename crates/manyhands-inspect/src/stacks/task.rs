//! A task that was polled on request: the stacks of the places where it waits.

use super::folding::{Shown, shown, summary};
use super::text::{frame_line, missing_reason};
use super::{Frame, Frames};
use crate::words::{OUTSIDE, Resources, label, waits_for};
use manyhands_wire::{Task, Wait};
use serde::Serialize;
use std::fmt::Write;

/// A task that was polled on request, and where it waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PolledTask {
    /// The task at the end of the poll; none if it has ended.
    pub task: Option<Task>,
    /// The stack at each wait that was recorded in the poll.
    pub leaves: Vec<LeafStack>,
}

/// The functions through which a task came to a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeafStack {
    /// Which wait, by its place in [`Task::waits`].
    pub wait: usize,
    /// Why there are no frames: `silent` if the thread blocks the signal by which stacks are copied.
    pub missing: Option<String>,
    /// The functions, the innermost first. Those behind the task's own have polled it.
    pub frames: Vec<Frame>,
    /// There are more frames behind the last one, which could not be found.
    pub cut: bool,
}

/// The task's waits, each with the functions through which it came there, the innermost first. Ends with a line feed.
///
/// # Examples
/// ```
/// use manyhands_inspect::stacks::{Frames, PolledTask, polled_task_text};
/// let ended = polled_task_text(&PolledTask::default(), Frames::OfProgram);
/// assert_eq!(ended, "the task has ended with this poll\n");
/// ```
#[must_use]
pub fn polled_task_text(polled: &PolledTask, frames: Frames) -> String {
    let Some(task) = &polled.task else {
        return "the task has ended with this poll\n".to_owned();
    };
    let mut text = format!("task {} '{}': {}\n", task.number, label(task), task.state);
    for (place, wait) in task.waits.iter().enumerate() {
        let _ = writeln!(text, "  {}", heading(task, wait));
        match polled.leaves.iter().find(|leaf| leaf.wait == place) {
            Some(leaf) => add_stack(&mut text, leaf, frames),
            None if wait.kind == OUTSIDE => {
                text.push_str("    (only waits of this library are reached)\n");
            }
            None => text.push_str("    (it was not reached in this poll)\n"),
        }
    }
    if task.waits.is_empty() {
        text.push_str("  (no wait of this library is recorded)\n");
    }
    text
}

/// One object of JSON, with the fields `task` and `leaves`.
#[must_use]
pub fn polled_task_json(polled: &PolledTask) -> String {
    serde_json::json!(polled).to_string()
}

fn heading(task: &Task, wait: &Wait) -> String {
    let what = waits_for(task, wait, &Resources::default());
    let mut heading = format!("{what} at {}", wait.at);
    let outer = |frame: &&manyhands_wire::Frame| task.frames.get(frame.outer?);
    let innermost = wait.frame.and_then(|frame| task.frames.get(frame));
    let around = std::iter::successors(innermost, outer).take(task.frames.len());
    for frame in around {
        let _ = write!(heading, ", in '{}' of {}", frame.name, frame.at);
    }
    heading
}

fn add_stack(text: &mut String, leaf: &LeafStack, frames: Frames) {
    for line in shown(&leaf.frames, frames) {
        let _ = match line {
            Shown::Frame(frame) => writeln!(text, "    {}", frame_line(frame)),
            Shown::Folded(folded) => writeln!(text, "    ({})", summary(folded)),
        };
    }
    if let Some(reason) = missing_reason(leaf.missing.as_deref(), &leaf.frames, leaf.cut) {
        let _ = writeln!(text, "    {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::{LeafStack, PolledTask, polled_task_text};
    use crate::stacks::{Frame, FrameKind, Frames};
    use manyhands_wire::Task;

    fn task() -> Task {
        let text = r#"{"number":"3","kind":"future","id":"7f","name":"clerk","type":"office::clerk","spawned_at":null,"parent":null,"runtime":1,"worker":0,"state":"waiting","in_state_us":1,"age_us":2,"busy_us":1,"polls":3,"wakes":2,"waits":[{"kind":"receive","resource":"7f","owner":null,"at":"src/office.rs:12:9","waiting_us":1,"direct":true,"frame":1},{"kind":"timer","resource":"0","owner":null,"at":"src/office.rs:13:9","waiting_us":1,"direct":true}],"waits_left_out":0,"may_wait_for_more":false,"changes":9}"#;
        let mut task: Task = serde_json::from_str(text).unwrap();
        let frame = |name: &str, outer| manyhands_wire::Frame {
            name: name.to_owned(),
            at: "src/office.rs:9:5".to_owned(),
            outer,
        };
        task.frames = vec![frame("serve", None), frame("order", Some(0))];
        task
    }

    #[test]
    fn each_wait_is_shown_with_its_frames_and_the_functions_of_the_program() {
        let frame = |function: &str, kind| Frame {
            function: function.to_owned(),
            file: Some("src/office.rs".to_owned()),
            line: Some(12),
            module: "office".to_owned(),
            inlined: false,
            kind,
        };
        let leaf = LeafStack {
            wait: 0,
            missing: None,
            frames: vec![
                frame("manyhands::inspect::note", FrameKind::Manyhands),
                frame("<manyhands::Recv as Future>::poll", FrameKind::Manyhands),
                frame("office::clerk::{{closure}}", FrameKind::Program),
                frame("manyhands::run_loop", FrameKind::Manyhands),
            ],
            cut: false,
        };
        let polled = PolledTask {
            task: Some(task()),
            leaves: vec![leaf],
        };
        assert_eq!(
            polled_task_text(&polled, Frames::OfProgram),
            "task 3 'clerk': waiting\n  \
             receive 7f at src/office.rs:12:9, in 'order' of src/office.rs:9:5, in 'serve' of src/office.rs:9:5\n    \
             (1 frame of manyhands)\n    \
             <manyhands::Recv as Future>::poll  src/office.rs:12\n    \
             office::clerk::{{closure}}  src/office.rs:12\n    \
             (1 frame of manyhands)\n  \
             timer at src/office.rs:13:9\n    \
             (it was not reached in this poll)\n"
        );
        let all = polled_task_text(&polled, Frames::All);
        assert!(all.contains("manyhands::run_loop"), "{all}");
    }

    #[test]
    fn a_copy_that_is_missing_and_a_task_without_waits_are_said_to_be_so() {
        let mut polled = PolledTask {
            task: Some(task()),
            leaves: vec![LeafStack {
                wait: 1,
                missing: Some("silent".to_owned()),
                frames: Vec::new(),
                cut: false,
            }],
        };
        let text = polled_task_text(&polled, Frames::OfProgram);
        assert!(text.contains("blocks SIGURG"), "{text}");
        polled.task.as_mut().unwrap().waits.clear();
        let text = polled_task_text(&polled, Frames::OfProgram);
        assert!(
            text.ends_with("(no wait of this library is recorded)\n"),
            "{text}"
        );
    }
}
