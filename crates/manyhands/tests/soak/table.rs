//! The kinds of operations, and how often each was run and failed.

use crate::delays::random::Random;
use crate::world::World;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One kind of operation: panics when its result is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) step: fn(&mut Random, &World),
}

/// All of one area, such as channels.
pub(crate) type Area = &'static [Kind];

const AREAS: &[(&str, Area)] = &[
    ("loop", crate::loops::KINDS),
    ("loop", crate::loops::KINDS),
    ("fold", crate::folds::KINDS),
    ("sort", crate::sorts::KINDS),
    ("fork", crate::forks::KINDS),
    ("fork", crate::forks::KINDS),
    ("task", crate::tasks::KINDS),
    ("task group", crate::groups::KINDS),
    ("channel", crate::channels::KINDS),
    ("broadcast", crate::broadcasts::KINDS),
    ("timer", crate::timers::KINDS),
    ("cancellation", crate::cancellations::KINDS),
    ("async loop", crate::async_loops::KINDS),
    ("blocking", crate::blocking::KINDS),
    ("query", crate::queries::KINDS),
    ("query end", crate::terminals::KINDS),
    ("keyed query", crate::keyed::KINDS),
    ("stepped query", crate::steps::KINDS),
    ("runtime", crate::runtimes::KINDS),
];

/// What was run.
pub(crate) struct Table {
    areas: Vec<Vec<usize>>,
    rows: Vec<Row>,
}

struct Row {
    area: &'static str,
    kind: Kind,
    run: AtomicU64,
    faults: AtomicU64,
    micros: AtomicU64,
}

impl Table {
    /// Of the kinds whose names, with their areas', contain this.
    pub(crate) fn of_kinds_named(wanted: &str) -> Self {
        let mut table = Self {
            areas: Vec::new(),
            rows: Vec::new(),
        };
        for &(area, kinds) in AREAS {
            // An area that is listed twice is drawn twice as often.
            let mut drawn: Vec<usize> = (0..table.rows.len())
                .filter(|&index| table.rows[index].area == area)
                .collect();
            if drawn.is_empty() {
                for &kind in kinds {
                    if format!("{area}: {}", kind.name).contains(wanted) {
                        drawn.push(table.rows.len());
                        table.rows.push(Row {
                            area,
                            kind,
                            run: AtomicU64::new(0),
                            faults: AtomicU64::new(0),
                            micros: AtomicU64::new(0),
                        });
                    }
                }
            }
            if !drawn.is_empty() {
                table.areas.push(drawn);
            }
        }
        assert!(
            !table.rows.is_empty(),
            "no kind of operation is called {wanted}"
        );
        table
    }

    /// A kind, by its index.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let area = random.length(self.areas.len());
        let area = &self.areas[area];
        area[random.length(area.len())]
    }

    pub(crate) fn kind(&self, index: usize) -> Kind {
        self.rows[index].kind
    }

    /// The name of a kind, with its area.
    pub(crate) fn name(&self, index: usize) -> String {
        let row = &self.rows[index];
        format!("{}: {}", row.area, row.kind.name)
    }

    pub(crate) fn note_run(&self, index: usize, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.rows[index].run.fetch_add(1, Ordering::Relaxed);
        self.rows[index].micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn note_fault(&self, index: usize) {
        self.rows[index].faults.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn faults(&self) -> u64 {
        let rows = self.rows.iter();
        rows.map(|row| row.faults.load(Ordering::Relaxed)).sum()
    }
}

/// Lines of a name, the number run, the number of faults, and the time in milliseconds; `cargo xtask soak` reads them.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = [0; 3];
        for (index, row) in self.rows.iter().enumerate() {
            let counts = [&row.run, &row.faults, &row.micros];
            let counts = counts.map(|count| count.load(Ordering::Relaxed));
            (0..3).for_each(|column| all[column] += counts[column]);
            write_row(f, &self.name(index), counts)?;
        }
        write_row(f, "all", all)
    }
}

fn write_row(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    [run, faults, micros]: [u64; 3],
) -> fmt::Result {
    let millis = micros / 1_000;
    writeln!(f, "| {name:<64} | {run:>10} | {faults:>6} | {millis:>10} |")
}
