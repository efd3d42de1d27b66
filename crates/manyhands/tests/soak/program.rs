//! One program: a pool, delays, and callers that run one random operation after the other.

use crate::delays::arrivals::Arrivals;
use crate::delays::hogs::Hogs;
use crate::delays::processors::OneProcessor;
use crate::delays::random::Random;
use crate::delays::stalls::{Stalls, Strength};
use crate::table::Table;
use crate::watchdog::{Caller, Watchdog};
use crate::world::{Planned, World};
use manyhands::{Runtime, task};
use std::any::Any;
use std::env;
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// All that its seed decides.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    seed: u64,
    workers: usize,
    threads_max: usize,
    keep_alive: Duration,
    hogs: usize,
    stalls: Option<Strength>,
    is_on_one_processor: bool,
    arrivals: u64,
    callers: Vec<From>,
    steps: u64,
}

/// The kind of thread that a caller uses.
#[derive(Debug, Clone, Copy)]
enum From {
    /// An external thread, for which the runtime is the current one.
    Entered,
    /// An external thread that is installed.
    Installed,
    /// A task.
    Task,
    /// The other pool.
    OtherPool,
}

impl Program {
    pub(crate) fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let workers = random.pick(&[1, 1, 2, 2, 2, 3, 4, 8, 64]);
        // Waiting takes threads: with no more than workers some programs would stall, correctly.
        let threads_max = workers + random.pick(&[40, 256]);
        let callers = 1 + random.below(3);
        let from = [
            From::Entered,
            From::Entered,
            From::Installed,
            From::Task,
            From::OtherPool,
        ];
        Self {
            seed,
            workers,
            threads_max,
            keep_alive: Duration::from_micros(random.pick(&[0, 500, 20_000, 5_000_000])),
            hogs: random.pick(&[0, 0, 1, 3]),
            stalls: random.pick(&[
                None,
                Some(Strength::Light),
                Some(Strength::Heavy),
                Some(Strength::Heavy),
            ]),
            is_on_one_processor: random.is_one_in(6),
            arrivals: random.pick(&[0, 1, 1]),
            callers: (0..callers).map(|_| random.pick(&from)).collect(),
            steps: 1 + random.below(60),
        }
    }

    /// Begins no more steps after the end.
    pub(crate) fn run(&self, table: &Table, watchdog: &Watchdog, end: Instant) {
        let _processor = self.is_on_one_processor.then(OneProcessor::begin);
        let _stalls = self
            .stalls
            .map(|strength| Stalls::begin(self.seed, strength));
        let _hogs = Hogs::begin(self.hogs);
        let world = World::new(self.runtime(self.workers), self.runtime(2));
        let callers: Arc<[Caller]> = self.callers.iter().map(|_| Caller::default()).collect();
        watchdog.begin(
            format!("{self:?}\n{}", self.command()),
            [&world.runtime, &world.other],
            &callers,
        );
        let arrivals = (0..self.arrivals).map(|_| Arrivals::begin(&world.runtime, self.seed));
        let arrivals: Vec<_> = arrivals.collect();
        thread::scope(|s| {
            for (index, (&from, caller)) in self.callers.iter().zip(callers.iter()).enumerate() {
                let world = &world;
                let builder = thread::Builder::new().name(format!("caller-{index}"));
                let work = move || {
                    from.call(world, |world| {
                        self.steps(index, world, (table, end), caller);
                    });
                };
                builder
                    .spawn_scoped(s, work)
                    .expect("a thread can be started");
            }
        });
        watchdog.enter_phase("waiting for the tasks from outside");
        for arrivals in arrivals {
            arrivals.end();
        }
        watchdog.enter_phase("waiting for the pools to be idle");
        wait_until_idle(&world.runtime);
        wait_until_idle(&world.other);
        watchdog.enter_phase("dropping the pools");
        drop(world);
        watchdog.end();
    }

    fn runtime(&self, workers: usize) -> Arc<Runtime> {
        let builder = Runtime::builder()
            .workers(workers)
            .max_threads(workers.max(self.threads_max))
            .thread_keep_alive(self.keep_alive);
        Arc::new(builder.build().expect("the numbers are right"))
    }

    #[expect(clippy::disallowed_methods, reason = "it ends by the clock")]
    fn steps(&self, index: usize, world: &World, (table, end): (&Table, Instant), caller: &Caller) {
        let mut random = Random::new(self.seed.wrapping_add((index as u64 + 1) << 48));
        for step in 0..self.steps {
            let begun = Instant::now();
            if begun >= end {
                break;
            }
            let index = table.draw(&mut random);
            let mut random = Random::new(random.next());
            caller.begin(table.name(index));
            let kind = table.kind(index);
            let result = catch_unwind(AssertUnwindSafe(|| (kind.step)(&mut random, world)));
            table.note_run(index, begun.elapsed());
            if let Err(payload) = result {
                table.note_fault(index);
                let (name, text) = (table.name(index), text(&*payload));
                let command = self.command();
                let line = format!("\nFAULT in {name}, step {step}: {text}\n{self:?}\n{command}\n");
                // Directly, because a test's own output is lost if a later fault aborts it.
                let _ = stderr().write_all(line.as_bytes());
            }
        }
        caller.end();
    }

    /// How to run it again.
    fn command(&self) -> String {
        let seed = self.seed;
        let profile = if option_env!("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS").is_some() {
            "CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true cargo test --release"
        } else if cfg!(debug_assertions) {
            "cargo test"
        } else {
            "cargo test --release"
        };
        let kinds = env::var("MANYHANDS_SOAK_KINDS");
        let kinds = kinds.map_or_else(
            |_| String::new(),
            |kinds| format!("MANYHANDS_SOAK_KINDS='{kinds}' "),
        );
        format!(
            "again: MANYHANDS_SOAK_SEED={seed} MANYHANDS_SOAK_SAME=1 {kinds}{profile} -p manyhands --test soak"
        )
    }
}

impl From {
    fn call(self, world: &World, work: impl FnOnce(&World) + Send) {
        match self {
            Self::Entered => {
                let _entered = world.runtime.enter();
                work(world);
            }
            Self::Installed => world.runtime.install(|| work(world)),
            Self::Task => {
                let _entered = world.runtime.enter();
                task::scope_blocking(|scope| scope.spawn(async move { work(world) }));
            }
            Self::OtherPool => world.other.install(|| {
                let _entered = world.runtime.enter();
                work(world);
            }),
        }
    }
}

/// Returns when every thread is idle. If an idle thread is counted as running, this never returns.
fn wait_until_idle(runtime: &Runtime) {
    loop {
        let now = runtime.metrics();
        if [
            now.working,
            now.searching,
            now.blocked,
            now.queued,
            now.queued_outside,
        ] == [0; 5]
        {
            return;
        }
        thread::yield_now();
    }
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    if let Some(planned) = payload.downcast_ref::<Planned>() {
        return format!("{planned:?} came out");
    }
    let text = payload
        .downcast_ref::<&'static str>()
        .map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic of another kind".to_owned())
}
