//! A worker as a pure function: messages go in, messages and chunks to run come out. What runs them is elsewhere: a
//! process ([`process`]), or a loopback that draws from a seed when they are done.
//!
//! A worker runs one chunk at a time, in the order in which they came, each on all of its pool. It keeps the captured values
//! of a few calls, and asks for those that it does not have, so nothing here relies on messages that arrive or are in order.
//!
//! No code of captured values runs here, because it may take its time: who runs chunks reads them, and drops them.

#[cfg(feature = "nats")]
pub(crate) mod nats;
#[cfg(unix)]
pub(crate) mod process;
#[cfg(any(unix, feature = "nats"))]
pub(crate) mod serve;

use crate::{
    broadcast::{One, Received},
    function::Captures,
    run::Stop,
    wire::{Attempt, FromWorker, Hello, JobId, ToWorker},
};
#[cfg(any(unix, feature = "nats"))]
use std::sync::atomic::{AtomicBool, Ordering};
use std::{any::Any, collections::VecDeque, ops::Range, sync::Arc, time::Duration};

/// Whether this process is a worker that has begun, and not a driver.
#[cfg(any(unix, feature = "nats"))]
pub(crate) fn is_working() -> bool {
    // Relaxed: whoever asks in a body runs after it was set.
    IS_WORKING.load(Ordering::Relaxed)
}

#[cfg(any(unix, feature = "nats"))]
fn begins_to_work() {
    // Relaxed: as above.
    IS_WORKING.store(true, Ordering::Relaxed);
}

#[cfg(any(unix, feature = "nats"))]
static IS_WORKING: AtomicBool = AtomicBool::new(false);

/// What is to be done.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Say(FromWorker),
    /// Run this, and report it by [`Worker::ran`].
    Run(Chunk),
    /// What runs is of no use any more; it is reported all the same.
    Stop,
    /// Drop this where chunks run.
    Drop(Arc<dyn Any + Send + Sync>),
    /// The driver has no work for this program.
    Leave {
        reason: String,
    },
}

/// A chunk and what runs it.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub(crate) attempt: Attempt,
    pub(crate) range: Range<u64>,
    pub(crate) function: Arc<Captures>,
}

/// What a worker knows.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    hello: Hello,
    is_welcome: bool,
    running: Option<Attempt>,
    waiting: VecDeque<(Attempt, Range<u64>)>,
    /// Functions with what they captured, the latest last.
    captures: VecDeque<(JobId, Arc<Captures>)>,
    /// Broadcast values.
    values: Received,
}

impl Worker {
    pub(crate) fn new(hello: Hello) -> Self {
        Self {
            hello,
            is_welcome: false,
            running: None,
            waiting: VecDeque::new(),
            captures: VecDeque::new(),
            values: Received::new(),
        }
    }

    /// What it says from time to time: who it is, until it was answered; then what it holds and what it lacks.
    pub(crate) fn beat(&self) -> Vec<FromWorker> {
        if !self.is_welcome {
            return vec![FromWorker::Hello(self.hello.clone())];
        }
        let waiting = self.waiting.iter().map(|(attempt, _)| *attempt);
        let held = self.running.into_iter().chain(waiting).collect();
        let lacking = self.waiting.iter().map(|(attempt, _)| attempt.job);
        let mut lacking: Vec<JobId> = lacking.filter(|job| !self.has(*job)).collect();
        lacking.dedup();
        let asking = lacking
            .into_iter()
            .map(|job| FromWorker::NeedsCaptures { job });
        std::iter::once(FromWorker::Beat { held })
            .chain(asking)
            .collect()
    }

    pub(crate) fn hear(&mut self, message: ToWorker) -> Vec<Step> {
        let mut steps = Vec::new();
        match message {
            ToWorker::Welcome => self.is_welcome = true,
            ToWorker::Refused { reason } => steps.push(Step::Leave { reason }),
            ToWorker::Captures {
                job,
                function,
                bytes,
                values,
            } => {
                let there = |id| Some((id, Arc::clone(self.values.get(&id)?)));
                let values: Option<Received> = values.into_iter().map(there).collect();
                // Without all values it is asked for once more, with them.
                if let Some(values) = values
                    && !self.has(job)
                {
                    let captures = Captures::new(function, bytes, values);
                    self.captures.push_back((job, captures));
                }
                self.make_room(&mut steps);
            }
            ToWorker::Value { id, bytes } => {
                self.values.entry(id).or_insert_with(|| One::new(bytes));
            }
            ToWorker::Drop { id } => {
                let dropped = self.values.remove(&id);
                steps.extend(dropped.map(|value| Step::Drop(value)));
            }
            ToWorker::Run { attempt, range } => {
                let is_held = self.running == Some(attempt);
                let is_new = |waiting: &VecDeque<(Attempt, _)>| {
                    waiting.len() < WAITING_MAX && waiting.iter().all(|(held, _)| *held != attempt)
                };
                if !is_held && is_new(&self.waiting) {
                    if !self.has(attempt.job) {
                        let job = attempt.job;
                        steps.push(Step::Say(FromWorker::NeedsCaptures { job }));
                    }
                    self.waiting.push_back((attempt, range));
                }
            }
            ToWorker::Forget { job } => {
                self.waiting.retain(|(attempt, _)| attempt.job != job);
                let at = self.captures.iter().position(|(of, _)| *of == job);
                self.drop_captures(at, &mut steps);
                if self.running.is_some_and(|attempt| attempt.job == job) {
                    steps.push(Step::Stop);
                }
            }
        }
        self.begin(&mut steps);
        steps
    }

    /// What was run has ended like this.
    pub(crate) fn ran(
        &mut self,
        attempt: Attempt,
        outcome: Result<Vec<u8>, Stop>,
        took: Duration,
    ) -> Vec<Step> {
        self.running = None;
        let took_nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mut steps = Vec::new();
        match outcome {
            Ok(bytes) => steps.push(Step::Say(FromWorker::Done {
                attempt,
                took_nanos,
                bytes,
            })),
            Err(Stop::Failed(failure)) => {
                steps.push(Step::Say(FromWorker::Failed { attempt, failure }));
            }
            Err(Stop::Cancelled) => {}
        }
        self.begin(&mut steps);
        steps
    }

    /// Begins the first chunk whose captured values are there.
    fn begin(&mut self, steps: &mut Vec<Step>) {
        if self.running.is_some() {
            return;
        }
        let ready = |(attempt, _): &(Attempt, _)| self.has(attempt.job);
        let at = self.waiting.iter().position(ready);
        let next = at.and_then(|at| self.waiting.remove(at));
        if let Some((attempt, range)) = next
            && let Some(function) = self.captured(attempt.job).cloned()
        {
            self.running = Some(attempt);
            steps.push(Step::Run(Chunk {
                attempt,
                range,
                function,
            }));
        }
    }

    fn has(&self, job: JobId) -> bool {
        self.captured(job).is_some()
    }

    fn captured(&self, job: JobId) -> Option<&Arc<Captures>> {
        let found = self.captures.iter().find(|(of, _)| *of == job);
        found.map(|(_, captures)| captures)
    }

    /// Drops the oldest captured values beyond the limit that no chunk here waits for.
    fn make_room(&mut self, steps: &mut Vec<Step>) {
        while self.captures.len() > CAPTURES_MAX {
            let is_idle =
                |(job, _): &(JobId, _)| self.waiting.iter().all(|(attempt, _)| attempt.job != *job);
            let at = self.captures.iter().position(is_idle);
            if at.is_none() {
                return;
            }
            self.drop_captures(at, steps);
        }
    }

    fn drop_captures(&mut self, at: Option<usize>, steps: &mut Vec<Step>) {
        let dropped = at.and_then(|at| self.captures.remove(at));
        steps.extend(dropped.map(|(_, captures)| Step::Drop(captures)));
    }
}

/// Calls whose captured values are kept, where the driver's message that they have ended did not arrive.
const CAPTURES_MAX: usize = 16;

/// Chunks that wait, of one driver. It hands out two, and others anew that it takes for lost; what is more is as good as lost.
const WAITING_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        remote,
        wire::{self, Failure},
    };
    use manyhands::cancel::Token;
    use serde::{Deserialize, Serialize};

    const HELLO: fn() -> Hello = || Hello {
        protocol: wire::PROTOCOL,
        build: String::new(),
        host: String::new(),
        replaces: None,
    };

    fn attempt(job: u64, chunk: u32) -> Attempt {
        Attempt {
            job: JobId(job),
            chunk,
            number: 1,
        }
    }

    fn captures(job: u64) -> ToWorker {
        let function = remote!([] |i| -> u64 { i });
        ToWorker::Captures {
            job: JobId(job),
            function: function.into_parts().0,
            bytes: wire::Bytes::default(),
            values: Vec::new(),
        }
    }

    fn run(job: u64, chunk: u32) -> ToWorker {
        ToWorker::Run {
            attempt: attempt(job, chunk),
            range: 0..2,
        }
    }

    fn run_one(chunk: &Chunk) -> Result<Vec<u8>, Stop> {
        let function = chunk.function.prepared().map_err(Stop::Failed)?;
        function.run(chunk.range.clone(), &Token::never())
    }

    /// The chunks that are begun, each run at once.
    fn run_all(worker: &mut Worker, mut steps: Vec<Step>) -> Vec<Attempt> {
        let mut ran = Vec::new();
        while let Some(step) = steps.pop() {
            if let Step::Run(chunk) = step {
                ran.push(chunk.attempt);
                let outcome = run_one(&chunk);
                steps.extend(worker.ran(chunk.attempt, outcome, Duration::ZERO));
            }
        }
        ran
    }

    #[test]
    fn a_chunk_waits_for_what_its_function_captured() {
        let mut worker = Worker::new(HELLO());
        let steps = worker.hear(run(1, 0));
        let asks = |step: &Step| matches!(step, Step::Say(FromWorker::NeedsCaptures { job }) if *job == JobId(1));
        assert!(steps.len() == 1 && asks(&steps[0]), "{steps:?}");
        let steps = worker.hear(captures(1));
        assert_eq!(run_all(&mut worker, steps), [attempt(1, 0)]);
    }

    #[test]
    fn a_message_that_comes_twice_is_run_once_and_chunks_run_in_order() {
        let mut worker = Worker::new(HELLO());
        let mut steps = worker.hear(captures(1));
        steps.extend(worker.hear(run(1, 0)));
        for chunk in [0, 1, 1, 0] {
            assert!(
                worker.hear(run(1, chunk)).is_empty(),
                "one runs, others wait"
            );
        }
        assert_eq!(run_all(&mut worker, steps), [attempt(1, 0), attempt(1, 1)]);
    }

    #[test]
    fn a_forgotten_call_is_stopped_and_the_next_one_begins() {
        let mut worker = Worker::new(HELLO());
        worker.hear(captures(1));
        worker.hear(captures(2));
        worker.hear(run(1, 0));
        worker.hear(run(1, 1));
        worker.hear(run(2, 0));
        let steps = worker.hear(ToWorker::Forget { job: JobId(1) });
        let ends = matches!(steps[..], [Step::Drop(_), Step::Stop]);
        assert!(ends, "{steps:?}");
        let steps = worker.ran(attempt(1, 0), Err(Stop::Cancelled), Duration::ZERO);
        assert_eq!(run_all(&mut worker, steps), [attempt(2, 0)]);
    }

    #[test]
    fn an_unknown_function_is_said_for_each_chunk() {
        let mut worker = Worker::new(HELLO());
        worker.hear(ToWorker::Captures {
            job: JobId(1),
            function: "nowhere:1:1".to_owned(),
            bytes: wire::Bytes::default(),
            values: Vec::new(),
        });
        for chunk in 0..2 {
            let steps = worker.hear(run(1, chunk));
            let [Step::Run(chunk)] = &steps[..] else {
                panic!("{steps:?}");
            };
            let outcome = run_one(chunk);
            let said = worker.ran(chunk.attempt, outcome, Duration::ZERO);
            let [Step::Say(FromWorker::Failed { failure, .. })] = &said[..] else {
                panic!("{said:?}");
            };
            let id = "nowhere:1:1".to_owned();
            assert_eq!(*failure, Failure::UnknownFunction { id });
        }
    }

    #[test]
    fn a_worker_introduces_itself_until_it_is_answered() {
        let mut worker = Worker::new(HELLO());
        assert_eq!(worker.beat(), [FromWorker::Hello(HELLO())]);
        worker.hear(ToWorker::Welcome);
        worker.hear(run(3, 0));
        let job = JobId(3);
        let held = vec![attempt(3, 0)];
        let beats = [FromWorker::Beat { held }, FromWorker::NeedsCaptures { job }];
        assert_eq!(worker.beat(), beats);
    }

    #[test]
    fn captures_of_calls_whose_end_was_not_heard_do_not_pile_up() {
        let mut worker = Worker::new(HELLO());
        for job in 0..1_000 {
            worker.hear(captures(job));
        }
        assert_eq!(worker.captures.len(), CAPTURES_MAX);
        assert!(worker.has(JobId(999)));
    }

    #[test]
    fn of_chunks_without_end_only_some_wait_and_the_others_are_lost() {
        let mut worker = Worker::new(HELLO());
        worker.hear(ToWorker::Welcome);
        for chunk in 0..10_000 {
            worker.hear(run(1, chunk));
        }
        let FromWorker::Beat { held } = worker.beat().remove(0) else {
            panic!("no beat");
        };
        assert_eq!(held.len(), WAITING_MAX);
        let steps = worker.hear(captures(1));
        assert_eq!(run_all(&mut worker, steps).len(), WAITING_MAX);
        let steps = worker.hear(run(1, 10_000));
        assert_eq!(run_all(&mut worker, steps), [attempt(1, 10_000)]);
    }

    /// Cannot be dropped where it was read.
    #[derive(Serialize, Deserialize)]
    struct Sticky(u8);

    impl Drop for Sticky {
        fn drop(&mut self) {
            assert!(self.0 == 0, "it stays");
        }
    }

    #[test]
    fn captured_values_that_panic_when_they_are_dropped_do_not_end_the_worker() {
        let sticky = |job| {
            let value = Sticky(0);
            let function = remote!([value: Sticky] |_| -> u8 { value.0 });
            ToWorker::Captures {
                job: JobId(job),
                function: function.into_parts().0,
                bytes: vec![1].into(),
                values: Vec::new(),
            }
        };
        let mut worker = Worker::new(HELLO());
        for job in 0..=CAPTURES_MAX as u64 {
            worker.hear(sticky(job));
        }
        assert_eq!(worker.captures.len(), CAPTURES_MAX, "one was forgotten");
        let job = JobId(1);
        worker.hear(ToWorker::Forget { job });
        assert!(!worker.has(job));
        drop(worker);
    }
}
