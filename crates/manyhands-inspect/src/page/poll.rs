//! The re-poll of a task, when a page asks for it: what the command's `--poll` prints.

use crate::error::Error;
use std::path::Path;

/// The task that a request's query names.
pub(super) fn task_of(query: &str) -> Option<String> {
    let number = query.strip_prefix("task=")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.split('.').all(is_number).then(|| number.to_owned())
}

/// Has the program that listens at `socket` poll the task once.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(super) fn poll(socket: &Path, task: &str) -> Result<String, Error> {
    use crate::stacks::{Frames, Resolver, polled_task_text};

    let raw = crate::Client::connect(socket)?.poll_task(task)?;
    let polled = Resolver::new().resolve_task(&raw);
    Ok(polled_task_text(&polled, Frames::OfProgram))
}

/// Says that there are no stacks here.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(super) fn poll(_socket: &Path, _task: &str) -> Result<String, Error> {
    let reason = "stacks are followed on Linux on x86-64 and aarch64 only";
    Err(Error::Refused(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::task_of;

    #[test]
    fn only_numbers_name_tasks() {
        assert_eq!(task_of("task=12").as_deref(), Some("12"));
        assert_eq!(task_of("task=12.3").as_deref(), Some("12.3"));
        for wrong in [
            "",
            "12",
            "task=",
            "task=.",
            "task=1.",
            "task=-1",
            "task=%31",
            "task=1&x=2",
        ] {
            assert_eq!(task_of(wrong), None, "{wrong}");
        }
    }
}
