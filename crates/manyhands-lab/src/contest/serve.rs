//! The child's side: one contender answers requests on the standard streams.
//!
//! What a contender prints on its standard output would be taken for an answer, so it must not.

use super::protocol::{self, ABSENT, READY, Request, Sample};
use crate::system;
use std::io::{self, BufRead, Write};

/// Answers requests until the parent closes the pipe.
pub fn serve(mut answer: impl FnMut(&Request) -> Result<Sample, String>) {
    say(READY);
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let answer = match Request::parse(&line) {
            Some(request) => answer(&request),
            None => Err(format!("unclear request '{line}'")),
        };
        say(&protocol::answer_line(&answer));
    }
}

/// Answers, in place of [`serve`], that the contender does not exist here, and why.
pub fn say_absent(reason: &str) {
    say(&format!("{ABSENT}{reason}"));
}

/// Asks the kernel to end this process with its parent, which is the only one that could continue
/// it while it is stopped. A child calls this first. It does nothing on systems other than Linux.
pub fn end_with_parent() {
    system::end_with_parent();
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // The parent is gone if this fails, and the next read ends the loop.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
