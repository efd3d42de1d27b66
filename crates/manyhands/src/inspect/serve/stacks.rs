//! What the threads of all runtimes run now: a copy of the stack of each, as lines. And the stacks at which a task
//! waits that was polled on request.
//!
//! One thread at a time is asked for its copy, and goes on at once. Of the copy only addresses are passed on: of code, and
//! of the stack itself. That is what an unwinder follows, and what else lies on a stack may be nobody's business. Neither
//! an unwinder nor a reader of symbols is needed here: the client has them.
//!
//! Not here: copying a stack (`stack_signal.rs`). The lines are described in `docs/inspect-protocol.md`.

use crate::inspect::serve::mappings;
use crate::inspect::serve::poll_once::Polled;
use crate::inspect::serve::refused::Refused;
use crate::inspect::serve::wire::{say, say_all, task_line};
use crate::recording::runtimes;
use crate::sync::stack_copy::{self, NotCopied, StackCopy};
use manyhands_wire::{
    Code, End, Line, Mapping, Number, RawCopy, RawLeaf, RawStack, Registers, printable, word,
};
use std::io::{self, Write};

/// Sends a line about the code of the process, one for each thread, and the last one.
pub(super) fn send(answers: &mut impl Write) -> io::Result<()> {
    if let Err(reason) = stack_copy::prepare() {
        return say(answers, &Refused::no_copies(reason).line());
    }
    let code = code();
    say(answers, &Line::Code(code.clone()))?;
    let runtimes = runtimes::read();
    for runtime in &runtimes {
        for worker in &runtime.workers {
            // A thread that does not answer keeps no other's line waiting.
            answers.flush()?;
            let copy = stack_copy::copy_of(worker.thread);
            let stack = RawStack {
                runtime: runtime.number,
                worker: worker.index,
                thread: worker.thread,
                name: printable(&name_of(worker.thread)),
                state: worker.state.clone(),
                task_spawned_at: worker.task_spawned_at.clone(),
                copy: raw(copy.as_ref(), &code.mappings),
            };
            say(answers, &Line::Stack(Box::new(stack)))?;
        }
    }
    let workers = runtimes.iter().map(|runtime| runtime.workers.len());
    let end = Line::End(End {
        threads: Some(workers.sum()),
        ..End::of("stacks")
    });
    say(answers, &end)
}

/// Sends a line about the code of the process, one for the task, one for each stack at one of its waits, and the last one.
pub(super) fn send_polled(answers: &mut impl Write, (task, stacks): Polled) -> io::Result<()> {
    let code = code();
    let end = Line::End(End {
        ended: Some(task.is_none()),
        ..End::of("poll")
    });
    say(answers, &Line::Code(code.clone()))?;
    say_all(answers, task.iter().map(task_line))?;
    for (wait, copy) in &stacks {
        let (wait, copy) = (*wait, raw(copy.as_ref(), &code.mappings));
        say(answers, &Line::Leaf(RawLeaf { wait, copy }))?;
    }
    say(answers, &end)
}

fn code() -> Code {
    Code {
        architecture: std::env::consts::ARCH.to_owned(),
        mappings: mappings::read(),
    }
}

/// What is sent of a copy, or why there is none.
fn raw(copy: Result<&StackCopy, &NotCopied>, code: &[Mapping]) -> RawCopy {
    match copy {
        Ok(copy) => RawCopy {
            missing: None,
            registers: Some(Registers {
                instruction: Number(copy.registers.instruction),
                stack: Number(copy.registers.stack),
                frame: Number(copy.registers.frame),
                link: Number(copy.registers.link),
            }),
            length: 8 * copy.words.len() as u64,
            words: addresses(copy, code),
            cut: copy.is_cut,
        },
        Err(because) => RawCopy {
            missing: Some(word(because)),
            ..RawCopy::default()
        },
    }
}

/// As the system knows it, cut to 15 bytes.
fn name_of(thread: i32) -> String {
    let name = std::fs::read(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// The words that are addresses of code or of the stack, each with its distance in bytes from the stack pointer.
fn addresses(copy: &StackCopy, code: &[Mapping]) -> Vec<(u64, Number)> {
    let low = copy.registers.stack;
    let high = low + 8 * copy.words.len() as u64;
    let is_address = |word: u64| {
        let address = word & ADDRESS_BITS;
        let of_code = || {
            let before = code.partition_point(|mapping| mapping.start.0 <= address);
            let mapping = before.checked_sub(1).map(|last| &code[last]);
            // Also the address behind its last instruction, where a call returns that never does.
            mapping.is_some_and(|mapping| address <= mapping.end.0)
        };
        (low..=high).contains(&address) || of_code()
    };
    let words = (0..).step_by(8).zip(&copy.words);
    let addresses = words.filter(|(_, word)| is_address(**word));
    addresses.map(|(at, word)| (at, Number(*word))).collect()
}

/// What is an address in a word: a processor may keep a signature of a return address in the bits above.
const ADDRESS_BITS: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::addresses;
    use crate::sync::stack_copy::{Registers, StackCopy};
    use manyhands_wire::{Mapping, Number};

    #[test]
    fn of_a_stack_only_addresses_of_code_and_of_the_stack_are_passed_on() {
        let code =
            [(0x40_0000, 0x41_0000), (0x7000_0000, 0x7001_0000)].map(|(start, end)| Mapping {
                start: Number(start),
                end: Number(end),
                ..Mapping::default()
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
        let kept: Vec<u64> = addresses(&copy, &code).iter().map(|(at, _)| *at).collect();
        assert_eq!(kept, [8, 16, 24, 32]);
    }
}
