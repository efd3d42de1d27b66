//! The connection to a program.

use crate::answer::Answer;
use crate::error::Error;
use crate::groups::Groups;
use crate::place;
use crate::printable::harmless;
use crate::stacks::{RawPolledTask, RawStacks};
use crate::view::{Troubles, View, add};
use manyhands_wire::{Hello, Line, LoopReport, PROTOCOL, Refusal, Request};
#[cfg(feature = "page")]
use manyhands_wire::{Loop, Runtime};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<Bounded>,
    hello: Hello,
    /// The process, if it is another user's.
    foreign: Option<u32>,
}

impl Client {
    /// Connects to the program that listens at `path`. Waits at most ten seconds for each answer, however many
    /// pieces it comes in, and reads no more of it than what was asked for can have, and at most a gigabyte.
    ///
    /// Whatever the program sends is safe to print: what a terminal would obey is replaced.
    ///
    /// # Errors
    /// When nobody listens there, and when what does is no such program, or refuses. Also when it is a program of another
    /// user's and this user is not root, and when the folder where programs listen could be entered by others.
    pub fn connect(path: &Path) -> Result<Self, Error> {
        place::check(path)?;
        let stream = place::connect(path, LIMIT)?;
        let foreign = place::foreign_process(&stream)?;
        Ok(Self {
            foreign,
            ..Self::over(stream, LIMIT)?
        })
    }

    fn over(stream: UnixStream, limit: Duration) -> Result<Self, Error> {
        stream.set_write_timeout(Some(limit))?;
        let mut stream = BufReader::new(Bounded {
            stream,
            limit,
            left: limit,
        });
        let line = read_line(&mut stream)?;
        let hello: Hello = serde_json::from_str(&line).map_err(|_| reason_in(&line))?;
        if hello.manyhands_inspect != PROTOCOL {
            let spoken = hello.manyhands_inspect;
            let message =
                format!("it speaks version {spoken}, and this program version {PROTOCOL}");
            return Err(Error::Protocol(message));
        }
        Ok(Self {
            stream,
            hello,
            foreign: None,
        })
    }

    /// What the program has said about itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What the program does now, with at most `tasks_max` of its tasks, its deadlocks, and the reports of loops that have
    /// ended. If it has more tasks, also the groups of equal ones.
    ///
    /// # Errors
    /// When the connection breaks, or the program does not answer as it should.
    pub fn view(&mut self, tasks_max: usize) -> Result<View, Error> {
        let mut answer = Answer::default();
        self.for_each_line(tasks_max, |_, line| {
            answer.add(line);
            Ok(())
        })?;
        Ok(answer.view)
    }

    /// What has changed since it was asked for last over this connection; at first, everything. Of its tasks and channels at
    /// most `tasks_max` each.
    pub(crate) fn changes(&mut self, tasks_max: usize) -> Result<Answer, Error> {
        let request = with_tasks("changes", tasks_max);
        Ok(self.answer_to(&request, Size::of(tasks_max))?)
    }

    /// Its deadlocks and starved runtimes. The program takes 50 ms to find them; where a runtime seems to be starved, up to
    /// 400 ms.
    pub(crate) fn troubles(&mut self) -> Result<Troubles, Error> {
        let answer = self.answer_to(&Request::get("deadlocks"), Size::of(0))?;
        let View {
            deadlocks,
            starvations,
            ..
        } = answer.view;
        Ok(Troubles {
            deadlocks,
            starvations,
        })
    }

    /// The last report of each place that calls loops. An older program has none.
    pub(crate) fn reports(&mut self) -> Result<Vec<LoopReport>, Error> {
        let answer = self.answer_to(&Request::get("reports"), Size::of(0));
        Ok(if_known(answer)?.view.reports)
    }

    /// What the program's workers and loops do now. However many tasks there are, that costs it little.
    #[cfg(feature = "page")]
    pub(crate) fn workers_and_loops(&mut self) -> Result<(Vec<Runtime>, Vec<Loop>), Error> {
        let answer = self.answer_to(&with_tasks("snapshot", 0), Size::of(0))?;
        Ok((answer.view.runtimes, answer.view.loops))
    }

    /// Passes the lines of the same answers to `write`, as they come.
    ///
    /// # Errors
    /// As [`view`](Self::view), and those of `write`.
    pub fn copy(
        &mut self,
        tasks_max: usize,
        mut write: impl FnMut(&str) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.for_each_line(tasks_max, |text, _| write(text))
    }

    /// All tasks of the program, by where they are: few lines, however many tasks there are. An older program has none.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn groups(&mut self) -> Result<Groups, Error> {
        let answer = self.answer_to(&Request::get("groups"), Size::of(0));
        let answer = if_known(answer)?;
        Ok(Groups {
            groups: answer.view.groups,
            groups_left_out: answer.view.groups_left_out,
        })
    }

    /// What the threads that take part in a runtime have in their registers and on their stacks, one after the other.
    ///
    /// # Errors
    /// As [`view`](Self::view); also when the program's system is none where stacks can be copied, and when the program
    /// handles the signal itself by which they are.
    pub fn raw_stacks(&mut self) -> Result<RawStacks, Error> {
        let answer = self.answer_to(&Request::get("stacks"), Size::LARGEST)?;
        Ok(RawStacks {
            code: answer.code,
            threads: answer.threads,
            foreign: self.foreign,
        })
    }

    /// Has the task with this number polled once more, if it waits, and returns where it then waits and what the thread that
    /// polled it had on its stack there. For the task this is a wake without a reason.
    ///
    /// # Errors
    /// As [`raw_stacks`](Self::raw_stacks); also when the program does not allow that others act on it, when no task of this
    /// number waits, and when no worker has polled it within two seconds.
    pub fn poll_task(&mut self, number: &str) -> Result<RawPolledTask, Error> {
        let request = Request {
            poll: Some(number.to_owned()),
            ..Request::default()
        };
        let mut answer = self.answer_to(&request, Size::of(0))?;
        Ok(RawPolledTask {
            code: answer.code,
            task: answer.view.tasks.pop(),
            leaves: answer.leaves,
            foreign: self.foreign,
        })
    }

    fn for_each_line(
        &mut self,
        tasks_max: usize,
        mut see: impl FnMut(&str, Line) -> io::Result<()>,
    ) -> Result<(), Error> {
        let mut tasks_left_out = 0;
        let tasks = with_tasks("snapshot", tasks_max);
        self.ask(&tasks, Size::of(tasks_max), |text, line| {
            if let Line::End(end) = &line {
                add(&mut tasks_left_out, end.tasks_left_out.unwrap_or(0));
            }
            see(text, line)
        })?;
        self.ask(&Request::get("deadlocks"), Size::of(0), &mut see)?;
        if tasks_left_out > 0 {
            if_known(self.ask(&Request::get("groups"), Size::of(0), &mut see))?;
        }
        Ok(if_known(self.ask(
            &Request::get("reports"),
            Size::of(0),
            see,
        ))?)
    }

    /// Asks for one thing, and keeps the lines of the answer.
    fn answer_to(&mut self, request: &Request, most: Size) -> Result<Answer, Asking> {
        let mut answer = Answer::default();
        self.ask(request, most, |_, line| {
            answer.add(line);
            Ok(())
        })?;
        Ok(answer)
    }

    /// Asks for one thing, and passes on the lines of the answer, which is of this size at most. After a failure the connection
    /// is closed: what is left of the answer would be taken for that to the next request.
    fn ask(
        &mut self,
        request: &Request,
        most: Size,
        see: impl FnMut(&str, Line) -> io::Result<()>,
    ) -> Result<(), Asking> {
        let asked = self.ask_and_read(request, most, see);
        if let Err(Asking::Failed(_)) = asked {
            // If it is closed already, that is what is wanted.
            let _ = self.stream.get_ref().stream.shutdown(Shutdown::Both);
        }
        asked
    }

    fn ask_and_read(
        &mut self,
        request: &Request,
        most: Size,
        mut see: impl FnMut(&str, Line) -> io::Result<()>,
    ) -> Result<(), Asking> {
        let bounded = self.stream.get_mut();
        bounded.left = bounded.limit;
        let request = serde_json::to_string(request).map_err(io::Error::from);
        let write = |line: String| bounded.stream.write_all(format!("{line}\n").as_bytes());
        let written = request.and_then(write);
        written.map_err(|error| Error::from(bounded.in_words(error)))?;
        let mut left = most;
        loop {
            let text = read_line(&mut self.stream)?;
            left = left.less(&text).ok_or_else(|| {
                let Size { bytes, lines } = most;
                Error::Protocol(format!(
                    "an answer has more than {bytes} bytes or {lines} lines"
                ))
            })?;
            let line =
                serde_json::from_str(&text).map_err(|error| Error::Protocol(error.to_string()))?;
            if let Line::Unknown(fields) = &line
                && let Some(kind) = KINDS.into_iter().find(|kind| fields.contains_key(*kind))
            {
                let message = format!("a line `{kind}` has not the fields that it should");
                return Err(Error::Protocol(message).into());
            }
            if let Line::Error(refusal) = line {
                return Err(Asking::Refused(refusal));
            }
            let is_last = matches!(line, Line::End(_));
            see(&text, line).map_err(Error::from)?;
            if is_last {
                return Ok(());
            }
        }
    }
}

/// A request for this, with at most so many tasks and channels.
/// Nothing, where an older program does not know what it was asked for and so does not answer.
fn if_known<A: Default>(asked: Result<A, Asking>) -> Result<A, Asking> {
    match asked {
        Err(Asking::Refused(refusal)) if refusal.code == UNKNOWN_REQUEST => Ok(A::default()),
        asked => asked,
    }
}

fn with_tasks(what: &str, tasks_max: usize) -> Request {
    Request {
        tasks_max: Some(tasks_max as u64),
        ..Request::get(what)
    }
}

/// Why a request was not answered.
enum Asking {
    Refused(Refusal),
    Failed(Error),
}

impl From<Error> for Asking {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Asking> for Error {
    fn from(asking: Asking) -> Self {
        match asking {
            Asking::Refused(refusal) => Self::Refused(refusal.message),
            Asking::Failed(error) => error,
        }
    }
}

/// What comes from the program, as long as an answer may be waited for, however many pieces it comes in. What happens
/// between two pieces takes nothing of that.
#[derive(Debug)]
struct Bounded {
    stream: UnixStream,
    /// For each answer.
    limit: Duration,
    /// For this one.
    left: Duration,
}

impl Bounded {
    /// What the system calls unavailable for now is too late here.
    fn in_words(&self, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::WouldBlock {
            return error;
        }
        let limit = self.limit.as_secs_f64();
        let text = format!("no answer within {limit} s: the deadline has elapsed");
        io::Error::new(io::ErrorKind::TimedOut, text)
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.is_zero() {
            return Err(self.in_words(io::ErrorKind::WouldBlock.into()));
        }
        self.stream.set_read_timeout(Some(self.left))?;
        let begun = now();
        let read = self.stream.read(buffer);
        self.left = self.left.saturating_sub(now() - begun);
        read.map_err(|error| self.in_words(error))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an answer may be waited for only so long"
)]
fn now() -> Instant {
    Instant::now()
}

/// What a first line that is no greeting says.
fn reason_in(line: &str) -> Error {
    match serde_json::from_str(line) {
        Ok(Line::Error(refusal)) => Error::Refused(refusal.message),
        _ => Error::Protocol("it did not begin as such a program does".to_owned()),
    }
}

fn read_line(stream: &mut BufReader<Bounded>) -> Result<String, Error> {
    let mut line = String::new();
    let read = stream.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
    let read = read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => Error::Protocol("a line is not in UTF-8".to_owned()),
        _ => Error::from(error),
    })?;
    if read > 0 && line.ends_with('\n') {
        line.pop();
        return Ok(harmless(line));
    }
    Err(if read as u64 == LINE_BYTES_MAX {
        Error::Protocol(format!("a line has more than {LINE_BYTES_MAX} bytes"))
    } else {
        Error::Connection(io::ErrorKind::UnexpectedEof.into())
    })
}

/// What a line is known by. Lines of other kinds are those of a newer program.
const KINDS: [&str; 14] = [
    "runtime",
    "task",
    "loop",
    "channel",
    "deadlock",
    "starvation",
    "group",
    "code",
    "stack",
    "leaf",
    "gone",
    "error",
    "end",
    "report",
];
/// The code of the error that a program answers to what it does not know.
const UNKNOWN_REQUEST: &str = "unknown_request";
const LIMIT: Duration = Duration::from_secs(10);
/// More than any line has, but that of a deadlock of many thousand tasks.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// What an answer may have. What is kept of a line takes much more than its bytes, the row of a table some kilobytes.
#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: u64,
    lines: u64,
}

impl Size {
    /// More than two million tasks take.
    const LARGEST: Self = Self {
        bytes: 1 << 30,
        lines: 1 << 23,
    };

    /// With this many tasks, and as many channels.
    fn of(tasks_max: usize) -> Self {
        let tasks = tasks_max as u64;
        let bytes = tasks.saturating_mul(TASK_BYTES_MAX);
        let lines = tasks.saturating_mul(2);
        Self {
            bytes: bytes
                .saturating_add(OTHER_BYTES_MAX)
                .min(Self::LARGEST.bytes),
            lines: lines
                .saturating_add(OTHER_LINES_MAX)
                .min(Self::LARGEST.lines),
        }
    }

    /// What is left after a line.
    fn less(self, line: &str) -> Option<Self> {
        Some(Self {
            bytes: self.bytes.checked_sub(line.len() as u64)?,
            lines: self.lines.checked_sub(1)?,
        })
    }
}

/// Of a task and a channel, many taken together.
const TASK_BYTES_MAX: u64 = 4 << 10;
/// Of all that is in an answer beside tasks and channels.
const OTHER_BYTES_MAX: u64 = if cfg!(test) {
    1 << 20
} else {
    2 * LINE_BYTES_MAX
};
/// Runtimes, loops that run or have ended, and groups.
const OTHER_LINES_MAX: u64 = 20_000;

#[cfg(test)]
mod tests;
