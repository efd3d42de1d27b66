//! The child's side: the data of one body and size, its checksum, and its windows.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::loops::Loops;
use crate::loops::body::{sha512, skewed};
use crate::loops::busy::Background;
use crate::loops::case::{Body, Case, State};
use crate::mix::mix;
use crate::window::{self, Parked};
use manyhands_lab::clock::Stopwatch;
use manyhands_lab::contest::{self, Request, Sample};

/// What stays between the windows of one body and size.
#[derive(Debug)]
pub(crate) struct Stage {
    body: Body,
    len: usize,
    x: Vec<f32>,
    y: Vec<f32>,
    values: Vec<u64>,
    checksum: u64,
    known_nanos: Option<f64>,
}

/// Answers one request, with the data at hand if it is of the same body and size.
pub(crate) fn answer<C: Loops>(
    contender: &mut C,
    stage: &mut Option<Stage>,
    request: &Request,
) -> Result<Sample, String> {
    let case = Case::parse(&request.case).ok_or_else(|| format!("no case '{}'", request.case))?;
    if !stage
        .as_ref()
        .is_some_and(|stage| (stage.body, stage.len) == (case.body, case.len))
    {
        // The old data goes first: ten processes hold some at the same time.
        *stage = None;
    }
    let stage = stage.get_or_insert_with(|| Stage::new(contender, case.body, case.len));
    let background = match case.state {
        State::Busy => Some(Background::start::<C::Background>()?),
        State::Hot | State::Parked => None,
    };
    let (before, start) = (contest::thread_cpu_time()?, Stopwatch::start());
    let timed = stage.measure(contender, case.state, request.window);
    let (worked, took) = (contest::thread_cpu_time()? - before, start.elapsed());
    let rate = background.map(Background::stop).transpose()?;
    let Timed { nanos, again } = timed?;
    let mut values = vec![nanos];
    values.extend(again);
    if let Some(rate) = rate {
        let share = worked.as_secs_f64() / took.as_secs_f64();
        values.extend([rate, nanos * share]);
    }
    Ok(Sample {
        checksum: stage.checksum,
        values,
    })
}

impl Stage {
    /// Makes the data and runs the checked twin of the body once.
    fn new<C: Loops>(contender: &mut C, body: Body, len: usize) -> Self {
        let mut stage = Self {
            body,
            len,
            x: Vec::new(),
            y: Vec::new(),
            values: Vec::new(),
            checksum: 0,
            known_nanos: None,
        };
        match body {
            Body::Saxpy => {
                // Small whole numbers: every product and sum is exact, in any order of evaluation.
                stage.x = (0_u8..100).cycle().take(len).map(f32::from).collect();
                stage.y = (0_u8..77).cycle().take(len).map(f32::from).collect();
            }
            Body::Sum => stage.values = (0..len as u64).map(|index| mix(index) >> 32).collect(),
            Body::Sha | Body::Skewed | Body::Atomic => {}
        }
        stage.checksum = stage.check(contender);
        stage
    }

    /// A number that is right only if every item was run exactly once.
    fn check<C: Loops>(&mut self, contender: &mut C) -> u64 {
        let total = AtomicU64::new(0);
        // Relaxed, here and in the atomic body: the loop's end publishes its items' effects.
        let add = |value: u64| total.fetch_add(value, Ordering::Relaxed);
        let (len, grain) = (self.len, self.body.grain());
        match self.body {
            Body::Sha => contender.for_range(len, grain, |index| {
                add(mix(index as u64) ^ sha512());
            }),
            Body::Skewed => contender.for_range(len, grain, |index| {
                add(mix(skewed(index, len)));
            }),
            Body::Atomic => contender.for_range(len, grain, |index| {
                add(mix(index as u64));
            }),
            Body::Saxpy => {
                contender.saxpy(3.0, &self.x, &mut self.y);
                contender.saxpy(2.0, &self.x, &mut self.y);
                for (index, value) in self.y.iter().enumerate() {
                    add(mix(index as u64) ^ u64::from(value.to_bits()));
                }
            }
            Body::Sum => {
                add(contender.sum(&self.values));
            }
        }
        total.into_inner()
    }

    /// One window; the error is a loop that lost items while it was timed.
    fn measure<C: Loops>(
        &mut self,
        contender: &mut C,
        state: State,
        length: Duration,
    ) -> Result<Timed, String> {
        let known = self.known_nanos;
        let (len, grain) = (self.len, self.body.grain());
        let timed = match self.body {
            Body::Sha => timed(state, length, known, || {
                contender.for_range(len, grain, |_| {
                    black_box(sha512());
                });
            }),
            Body::Skewed => timed(state, length, known, || {
                contender.for_range(len, grain, |index| {
                    skewed(index, len);
                });
            }),
            Body::Saxpy => timed(state, length, known, || {
                contender.saxpy(black_box(0.5), black_box(&self.x), black_box(&mut self.y));
            }),
            Body::Sum => timed(state, length, known, || {
                black_box(contender.sum(black_box(&self.values)));
            }),
            Body::Atomic => self.measure_atomic(contender, state, length)?,
        };
        self.known_nanos = Some(timed.nanos);
        Ok(timed)
    }

    /// The contended body also counts, so nothing can be lost unseen.
    fn measure_atomic<C: Loops>(
        &self,
        contender: &mut C,
        state: State,
        length: Duration,
    ) -> Result<Timed, String> {
        let total = Alone(AtomicU64::new(0));
        let mut calls = 0;
        let timed = timed(state, length, self.known_nanos, || {
            calls += 1;
            contender.for_range(self.len, self.body.grain(), |_| {
                total.0.fetch_add(1, Ordering::Relaxed);
            });
        });
        let (total, expected) = (total.0.into_inner(), calls * self.len as u64);
        if total == expected {
            Ok(timed)
        } else {
            Err(format!("{total} items ran where {expected} were asked for"))
        }
    }
}

/// A cache line (two, for the neighbour prefetched with it) of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Alone(AtomicU64);

/// Times the call as its state asks; the busy state is the background's doing.
fn timed(state: State, length: Duration, known: Option<f64>, call: impl FnMut()) -> Timed {
    match state {
        State::Hot | State::Busy => Timed {
            nanos: window::back_to_back(length, known, call),
            again: None,
        },
        State::Parked => {
            let Parked { nanos, again } = window::parked(length, call);
            Timed { nanos, again }
        }
    }
}

/// What a window says.
struct Timed {
    nanos: f64,
    /// In the parked state, of a call that follows such a one at once.
    again: Option<f64>,
}
