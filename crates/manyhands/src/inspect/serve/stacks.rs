//! What the threads of all runtimes run now: a copy of the stack of each, as lines. And the stacks at which a task
//! waits that was polled on request.
//!
//! One thread at a time is asked for its copy, and goes on at once. Of the copy only addresses are passed on: of code, and
//! of the stack itself. That is what an unwinder follows, and what else lies on a stack may be nobody's business. Neither
//! an unwinder nor a reader of symbols is needed here: the client has them.
//!
//! Not here: copying a stack (`manyhands-system`), and which of its words are passed on (`manyhands-analysis`). The lines are described in `docs/inspect-protocol.md`.

use crate::inspect::serve::poll_once::Polled;
use crate::inspect::serve::wire::{say, say_all, say_end, task_line};
use crate::recording::runtimes;
use crate::sync::stack_copy::{self, NoCopies, NotCopied, StackCopy};
use crate::sync::{memory_map, thread_state};
use manyhands_analysis::{Refused, addresses, mappings};
use manyhands_wire::{
    Code, Line, Mapping, Number, RawCopy, RawLeaf, RawStack, Registers, printable, word,
};
use std::io::{self, Write};

/// Sends a line about the code of the process, one for each thread, and the last one.
pub(super) fn send(answers: &mut impl Write) -> io::Result<()> {
    if let Err(reason) = stack_copy::prepare() {
        return say(answers, &no_copies(reason).line());
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
                name: printable(&thread_state::name(worker.thread)),
                state: worker.state.clone(),
                task_spawned_at: worker.task_spawned_at.clone(),
                copy: raw(copy.as_ref(), &code.mappings),
            };
            say(answers, &Line::Stack(Box::new(stack)))?;
        }
    }
    let workers = runtimes.iter().map(|runtime| runtime.workers.len());
    say_end(answers, "stacks", |end| end.threads = Some(workers.sum()))
}

/// Sends a line about the code of the process, one for the task, one for each stack at one of its waits, and the last one.
pub(super) fn send_polled(answers: &mut impl Write, (task, stacks): Polled) -> io::Result<()> {
    let code = code();
    say(answers, &Line::Code(code.clone()))?;
    say_all(answers, task.iter().map(task_line))?;
    for (wait, copy) in &stacks {
        let (wait, copy) = (*wait, raw(copy.as_ref(), &code.mappings));
        say(answers, &Line::Leaf(RawLeaf { wait, copy }))?;
    }
    say_end(answers, "poll", |end| end.ended = Some(task.is_none()))
}

/// Why stacks cannot be copied, for the client.
pub(super) fn no_copies(because: NoCopies) -> Refused {
    match because {
        NoCopies::SignalInUse => Refused::SIGNAL_IN_USE,
        NoCopies::Unsupported => Refused::UNSUPPORTED,
    }
}

/// No mappings where the system does not list them.
fn code() -> Code {
    Code {
        architecture: std::env::consts::ARCH.to_owned(),
        mappings: mappings(&memory_map()),
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
            words: addresses(copy.registers.stack, &copy.words, code),
            cut: copy.is_cut,
        },
        Err(because) => RawCopy {
            missing: Some(word(because)),
            ..RawCopy::default()
        },
    }
}
