//! How a line of the protocol is written.
//!
//! Not here: what is in it (the crate `manyhands-wire`).

use manyhands_analysis::SeenTask;
use manyhands_wire::{End, Line};
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

/// Sends the last line of the answer to a request for `of`, with what `count` puts into it.
pub(super) fn say_end(
    answers: &mut impl Write,
    of: &str,
    count: impl FnOnce(&mut End),
) -> io::Result<()> {
    let mut end = End::of(of);
    count(&mut end);
    say(answers, &Line::End(end))
}

/// Sends a line.
pub(super) fn say(answers: &mut impl Write, line: &Line) -> io::Result<()> {
    let line = json::to_string(line).map_err(io::Error::other)?;
    writeln!(answers, "{line}")
}

#[cfg(test)]
mod tests {
    use crate::priority::Priority;
    use crate::sync::stack_copy::NotCopied;
    use manyhands_wire::word;

    /// A variant that gets another name must keep its word: clients know it by that.
    #[test]
    fn the_words_for_priorities_and_for_stacks_that_are_missing_stay_as_they_are() {
        let priorities = Priority::ALL.map(Priority::word);
        assert_eq!(priorities, ["interactive", "normal", "background"]);
        let missing = [NotCopied::Ended, NotCopied::Silent].map(word);
        assert_eq!(missing, ["ended", "silent"]);
    }
}
