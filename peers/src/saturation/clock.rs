//! The sender: a thread outside the pool that hands over each task when it is due, of several kinds at once.
//!
//! It never leaves a task out: one that it comes to late is handed over at once, and its time counts from when it
//! was due.

use std::thread;
use std::time::{Duration, Instant};

use crate::latencies::Latencies;

/// Tasks of one kind.
pub(crate) struct Stream<'a> {
    tick: Duration,
    latencies: Latencies,
    handed_over: Latencies,
    send: &'a dyn Fn(Arrival),
}

/// One task, which is to say when it has been done.
#[derive(Debug)]
pub(crate) struct Arrival {
    latencies: Latencies,
    index: usize,
    due: Instant,
}

impl Arrival {
    /// Called once, by the task.
    pub(crate) fn note_done(self) {
        self.latencies.note(self.index, self.due);
    }
}

impl<'a> Stream<'a> {
    /// A task at every tick of this long.
    pub(crate) fn new(length: Duration, tick: Duration, send: &'a dyn Fn(Arrival)) -> Self {
        Self {
            tick,
            latencies: Latencies::of_clock(length, tick),
            handed_over: Latencies::of_clock(length, tick),
            send,
        }
    }

    /// How long each task waited, when all are done.
    pub(crate) fn wait(self) -> Waits {
        let all = self.latencies.wait();
        let before = self.handed_over.wait();
        let after = all.iter().zip(&before);
        Waits {
            after: after.map(|(all, before)| all - before).collect(),
            all,
        }
    }
}

/// Nanoseconds that each task waited.
#[derive(Debug)]
pub(crate) struct Waits {
    /// From when it was due.
    pub(crate) all: Vec<u64>,
    /// From when the sender handed it over: the rest is the system's, which was late to run the sender.
    pub(crate) after: Vec<u64>,
}

/// Sends the tasks of all streams, each when it is due.
pub(crate) fn send(streams: &[&Stream<'_>]) {
    let clocks = streams
        .iter()
        .map(|stream| (stream.tick, stream.latencies.count()));
    let dues = dues(clocks);
    let start = Instant::now();
    for Due {
        after,
        clock,
        index,
    } in dues
    {
        let due = start + after;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let stream = streams[clock];
        stream.handed_over.note(index, due);
        (stream.send)(Arrival {
            latencies: stream.latencies.clone(),
            index,
            due,
        });
    }
}

/// When a clock ticks.
#[derive(Debug, PartialEq)]
struct Due {
    after: Duration,
    clock: usize,
    index: usize,
}

/// The ticks of clocks that each tick so often, in their order; the first tick is after one interval.
fn dues(clocks: impl Iterator<Item = (Duration, usize)>) -> Vec<Due> {
    let ticks = |(clock, (tick, count)): (usize, (Duration, usize))| {
        (0..count).map(move |index| Due {
            after: tick.mul_f64((index + 1) as f64),
            clock,
            index,
        })
    };
    let mut dues: Vec<Due> = clocks.enumerate().flat_map(ticks).collect();
    dues.sort_by_key(|due| due.after);
    dues
}

#[cfg(test)]
mod tests {
    use super::dues;
    use std::time::Duration;

    #[test]
    fn clocks_tick_in_the_order_of_time() {
        let clocks = [(2, 3), (5, 1)].map(|(tick, count)| (Duration::from_millis(tick), count));
        let dues = dues(clocks.into_iter());
        let seen: Vec<_> = dues
            .iter()
            .map(|due| (due.after.as_millis(), due.clock, due.index))
            .collect();
        assert_eq!(seen, [(2, 0, 0), (4, 0, 1), (5, 1, 0), (6, 0, 2)]);
    }
}
