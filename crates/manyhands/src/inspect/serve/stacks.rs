//! What the threads of all runtimes run now: a copy of the stack of each, as lines of JSON. And the stacks at which a task
//! waits that was polled on request.
//!
//! One thread at a time is asked for its copy, and goes on at once. Of the copy only addresses are passed on: of code, and
//! of the stack itself. That is what an unwinder follows, and what else lies on a stack may be nobody's business. Neither
//! an unwinder nor a reader of symbols is needed here: the client has them.
//!
//! Not here: copying a stack (`stack_signal.rs`). The lines are described in `docs/inspect-protocol.md`.

use crate::inspect::serve::json::Object;
use crate::inspect::serve::mappings::{self, Mapping};
use crate::inspect::serve::poll_once::Polled;
use crate::inspect::serve::refused::Refused;
use crate::inspect::serve::wire::{self, say, say_all};
use crate::recording::runtimes;
use crate::sync::stack_copy::{self, NotCopied, Registers, StackCopy};
use std::io::{self, Write};

/// Sends a line about the code of the process, one for each thread, and the last one.
pub(super) fn send(answers: &mut impl Write) -> io::Result<()> {
    if let Err(reason) = stack_copy::prepare() {
        return say(answers, &Refused::NoCopies(reason).line());
    }
    let code = mappings::read();
    say(answers, &code_line(&code))?;
    let runtimes = runtimes::read();
    for runtime in &runtimes {
        for worker in &runtime.workers {
            // A thread that does not answer keeps no other's line waiting.
            answers.flush()?;
            let copy = stack_copy::copy_of(worker.thread);
            let line = Object::new()
                .with("runtime", runtime.number)
                .with("worker", worker.index)
                .with("thread", worker.thread)
                .with("name", wire::text(&name_of(worker.thread)))
                .with("state", wire::word(worker.state))
                .with("task_spawned_at", worker.task_spawned_at.map(wire::place));
            let line = with_stack(line, copy.as_ref(), &code);
            say(answers, &wire::line_of("stack", line))?;
        }
    }
    let workers = runtimes.iter().map(|runtime| runtime.workers.len());
    let end = wire::end("stacks").with("threads", workers.sum::<usize>());
    say(answers, &end.line())
}

/// Sends a line about the code of the process, one for the task, one for each stack at one of its waits, and the last one.
pub(super) fn send_polled(answers: &mut impl Write, polled: &Polled) -> io::Result<()> {
    let code = mappings::read();
    say(answers, &code_line(&code))?;
    say_all(answers, polled.task.iter().map(wire::task))?;
    for (wait, copy) in &polled.stacks {
        let line = with_stack(Object::new().with("wait", *wait), copy.as_ref(), &code);
        say(answers, &wire::line_of("leaf", line))?;
    }
    let end = wire::end("poll").with("ended", polled.task.is_none());
    say(answers, &end.line())
}

/// A line, with the copy of a stack or why there is none.
fn with_stack(line: Object, copy: Result<&StackCopy, &NotCopied>, code: &[Mapping]) -> Object {
    line.with("missing", copy.err().map(wire::word))
        .with("registers", copy.ok().map(|copy| saved(&copy.registers)))
        .with("length", copy.map_or(0, |copy| 8 * copy.words.len()))
        .with_list(
            "words",
            copy.map_or(Vec::new(), |copy| addresses(copy, code)),
        )
        .with("cut", copy.is_ok_and(|copy| copy.is_cut))
}

fn code_line(code: &[Mapping]) -> String {
    let mapping = |mapping: &Mapping| {
        Object::new()
            .with("start", hex(mapping.start))
            .with("end", hex(mapping.end))
            .with("offset", hex(mapping.offset))
            .with("path", wire::text(&mapping.path))
    };
    let code = Object::new()
        .with("architecture", std::env::consts::ARCH)
        .with_list("mappings", code.iter().map(mapping));
    wire::line_of("code", code)
}

/// As the system knows it, cut to 15 bytes.
fn name_of(thread: i32) -> String {
    let name = std::fs::read(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

fn saved(registers: &Registers) -> Object {
    Object::new()
        .with("instruction", hex(registers.instruction))
        .with("stack", hex(registers.stack))
        .with("frame", hex(registers.frame))
        .with("link", hex(registers.link))
}

/// The words that are addresses of code or of the stack, each with its distance in bytes from the stack pointer.
fn addresses(copy: &StackCopy, code: &[Mapping]) -> Vec<(usize, String)> {
    let low = copy.registers.stack;
    let high = low + 8 * copy.words.len() as u64;
    let is_address = |word: u64| {
        let address = word & ADDRESS_BITS;
        let of_code = || {
            let before = code.partition_point(|mapping| mapping.start <= address);
            let mapping = before.checked_sub(1).map(|last| &code[last]);
            // Also the address behind its last instruction, where a call returns that never does.
            mapping.is_some_and(|mapping| address <= mapping.end)
        };
        (low..=high).contains(&address) || of_code()
    };
    let words = copy.words.iter().enumerate();
    words
        .filter(|(_, word)| is_address(**word))
        .map(|(idx, word)| (8 * idx, hex(*word)))
        .collect()
}

fn hex(number: u64) -> String {
    format!("{number:x}")
}

/// What is an address in a word: a processor may keep a signature of a return address in the bits above.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::addresses;
    use crate::inspect::serve::mappings::Mapping;
    use crate::sync::stack_copy::{Registers, StackCopy};

    #[test]
    fn of_a_stack_only_addresses_of_code_and_of_the_stack_are_passed_on() {
        let code = [(0x40_0000, 0x41_0000), (0x7000_0000, 0x7001_0000)].map(|(start, end)| {
            let path = String::new();
            Mapping {
                start,
                end,
                offset: 0,
                path,
            }
        });
        let copy = StackCopy {
            registers: Registers {
                instruction: 0x40_0010,
                stack: 0x9000_0000,
                frame: 0,
                link: 0,
            },
            // A secret, a return address, the frame above, one with a signature, one behind a last call, and others.
            words: vec![
                0x6472_6f77_7373_6170,
                0x40_0123,
                0x9000_0028,
                0x00ab_0000_7000_0004,
                0x41_0000,
                0x3f_ffff,
                0x41_0001,
                0x8fff_ffff,
                0,
            ],
            is_cut: false,
        };
        let kept: Vec<usize> = addresses(&copy, &code).iter().map(|(at, _)| *at).collect();
        assert_eq!(kept, [8, 16, 24, 32]);
    }
}
