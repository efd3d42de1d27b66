//! What a page costs the program that it shows: the processor time of the program's process while a page gets 60 updates
//! a second, less that while nobody looks.
//!
//! The program is `waiting.rs`. The page is the server of `manyhands inspect`, whose events curl reads. Both halves of a round,
//! looked at and left alone, come one after the other, in an order that changes from round to round, and the difference is
//! taken in each. A round is short, because the speed of a processor changes within seconds; and after some rounds the program
//! is started anew, because one that runs has its tasks where they happen to be. Linux only: the time is read in `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::clock::Stopwatch;
use crate::command::Invocation;
use crate::step::inspect_scene::Scene;
use crate::step::spread::Spread;

/// Measures with each number of tasks, and prints a table.
pub(super) fn run(program: &Path, sockets: &Path) -> Result<()> {
    let mut table = String::from(
        "\n  tasks   updates   % of one core for the page   without it   µs for an update\n",
    );
    for tasks in TASKS {
        let mut rounds = Vec::new();
        for _ in 0..STARTS {
            let scene = Scene::start(program, &[&tasks.to_string()], sockets, PER_SECOND)?;
            for number in 0..ROUNDS / STARTS {
                rounds.push(round(&scene, number % 2 == 0)?);
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

fn round(scene: &Scene, is_looked_at_first: bool) -> Result<Round> {
    let (host, token) = scene.host_and_token()?;
    let page = || {
        Invocation::new("curl --silent --show-error --no-buffer --max-time")
            .args(&[
                SECONDS,
                "--header",
                &format!("Authorization: Bearer {token}"),
            ])
            .arg(format!("http://{host}/events"))
            .accept(CURL_TIMED_OUT)
    };
    let looked_at = || window(scene.process(), page);
    let alone = || window(scene.process(), || Invocation::new("sleep").arg(SECONDS));
    let before = (!is_looked_at_first).then(alone).transpose()?;
    let looked_at = looked_at()?;
    let alone = before.map_or_else(alone, Ok)?;
    ensure!(looked_at.updates > 0.0, "the page gets no updates");
    Ok(Round { looked_at, alone })
}

/// What the process does while this command runs, which has to go without the ends of its threads: workers end that have
/// been without work for some seconds.
fn window(process: u32, meanwhile: impl Fn() -> Invocation) -> Result<Window> {
    for _ in 0..TRIES {
        // Who looked before is still about to go.
        Invocation::new("sleep").arg(SECONDS_BEFORE).stdout()?;
        let begun = Stopwatch::start();
        let used_before = used(process)?;
        let text = meanwhile().stdout()?;
        let used_after = used(process)?;
        let seconds = begun.elapsed().as_secs_f64();
        if let Some(nanos) = passed(&used_before, &used_after) {
            return Ok(Window {
                percent: to_float(nanos) / 1e9 / seconds * 100.0,
                updates: to_float(updates(&text)) / seconds,
            });
        }
    }
    bail!("threads of the program end again and again, with what they ran")
}

/// The events of a page.
fn updates(stream: &str) -> u64 {
    stream
        .lines()
        .filter(|line| line.starts_with("data:"))
        .count() as u64
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn to_float(number: u64) -> f64 {
    number as f64
}

/// Nanoseconds that the threads of a process have run, by their numbers.
fn used(process: u32) -> Result<BTreeMap<String, u64>> {
    let folder = format!("/proc/{process}/task");
    let cannot = || format!("cannot read {folder}");
    let mut threads = BTreeMap::new();
    for thread in fs::read_dir(&folder).with_context(cannot)? {
        let thread = thread.with_context(cannot)?;
        let text = fs::read_to_string(thread.path().join("schedstat")).with_context(cannot)?;
        let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
        let nanos = nanos.with_context(|| format!("`{text}` says no time"))?;
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

/// Tasks that wait.
const TASKS: [usize; 3] = [20, 100, 1_000];
const ROUNDS: usize = 48;
/// How often the program is started, for the same number of rounds each time.
const STARTS: usize = 4;
const PER_SECOND: u8 = 60;
/// Several times as long as it takes from one search for deadlocks to the next, and until the page has begun.
const SECONDS: &str = "2";
const SECONDS_BEFORE: &str = "0.3";
/// Of a while in which no thread ends.
const TRIES: u32 = 5;
const CURL_TIMED_OUT: i32 = 28;

#[cfg(test)]
mod tests {
    use super::{ROUNDS, Round, Window, line, passed, updates};
    use std::collections::BTreeMap;

    #[test]
    fn updates_are_the_lines_with_data() {
        assert_eq!(updates("data: {\"data:\":1}\n\n:\n\ndata: {}\n\n"), 2);
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
