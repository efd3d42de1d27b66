//! How a line of the protocol is written.
//!
//! Not here: what is in it (the crate `manyhands-wire`).

use crate::inspect::tasks::snapshot::SeenTask;
use manyhands_wire::Line;
use serde_json_wasm as json;
use std::io::{self, Write};

/// A task.
pub(super) fn task_line(task: &SeenTask) -> Line {
    Line::Task(Box::new(task.shown()))
}

/// Sends these lines.
pub(super) fn say_all(
    answers: &mut impl Write,
    mut lines: impl Iterator<Item = Line>,
) -> io::Result<()> {
    lines.try_for_each(|line| say(answers, &line))
}

/// Sends a line.
pub(super) fn say(answers: &mut impl Write, line: &Line) -> io::Result<()> {
    let line = json::to_string(line).map_err(io::Error::other)?;
    writeln!(answers, "{line}")
}

#[cfg(test)]
mod tests {
    use crate::priority::Priority;
    use crate::recording::WaitKind;
    use crate::recording::enabled::tasks::task_state::TaskState;
    use crate::sync::stack_copy::NotCopied;
    use manyhands_wire::word;
    use std::fmt::Debug;

    /// A variant that gets another name must keep its word: clients know it by that.
    fn assert_sent(values: &[&dyn Debug], words: &str) {
        let sent: Vec<String> = values.iter().map(word).collect();
        assert_eq!(sent.join(" "), words);
    }

    #[test]
    fn the_words_for_tasks_stay_as_they_are() {
        assert_sent(
            &[
                &TaskState::Queued,
                &TaskState::Running,
                &TaskState::Waiting,
                &TaskState::Blocked,
            ],
            "queued running waiting blocked",
        );
        assert_sent(
            &[
                &WaitKind::Task,
                &WaitKind::Group,
                &WaitKind::Receive,
                &WaitKind::Send,
                &WaitKind::ChannelEnd,
                &WaitKind::Completion,
                &WaitKind::Scope,
                &WaitKind::Timer,
                &WaitKind::Cancellation,
                &WaitKind::Outside,
            ],
            "task group receive send channel_end completion scope timer cancellation outside",
        );
        assert_sent(
            &[
                &Priority::Interactive,
                &Priority::Normal,
                &Priority::Background,
                &NotCopied::Ended,
                &NotCopied::Silent,
            ],
            "interactive normal background ended silent",
        );
    }
}
