//! What a page costs the program that it shows: the processor time of the program's process while a page gets 60 updates
//! a second, less that while nobody looks.
//!
//! The program is `waiting.rs`. The page is the server of `manyhands inspect` and somebody who reads its events as a browser
//! does. Both halves of a round, looked at and left alone, come one after the other, in an order that changes from round to
//! round, and the difference is taken in each. A round is short, because the speed of a processor changes within seconds; and
//! after some rounds the program is started anew, because one that runs has its tasks where they happen to be. Linux only: the
//! time is read in `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::failure::Failure;
use crate::step::inspect_scene::Scene;

/// Measures with each number of tasks, and prints a table.
pub(super) fn run(program: &Path, sockets: &Path) -> Result<(), Failure> {
    let mut table = String::from(
        "\n  tasks   updates   % of one core for the page   without it   µs for an update\n",
    );
    for tasks in TASKS {
        let count = tasks.to_string();
        let mut rounds = Vec::new();
        for _ in 0..STARTS {
            let scene = Scene::start(program, &[count.as_str()], sockets, PER_SECOND)?;
            for number in 0..ROUNDS / STARTS {
                let round = round(&scene, number % 2 == 0)?;
                println!(
                    "{count} tasks: {:.3} % with {:.1} updates/s, {:.3} % without",
                    round.looked_at.percent, round.looked_at.updates, round.alone.percent
                );
                rounds.push(round);
            }
        }
        table += &line(tasks, &rounds);
    }
    print!("{table}");
    Ok(())
}

/// A while with a page and one without.
#[derive(Debug, Clone, Copy)]
struct Round {
    looked_at: Window,
    alone: Window,
}

/// What was seen in a while.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// Processor time of the program, of one core.
    percent: f64,
    /// In a second.
    updates: f64,
}

fn round(scene: &Scene, is_looked_at_first: bool) -> Result<Round, Failure> {
    let looked_at = || {
        let page = Page::open(&scene.address)?;
        page.wait_for(UPDATES_BEFORE)?;
        let window = window(scene.process(), &page.updates);
        page.close()?;
        window
    };
    let alone = || window(scene.process(), &AtomicUsize::new(0));
    let (looked_at, alone) = if is_looked_at_first {
        let looked_at = looked_at()?;
        (looked_at, alone()?)
    } else {
        let alone = alone()?;
        (looked_at()?, alone)
    };
    Ok(Round { looked_at, alone })
}

fn window(process: u32, updates: &AtomicUsize) -> Result<Window, Failure> {
    for _ in 0..TRIES {
        if let Some(window) = try_window(process, updates)? {
            return Ok(window);
        }
    }
    Err(Failure::new(
        "threads of the program end again and again, with what they ran",
    ))
}

/// Nothing if a thread has ended in between, as workers do that have been without work for some seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the while for which processor time is counted; how long it was is measured"
)]
fn try_window(process: u32, updates: &AtomicUsize) -> Result<Option<Window>, Failure> {
    // Who looked before is still about to go. Relaxed: what is read below is a count.
    thread::sleep(BEFORE_WINDOW);
    let begun = Stopwatch::start();
    let (used_before, seen_before) = (used(process)?, updates.load(Ordering::Relaxed));
    thread::sleep(WINDOW);
    let (used_after, seen_after) = (used(process)?, updates.load(Ordering::Relaxed));
    let seconds = begun.elapsed().as_secs_f64();
    let nanos = passed(&used_before, &used_after);
    Ok(nanos.map(|nanos| Window {
        percent: to_float(nanos) / 1e9 / seconds * 100.0,
        updates: to_float((seen_after - seen_before) as u64) / seconds,
    }))
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn to_float(number: u64) -> f64 {
    number as f64
}

/// Nanoseconds that the threads of a process have run, by their numbers.
fn used(process: u32) -> Result<BTreeMap<String, u64>, Failure> {
    let folder = format!("/proc/{process}/task");
    let cannot = |error| Failure::new(format!("cannot read {folder}: {error}"));
    let mut threads = BTreeMap::new();
    for thread in fs::read_dir(&folder).map_err(cannot)? {
        let thread = thread.map_err(cannot)?;
        let text = fs::read_to_string(thread.path().join("schedstat")).map_err(cannot)?;
        let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
        let nanos = nanos.ok_or_else(|| Failure::new(format!("`{text}` says no time")))?;
        threads.insert(thread.file_name().to_string_lossy().into_owned(), nanos);
    }
    Ok(threads)
}

/// What all of them have run in between; nothing if one has ended.
fn passed(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Option<u64> {
    if before.keys().any(|thread| !after.contains_key(thread)) {
        return None;
    }
    let of = |(thread, now): (&String, &u64)| now - before.get(thread).unwrap_or(&0);
    Some(after.iter().map(of).sum())
}

/// Somebody who reads the events of a page.
struct Page {
    stream: TcpStream,
    updates: Arc<AtomicUsize>,
    reader: JoinHandle<()>,
}

impl Page {
    /// At an address as `manyhands inspect` prints it.
    fn open(address: &str) -> Result<Self, Failure> {
        let cannot = |error| Failure::new(format!("cannot open the page: {error}"));
        let parts = address.strip_prefix("http://");
        let Some((host, token)) = parts.and_then(|parts| parts.split_once("/#")) else {
            return Err(Failure::new(format!("`{address}` has no token")));
        };
        let mut stream = TcpStream::connect(host).map_err(cannot)?;
        stream.set_read_timeout(Some(LIMIT)).map_err(cannot)?;
        let request = format!(
            "GET /events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).map_err(cannot)?;
        let updates = Arc::new(AtomicUsize::new(0));
        let lines = BufReader::with_capacity(1 << 16, stream.try_clone().map_err(cannot)?);
        let counted = Arc::clone(&updates);
        let reader = thread::spawn(move || count(lines, &counted));
        Ok(Self {
            stream,
            updates,
            reader,
        })
    }

    /// Waits until there were this many updates.
    #[expect(clippy::disallowed_methods, reason = "looking again after a while")]
    fn wait_for(&self, updates: usize) -> Result<(), Failure> {
        let begun = Stopwatch::start();
        // Relaxed: a count.
        while self.updates.load(Ordering::Relaxed) < updates {
            if begun.elapsed() > LIMIT || self.reader.is_finished() {
                return Err(Failure::new("the page gets no updates"));
            }
            thread::sleep(BEFORE_WINDOW / 10);
        }
        Ok(())
    }

    fn close(self) -> Result<(), Failure> {
        // The reader comes to the end by it.
        let _ = self.stream.shutdown(Shutdown::Both);
        let ended = self.reader.join();
        ended.map_err(|_| Failure::new("who read the page has panicked"))
    }
}

/// Counts the events until there are no more.
fn count(mut lines: impl BufRead, updates: &AtomicUsize) {
    let mut line = Vec::new();
    while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
        if line.starts_with(b"data:") {
            // Relaxed: a count.
            updates.fetch_add(1, Ordering::Relaxed);
        }
        line.clear();
    }
}

/// A line of the table.
fn line(tasks: usize, rounds: &[Round]) -> String {
    let cost = |round: &Round| round.looked_at.percent - round.alone.percent;
    let micros = |round: &Round| 1e4 * cost(round) / round.looked_at.updates;
    let of = |what: &dyn Fn(&Round) -> f64| Spread::of(rounds.iter().map(what).collect());
    let (cost, micros) = (of(&cost), of(&micros));
    let updates = of(&|round| round.looked_at.updates).median;
    let alone = of(&|round| round.alone.percent).median;
    let Spread { low, median, high } = cost;
    format!(
        "{tasks:7} {updates:9.1}   {median:8.2} ({low:5.2} … {high:5.2})    {alone:10.2} {:12.0} ({:.0} … {:.0})\n",
        micros.median, micros.low, micros.high
    )
}

/// A median, and what it lies between with a certainty of 97 % if rounds do not depend on each other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    /// Of [`ROUNDS`] values.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = ROUNDS / 2;
        Self {
            low: values[LEFT_OUT],
            median: f64::midpoint(values[middle - 1], values[middle]),
            high: values[ROUNDS - 1 - LEFT_OUT],
        }
    }
}

/// Tasks that wait.
const TASKS: [usize; 3] = [20, 100, 1_000];
const ROUNDS: usize = 48;
/// At each end of the rounds, in the order of what they say. Of 48 fair coins at most 16 show heads with a probability of
/// 1.5 %: so often is the median below the seventeenth smallest.
const LEFT_OUT: usize = 16;
/// How often the program is started, for the same number of rounds each time.
const STARTS: usize = 4;
const PER_SECOND: u8 = 60;
/// As long as it takes from one search for deadlocks to the next.
const WINDOW: Duration = Duration::from_millis(500);
const BEFORE_WINDOW: Duration = Duration::from_millis(300);
/// Of a while in which no thread ends.
const TRIES: u32 = 5;
/// Until the page has begun.
const UPDATES_BEFORE: usize = 5;
const LIMIT: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::{LEFT_OUT, ROUNDS, Round, Spread, Window, count, line, passed};
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn updates_are_the_lines_with_data() {
        let updates = AtomicUsize::new(0);
        let stream = "HTTP/1.1 200 OK\r\n\r\n2c\r\ndata: {\"data:\":1}\n\n\r\n5\r\n:\n\n\r\n9\r\ndata: {}\n\n\r\n";
        count(stream.as_bytes(), &updates);
        assert_eq!(updates.into_inner(), 2);
    }

    #[test]
    fn the_time_of_threads_is_added_up_unless_one_has_ended() {
        let threads = |all: &[(&str, u64)]| -> BTreeMap<String, u64> {
            let all = all.iter().map(|(name, nanos)| ((*name).to_owned(), *nanos));
            all.collect()
        };
        let before = threads(&[("1", 10), ("2", 5)]);
        let after = threads(&[("1", 17), ("2", 5), ("3", 2)]);
        assert_eq!(passed(&before, &after), Some(9));
        assert_eq!(passed(&after, &before), None);
    }

    #[test]
    fn the_spread_leaves_out_as_many_rounds_at_each_end() {
        // Each number once, in another order.
        let values = (0_u32..).take(ROUNDS).map(|n| f64::from(n * 7 % 48));
        let expected = Spread {
            low: 16.0,
            median: 23.5,
            high: 31.0,
        };
        assert_eq!(Spread::of(values.collect()), expected);
    }

    /// Of how many fair coins, of [`ROUNDS`], show heads.
    fn probability_of_at_most(heads: usize) -> f64 {
        let mut ways = 1.0;
        let mut sum = 1.0;
        for n in 1..=heads {
            ways *= (ROUNDS - n + 1) as f64 / n as f64;
            sum += ways;
        }
        sum / 2.0_f64.powi(48)
    }

    #[test]
    fn the_median_is_within_the_spread_with_the_certainty_that_is_said() {
        let outside = 2.0 * probability_of_at_most(LEFT_OUT);
        assert!((0.025..0.03).contains(&outside), "{outside}");
    }

    #[test]
    fn a_line_says_what_an_update_costs() {
        let window = |percent, updates| Window { percent, updates };
        let round = Round {
            looked_at: window(7.0, 50.0),
            alone: window(4.0, 0.0),
        };
        let line = line(20, &[round; ROUNDS]);
        // 3 % of a second are 30 ms, for 50 updates.
        assert!(line.contains("3.00 ( 3.00 …  3.00)"), "{line}");
        assert!(line.trim_end().ends_with("600 (600 … 600)"), "{line}");
    }
}
