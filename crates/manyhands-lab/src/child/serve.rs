//! The child's main loop: one thread reads requests, the thread that was asked to serve answers them.
//!
//! # Threads
//! The reader sleeps in its read while something is measured. When the input ends the parent has gone or needs this process no
//! more: the reader ends the process at once, whatever an arm is doing.

use super::{
    Bench,
    copies::Copies,
    protocol::{Reply, Request, Start},
    sequence::{self, Received},
};
use crate::{
    Experiment, LabError,
    clock::{ClockCard, Stopwatch},
    experiment::Workload,
    machine::pin_to,
    meter::{ItemRecord, PeakMemory, THREAD_STEP, ThreadSampler},
    record::PeakReading,
    system,
};
use manyhands::Runtime;
use std::{
    any::Any,
    io, panic, process,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
    time::Duration,
};

/// Answers requests until the parent ends them; then the process ends.
///
/// # Errors
/// [`LabError::Stream`] if the parent cannot be heard or answered.
pub fn serve(experiments: &[Experiment]) -> Result<(), LabError> {
    let requests = read_requests().map_err(LabError::Stream)?;
    let Ok(Request::Start(start)) = requests.recv() else {
        return answer(&failed("the first request must be to start"));
    };
    let runtime = match prepare(&start) {
        Ok(runtime) => runtime,
        Err(message) => return answer(&failed(message)),
    };
    // The arms find this pool wherever they ask for one.
    let _entered = runtime.enter();
    let Some(case) = find(experiments, &start) else {
        let unknown = format!("no case '{}' in '{}'", start.case, start.experiment);
        return answer(&failed(unknown));
    };
    let clock = ClockCard::here();
    answer(&Reply::Started(clock))?;
    let mut session = Session {
        case,
        start: &start,
        pool: &runtime,
        clock,
        bench: None,
    };
    for request in requests {
        answer(&session.answer_to(request))?;
    }
    Ok(())
}

/// Starts the thread that listens to the parent.
fn read_requests() -> io::Result<Receiver<Request>> {
    let (sender, requests) = mpsc::channel();
    let listen = move || {
        let mut input = io::stdin().lock();
        while let Ok(Received::Message(request)) = sequence::read(&mut input, &mut io::sink()) {
            if sender.send(request).is_err() {
                break;
            }
        }
        end();
    };
    thread::Builder::new()
        .name("lab requests".to_owned())
        .spawn(listen)?;
    Ok(requests)
}

#[expect(
    clippy::exit,
    reason = "without a parent nobody wants this process, and an arm may run for hours"
)]
fn end() -> ! {
    process::exit(0)
}

fn answer(reply: &Reply) -> Result<(), LabError> {
    sequence::write(&mut io::stdout().lock(), reply).map_err(LabError::Stream)
}

/// The message becomes one line.
fn failed(message: impl AsRef<str>) -> Reply {
    let lines: Vec<&str> = message.as_ref().lines().map(str::trim).collect();
    Reply::Failed {
        message: lines.join("; "),
    }
}

fn find<'case>(
    experiments: &'case [Experiment],
    start: &Start,
) -> Option<&'case (dyn Workload + Send + Sync)> {
    let mut all = experiments.iter();
    let experiment = all.find(|experiment| experiment.id() == start.experiment)?;
    experiment.find(&start.case)
}

/// Pins the process, then makes the pool.
fn prepare(start: &Start) -> Result<Arc<Runtime>, String> {
    if let Some(cpus) = start.cpus {
        pin_to(cpus).map_err(|error| format!("cannot pin to {cpus} CPUs: {error}"))?;
    }
    super::pool(start.workers).map_err(|error| error.to_string())
}

/// The case and what is open of it.
struct Session<'case> {
    case: &'case (dyn Workload + Send + Sync),
    start: &'case Start,
    pool: &'case Arc<Runtime>,
    clock: ClockCard,
    bench: Option<Bench<'case>>,
}

impl<'case> Session<'case> {
    fn answer_to(&mut self, request: Request) -> Reply {
        // What an arm's panic may leave behind is not used: the parent ends a process that failed.
        let attempt = panic::AssertUnwindSafe(|| self.carry_out(request));
        match panic::catch_unwind(attempt) {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => failed(error.to_string()),
            Err(payload) => failed(format!("panicked: {}", text_of(payload.as_ref()))),
        }
    }

    fn carry_out(&mut self, request: Request) -> Result<Reply, LabError> {
        match request {
            Request::Open { n, launch } => {
                // The results of the size before go first: both at once may not fit.
                self.bench = None;
                let mut bench = Bench::new(self.case, n, self.start)?
                    .with_pool(Arc::clone(self.pool))
                    .with_copies(self.copies(n));
                bench.pilot(launch, self.start.batch, self.clock)?;
                self.bench = Some(bench);
                Ok(Reply::Opened)
            }
            Request::Block { order } => {
                let Some(bench) = &mut self.bench else {
                    return Ok(failed("asked for a block before a size was opened"));
                };
                bench.block(&order).map(Reply::Block)
            }
            Request::First { n, arm } => self.first(n, arm),
            Request::Peak { n, arm } => self.peak(n, arm),
            Request::Repeat { n, arm, at_least } => self.repeat(n, arm, at_least),
            Request::Start(_) => Ok(failed("started twice")),
        }
    }

    fn copies(&self, n: usize) -> Option<Copies<'case>> {
        let all = self.start.copies.filter(|all| *all > 1)?;
        Some(Copies::new(self.case, n, all, Arc::clone(self.pool)))
    }

    fn first(&self, n: usize, arm: usize) -> Result<Reply, LabError> {
        let mut bench = Bench::new(self.case, n, self.start)?.with_pool(Arc::clone(self.pool));
        bench.first(arm).map(Reply::Block)
    }

    fn peak(&self, n: usize, arm: usize) -> Result<Reply, LabError> {
        let mut bench = Bench::new(self.case, n, self.start)?;
        bench.reset();
        let room = ItemRecord::with_room(n);
        let threads = ThreadSampler::start(THREAD_STEP);
        let memory = PeakMemory::start();
        let items = room.begin();
        let ended_before = system::ended_faults();
        bench.call(arm);
        // What a process takes that the arm starts is not in this one's peak.
        let is_own = system::ended_faults() == ended_before;
        let bytes = memory.filter(|_| is_own).and_then(|own| own.bytes());
        let threads = threads.map(ThreadSampler::stop);
        let peak = bytes.map(|peak_bytes| PeakReading {
            peak_bytes,
            threads,
            ends: items.and_then(ItemRecord::ends),
        });
        Ok(Reply::Peak { peak })
    }

    fn repeat(&self, n: usize, arm: usize, at_least: Duration) -> Result<Reply, LabError> {
        let mut bench = Bench::new(self.case, n, self.start)?;
        bench.reset();
        let watch = Stopwatch::start();
        while watch.elapsed() < at_least {
            bench.call(arm);
        }
        Ok(Reply::Repeated)
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned)
        .unwrap_or("with something that is no text")
}
