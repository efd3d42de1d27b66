//! How long a hundred calls of 10 to 50 ms take with the concurrency that an async loop finds, by the virtual clock.
//!
//! The table stands beside two bounds: what the longest call allows, and what a loop allows that begins with 32 calls and
//! knows nothing before the first of them ends. It is printed, not asserted; `async_concurrency` asserts:
//! `cargo test -p manyhands --test it hundred_calls::table -- --ignored --nocapture`.

use crate::support::random_below;
use manyhands::simulation::Simulation;
use manyhands::{parallel, time};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// When a call that is over is seen to be.
#[derive(Debug, Clone, Copy)]
enum Seen {
    AtOnce,
    /// By a timer: at the next whole millisecond.
    ByTimer,
}

/// How long the call of a number takes from a moment on, with how many in flight, in microseconds.
trait Server: Fn(u64, u64, u64) -> u64 + Clone + Send + Sync + 'static {}

impl<S: Fn(u64, u64, u64) -> u64 + Clone + Send + Sync + 'static> Server for S {}

/// 100 lengths, and the part of a millisecond in which the loop begins.
#[derive(Debug, Clone)]
struct Calls {
    micros: Vec<u64>,
    phase: u64,
    seen: Seen,
}

impl Calls {
    fn drawn(list: u64, seen: Seen) -> Self {
        let draw = |call| 10_000 + random_below(list * 1_000 + call, 40_001);
        Self {
            micros: (0..COUNT).map(draw).collect(),
            phase: random_below(list * 1_000 + COUNT, 1_000),
            seen,
        }
    }

    /// What a call takes that begins so long after the loop.
    fn taken(&self, call: usize, begin: u64) -> u64 {
        let end = self.phase + begin + self.micros[call];
        let seen = match self.seen {
            Seen::AtOnce => end,
            Seen::ByTimer => end.next_multiple_of(1_000),
        };
        seen - self.phase - begin
    }

    fn last_end(&self, calls: impl Iterator<Item = usize>, begin: u64) -> u64 {
        let ends = calls.map(|call| begin + self.taken(call, begin));
        ends.max().unwrap_or(0)
    }

    fn all_at_once(&self) -> u64 {
        self.last_end(0..self.micros.len(), 0)
    }

    /// The first 32 begin at once; when `count` of them have ended, all the others.
    fn when_ended(&self, count: usize) -> u64 {
        let mut ends: Vec<u64> = (0..FIRST).map(|call| self.taken(call, 0)).collect();
        ends.sort_unstable();
        // Each of those that end before lets one other begin.
        let early: Vec<u64> = (1..count).map(|n| ends[n - 1]).collect();
        let of_early = early.iter().zip(FIRST..);
        let of_early = of_early.map(|(&begin, call)| begin + self.taken(call, begin));
        let others = FIRST + early.len()..self.micros.len();
        let of_others = self.last_end(others, ends[count - 1]);
        of_early
            .chain([ends[FIRST - 1], of_others])
            .max()
            .unwrap_or(0)
    }

    fn by_the_loop(&self, list: u64) -> u64 {
        let calls = self.clone();
        let taken = move |call: u64, begin, _| calls.taken(usize::try_from(call).unwrap(), begin);
        run(list, taken).0
    }
}

/// 20 ms for 16 calls at once, which differ by a fifth; above that, no more gets done.
fn saturates(list: u64) -> impl Server {
    move |call, _begin, in_flight| {
        (80 + random_below(list * 1_000 + call, 41)) * 200 * in_flight.max(16) / 16
    }
}

/// An async loop over a hundred calls, without a setting: microseconds, and how many were in flight at most. A
/// simulated second stands for a millisecond, so that the ticks of the simulated timers do not matter.
fn run(seed: u64, server: impl Server) -> (u64, usize) {
    let highest = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&highest);
    let micros = Simulation::new(seed).run(async move {
        let in_flight = Arc::new(AtomicU64::new(0));
        let start = time::now();
        let since_start = move || u64::try_from((time::now() - start).as_millis()).unwrap();
        parallel::for_each_async(0..COUNT, move |call| {
            let (in_flight, noted) = (Arc::clone(&in_flight), Arc::clone(&noted));
            let server = server.clone();
            async move {
                let now = in_flight.fetch_add(1, Ordering::SeqCst) + 1;
                noted.fetch_max(usize::try_from(now).unwrap(), Ordering::SeqCst);
                let taken = server(call, since_start(), now);
                time::sleep(Duration::from_millis(taken)).await;
                in_flight.fetch_sub(1, Ordering::SeqCst);
            }
        })
        .await;
        since_start()
    });
    (micros.unwrap(), highest.load(Ordering::SeqCst))
}

/// The median with an interval of 95 %, and what nine in ten are within.
struct Spread(Vec<u64>);

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let half = sorted.len() / 2;
        // A median's rank is binomial: two standard deviations of it to either side.
        let aside = sorted.len().isqrt();
        let at = |rank: usize| sorted[rank] as f64 / 1_000.0;
        let (low, high) = (at(half - aside), at(half + aside));
        let most = at(sorted.len() * 9 / 10);
        write!(f, "{:.1} ({low:.1} … {high:.1}) | {most:.1}", at(half))
    }
}

#[test]
#[ignore = "a table for a person to read"]
#[expect(clippy::print_stdout, reason = "it is printed")]
fn table() {
    for seen in [Seen::AtOnce, Seen::ByTimer] {
        let lists: Vec<Calls> = (0..LISTS).map(|list| Calls::drawn(list, seen)).collect();
        let row = |title: &str, taken: &dyn Fn(u64, &Calls) -> u64| {
            let all = (0..).zip(&lists).map(|(list, calls)| taken(list, calls));
            println!("| {title} | {} |", Spread(all.collect()));
        };
        println!("ends seen {seen:?}: ms, median of {LISTS} lists, and nine in ten within");
        row("all at once", &|_, calls| calls.all_at_once());
        row("32, the others when the first ends", &|_, calls| {
            calls.when_ended(1)
        });
        row("32, the others when the second ends", &|_, calls| {
            calls.when_ended(2)
        });
        row("the loop", &|list, calls| calls.by_the_loop(list));
    }
    let leaps = (0..LISTS).filter(|list| run(*list, saturates(*list)).1 > FIRST);
    let percent = leaps.count() as f64 * 100.0 / LISTS as f64;
    println!("{percent:.0} of 100 loops at a server that takes 16 give it more than 32");
}

/// The calls of a loop.
const COUNT: u64 = 100;
/// How many an async loop begins with.
const FIRST: usize = 32;
/// How many loops there are.
const LISTS: u64 = 2_000;
