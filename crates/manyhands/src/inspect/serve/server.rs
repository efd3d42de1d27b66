//! Listening on a Unix socket, on threads of its own: it answers when the pool is stuck.
//!
//! A connection gets one line about the program and then, for each request, lines that end with one that says so. See
//! `docs/inspect-protocol.md`.
//!
//! Not here: the lines (the crate `manyhands-wire`), and where the socket is (`socket` of `manyhands-system`).

use crate::inspect::serve::changes::SentOfProgram;
use crate::inspect::serve::wire::{say, say_all, say_end};
use crate::inspect::serve::{poll_once, stacks};
use crate::inspect::take::{look_at_runtimes, tasks_that_wait_for_tasks};
use crate::recording::enabled::loops::last_reports::{self as loop_reports, KeptReport};
use crate::recording::enabled::waits::task_set;
use crate::recording::{moment, opening, table};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::socket::{self, Listener, Stream};
use crate::sync::{Mutex, clock, lock, thread, user};
use manyhands_analysis::{
    Groups, Refused, Ring, StarvationLooks, TaskNumber, deadlocks, report_line,
};
use manyhands_wire::{Hello, Line, PROTOCOL, Request};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Opens the recording, and answers `manyhands inspect` of the same user. Returns the path of the socket:
/// `manyhands/PID.sock` in `$XDG_RUNTIME_DIR`, else in the folder for temporary files `manyhands-UID/PID.sock`.
///
/// A second call does nothing more. The socket stays when the process ends; the next program that listens there removes
/// it.
///
/// # Cost
/// One thread, and one for each connection, of which there may be eight at a time.
///
/// # Errors
/// If the folder is not one of this user's that no other may enter, and those of the system.
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "inspect", unix))] {
/// let path = manyhands::diagnostics::serve()?;
/// assert!(path.exists());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn serve() -> io::Result<PathBuf> {
    let path = socket::default_path(std::process::id());
    let mut served = lock(&SERVED);
    if !served.contains(&path) {
        socket::prepare_folder(&path)?;
        // Left by an earlier process of this number, in a folder that is ours.
        let _ = std::fs::remove_file(&path);
        listen(&path)?;
        served.push(path.clone());
    }
    Ok(path)
}

/// As [`serve`], at another path, where there may be nothing yet. Only this user may open the socket; who may enter its
/// folder is up to the caller.
///
/// # Errors
/// Those of the system.
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "inspect", unix))] {
/// let folder = std::env::temp_dir().join(format!("example-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("inspect.sock");
/// manyhands::diagnostics::serve_at(&path)?;
/// assert!(path.exists());
/// # std::fs::remove_dir_all(&folder)?;
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn serve_at(path: impl AsRef<Path>) -> io::Result<()> {
    listen(path.as_ref())
}

/// Lets clients of the socket also act on the program: have a waiting task polled once, to see the stacks of the places where
/// it waits. Without this call, and without `MANYHANDS_INSPECT=control` in the environment, the socket only reads. What was
/// allowed stays allowed.
///
/// A task that is polled so is woken without a reason. Futures have to expect that; but one that counts its polls, or does
/// something else in each of them, does so once more.
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "inspect", unix))] {
/// manyhands::diagnostics::serve()?;
/// manyhands::diagnostics::allow_control(); // now `manyhands inspect PID --poll TASK` has an answer
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn allow_control() {
    // Relaxed: nothing else is published by it.
    IS_CONTROL_ALLOWED.store(true, Ordering::Relaxed);
}

fn listen(path: &Path) -> io::Result<()> {
    let listener = socket::bind(path)?;
    opening::open();
    start(move || accept(&listener))
}

fn start(run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let builder = thread::Builder::new().name("manyhands-inspect".to_owned());
    builder.stack_size(STACK_BYTES).spawn(run).map(drop)
}

#[expect(
    clippy::disallowed_methods,
    reason = "nothing rests on it but the load of a failing system"
)]
fn accept(listener: &Listener) {
    let places = Arc::new(());
    loop {
        match listener.accept() {
            Ok((stream, _)) => serve_connection(stream, Arc::clone(&places)),
            // Too many open files, perhaps, and no reason to spin.
            Err(_) => thread::sleep(AFTER_FAILURE),
        }
    }
}

/// Serves a connection on a thread of its own, or closes it. Each has a place, and who accepts them has one.
fn serve_connection(stream: Stream, place: Arc<()>) {
    if Arc::strong_count(&place) > 1 + CONNECTIONS_MAX {
        let _ = stream.set_write_timeout(Some(SILENCE_LIMIT));
        let _ = say(&mut &stream, &Refused::BUSY.line());
        return;
    }
    // Its place is free before the other side sees the end; and at once if there is no thread.
    let _started = start(move || {
        let _place = place;
        // Whether it ended well does not matter to anybody here.
        let _ = converse(&stream, |other| may_look(other, user::own_user()));
    });
}

/// Whether a process of this user may look at one of the other.
fn may_look(user: u32, own: u32) -> bool {
    user == own || user == ROOT
}

/// Greets a client that may look, and answers its requests.
fn converse(stream: &Stream, is_allowed: impl FnOnce(u32) -> bool) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE_LIMIT))?;
    stream.set_write_timeout(Some(SILENCE_LIMIT))?;
    let mut answers = BufWriter::new(stream);
    if !is_allowed(user::user_of(stream)?) {
        say(&mut answers, &Refused::FOREIGN.line())?;
        return answers.flush();
    }
    let hello = Hello {
        manyhands_inspect: PROTOCOL,
        process: std::process::id(),
        library: env!("CARGO_PKG_VERSION").to_owned(),
    };
    say(&mut answers, &Line::Hello(hello))?;
    answers.flush()?;
    answer_all(stream, answers)
}

/// Answers requests until the other side is done, or says nothing for too long.
fn answer_all(stream: &Stream, mut answers: BufWriter<impl Write>) -> io::Result<()> {
    let answered = answer_each(stream, &mut answers);
    // What the other side has not taken in its time is not offered again, as it would be where this is dropped.
    drop(answers.into_parts());
    answered
}

fn answer_each(stream: &Stream, answers: &mut impl Write) -> io::Result<()> {
    let mut requests = BufReader::new(stream);
    let mut memory = Memory::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = requests.by_ref().take(REQUEST_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            let is_oversized = line.len() as u64 == REQUEST_BYTES_MAX;
            let refused = match is_oversized {
                true => Refused::OVERSIZED,
                false => Refused::UNFINISHED,
            };
            say(answers, &refused.line())?;
            return answers.flush();
        }
        answer(answers, &line, &mut memory)?;
        answers.flush()?;
    }
}

/// What was sent and seen over a connection so far.
#[derive(Default)]
struct Memory {
    sent: SentOfProgram,
    looks: StarvationLooks,
}

fn answer(answers: &mut impl Write, request: &[u8], memory: &mut Memory) -> io::Result<()> {
    let Ok(request) = serde_json_wasm::from_slice::<Request>(request) else {
        return say(answers, &Refused::MALFORMED.line());
    };
    if let Some(task) = request.poll {
        return send_polled(answers, &task);
    }
    let tasks_max = request.tasks_max.unwrap_or(TASKS_DEFAULT);
    let tasks_max = usize::try_from(tasks_max).unwrap_or(usize::MAX);
    match request.get.as_deref() {
        // All that has changed since nothing was sent.
        Some("snapshot") => SentOfProgram::default().send(answers, "snapshot", tasks_max),
        Some("changes") => memory.sent.send(answers, "changes", tasks_max),
        Some("deadlocks") => send_deadlocks(answers, &mut memory.looks),
        Some("reports") => send_reports(answers),
        Some("groups") => send_groups(answers),
        Some("stacks") => stacks::send(answers),
        _ => say(answers, &Refused::UNKNOWN.line()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "between two looks; waits that both see are the same however long it is"
)]
fn send_deadlocks(answers: &mut impl Write, looks: &mut StarvationLooks) -> io::Result<()> {
    let begun = look_at_runtimes();
    let earlier = tasks_that_wait_for_tasks();
    thread::sleep(STABLE_FOR);
    let now = tasks_that_wait_for_tasks();
    let rings = deadlocks(&now, &earlier);
    say_all(answers, rings.iter().map(Ring::shown).map(Line::Deadlock))?;
    let starvations = looks.search(&begun, look_at_runtimes, thread::sleep);
    let starved = starvations.len();
    say_all(answers, starvations.into_iter().map(Line::Starvation))?;
    say_end(answers, "deadlocks", |end| {
        (end.deadlocks, end.starvations) = (Some(rings.len()), Some(starved));
    })
}

/// Sends the last report of each place that has called a loop.
fn send_reports(answers: &mut impl Write) -> io::Result<()> {
    let kept = loop_reports::read();
    let now = moment();
    let line =
        |kept: &KeptReport| report_line(&kept.report, kept.calls, now.micros_since(kept.ended));
    say_all(answers, kept.iter().map(line))?;
    say_end(answers, "reports", |end| end.reports = Some(kept.len()))
}

/// Sends a line for each group of tasks that are in the same place.
fn send_groups(answers: &mut impl Write) -> io::Result<()> {
    clock::calibrate();
    let mut groups = Groups::default();
    table::for_each(|number, _, record| groups.add(number, record, task_set::name_of));
    let (lines, left_out) = groups.lines(moment());
    let count = lines.len();
    say_all(answers, lines.into_iter())?;
    say_end(answers, "groups", |end| {
        (end.groups, end.groups_left_out) = (Some(count), Some(left_out));
    })
}

/// Has a task polled, if the program allows it, and sends what was seen of it.
fn send_polled(answers: &mut impl Write, task: &str) -> io::Result<()> {
    // Relaxed: nothing else is published by it.
    if !IS_CONTROL_ALLOWED.load(Ordering::Relaxed) {
        return say(answers, &Refused::NOT_ALLOWED.line());
    }
    let number = TaskNumber::from_text(task).ok_or(Refused::NO_SUCH_TASK);
    match number.and_then(poll_once::poll_once) {
        Ok(polled) => stacks::send_polled(answers, polled),
        Err(refused) => say(answers, &refused.line()),
    }
}

/// The default paths that this process listens at.
static SERVED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

static IS_CONTROL_ALLOWED: AtomicBool = AtomicBool::new(false);

const CONNECTIONS_MAX: usize = 8;
const REQUEST_BYTES_MAX: u64 = 4096;
/// Tasks in a snapshot unless more are asked for.
const TASKS_DEFAULT: u64 = 10_000;
/// How long a client may say nothing, or take nothing of an answer.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Between the two snapshots of a search for deadlocks.
const STABLE_FOR: Duration = Duration::from_millis(50);
const AFTER_FAILURE: Duration = Duration::from_millis(100);
const STACK_BYTES: usize = 256 << 10;
/// May look at everything anyway.
const ROOT: u32 = 0;

#[cfg(test)]
mod tests;
