//! Storms: futures that wait, wake one another, panic and are cancelled, joined, dropped and shut down at
//! random. Whatever happens, each future and each result is dropped exactly once, nothing is polled after
//! its end or by two threads at once, and everything ends.

use crate::support::{Counted, Ledger, blow, counters, random_below, wait_until, within};
use manyhands::task::{self, Completer, Completion, JoinHandle};
use manyhands::{Runtime, cancel};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;

const TASKS: usize = 400;
const ROUNDS: u64 = 25;

/// Looks after a future: who polls it when.
struct Watched<F: Future> {
    future: Option<Pin<Box<F>>>,
    is_polled: AtomicBool,
    /// Panics when dropped.
    is_grenade: bool,
    counted: Counted,
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _ = self.counted.id;
        assert!(
            !self.is_polled.swap(true, Ordering::SeqCst),
            "polled by two threads at once"
        );
        let future = self.future.as_mut().expect("polled after its end");
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        self.is_polled.store(false, Ordering::SeqCst);
        polled
    }
}

impl<F: Future> Drop for Watched<F> {
    fn drop(&mut self) {
        if self.is_grenade && !thread::panicking() {
            blow("dropped");
        }
    }
}

/// What a storm's tasks share.
struct Weather {
    seed: u64,
    events: Vec<(Completer<u64>, Completion<u64>)>,
    source: cancel::TokenSource,
    futures: Arc<Ledger>,
    results: Arc<Ledger>,
    ended: Vec<AtomicUsize>,
}

impl Weather {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            seed,
            events: (0..TASKS / 8).map(|_| task::completion()).collect(),
            source: cancel::TokenSource::new(),
            futures: Ledger::new(TASKS),
            results: Ledger::new(TASKS),
            ended: counters(TASKS),
        })
    }

    fn random(&self, id: usize, what: u64, limit: u64) -> u64 {
        random_below(self.seed * 1_000_003 + id as u64 * 101 + what, limit)
    }

    fn spawn(self: &Arc<Self>, id: usize) -> JoinHandle<Counted> {
        let weather = Arc::clone(self);
        task::spawn(Watched {
            future: Some(Box::pin(weather.live(id))),
            is_polled: AtomicBool::new(false),
            is_grenade: self.random(id, 1, 20) == 0,
            counted: self.futures.make(id),
        })
    }

    async fn live(self: Arc<Self>, id: usize) -> Counted {
        for _ in 0..self.random(id, 2, 4) {
            task::yield_now().await;
        }
        let event = &self.events[id % self.events.len()];
        match self.random(id, 3, 6) {
            0 => drop(event.0.try_complete(id as u64)),
            1 => drop(event.1.clone().await),
            2 => drop(
                self.source
                    .token()
                    .run_until_cancelled(event.1.clone())
                    .await,
            ),
            3 => {
                let child = task::spawn(async move {
                    task::yield_now().await;
                    id
                });
                assert_eq!(child.await.unwrap(), id);
            }
            4 => drop(task::run(move || id).await),
            _ => {}
        }
        if self.random(id, 4, 10) == 0 {
            blow("a poll panics");
        }
        self.ended[id].fetch_add(1, Ordering::SeqCst);
        self.results.make(id)
    }

    /// What an outside thread does with a task.
    fn treat(&self, id: usize, handle: JoinHandle<Counted>) {
        match self.random(id, 5, 6) {
            0 => handle.abort(),
            1 => {
                handle.abort();
                drop(handle.join());
            }
            2 => drop(task::block_on(handle)),
            3 => drop(handle.join()),
            4 => drop(handle),
            _ => drop(handle.then(|result| result.is_ok()).join()),
        }
    }
}

fn storm(workers: usize, seed: u64, shuts_down_early: bool) {
    let weather = Weather::new(seed);
    let runtime = Runtime::builder().workers(workers).build().unwrap();
    thread::scope(|threads| {
        for part in 0..3 {
            let (weather, runtime) = (&weather, &runtime);
            threads.spawn(move || {
                let _entered = runtime.enter();
                let mine: Vec<_> = (part..TASKS).step_by(3).collect();
                let spawned = mine.iter().map(|&id| (id, weather.spawn(id)));
                let spawned: Vec<_> = spawned.collect();
                if !shuts_down_early {
                    // Some wait for events that only others of the same part would bring.
                    weather
                        .events
                        .iter()
                        .skip(part)
                        .step_by(3)
                        .for_each(|(event, _)| {
                            let _ = event.try_complete(7);
                        });
                    spawned
                        .into_iter()
                        .for_each(|(id, handle)| weather.treat(id, handle));
                }
            });
        }
        if !shuts_down_early {
            weather.source.cancel();
        }
    });
    drop(runtime);
    wait_until("every future is dropped", || {
        weather.futures.count_dropped() == TASKS
    });
    weather.futures.assert_settled();
    weather.results.assert_settled();
    let ended = weather.ended.iter();
    assert!(
        ended
            .map(|ended| ended.load(Ordering::SeqCst))
            .all(|times| times <= 1)
    );
}

#[test]
fn in_a_storm_every_future_and_result_is_dropped_once() {
    for workers in [1, 2, 4] {
        within(120, move || {
            (0..ROUNDS).for_each(|seed| storm(workers, seed, false));
        });
    }
}

#[test]
fn in_a_shutdown_amid_a_storm_every_future_and_result_is_dropped_once() {
    for workers in [1, 2, 4] {
        within(120, move || {
            (0..ROUNDS).for_each(|seed| storm(workers, seed, true));
        });
    }
}

#[test]
fn a_runtime_that_ends_amid_wakes_from_outside_ends_whole() {
    within(120, || {
        for round in 0..200_usize {
            let runtime = Runtime::builder().workers(1 + round % 3).build().unwrap();
            let ledger = Ledger::new(60);
            let (completers, completions): (Vec<_>, Vec<_>) =
                (0..60).map(|_| task::completion::<()>()).unzip();
            let handles: Vec<_> = runtime.install(|| {
                let things = ledger.make_all().into_iter();
                let spawn = |(thing, completion): (Counted, Completion<()>)| {
                    task::spawn(async move {
                        let _thing = thing;
                        completion.await.is_ok()
                    })
                };
                things.zip(completions).map(spawn).collect()
            });
            thread::scope(|threads| {
                for part in 0..2 {
                    let completers = &completers;
                    threads.spawn(move || {
                        let mine = completers.iter().skip(part).step_by(2);
                        mine.for_each(|completer| completer.complete(()));
                    });
                }
                drop(runtime);
            });
            ledger.assert_settled();
            for handle in handles {
                assert!(handle.is_finished());
                assert!(handle.join().unwrap_or_else(|error| error.is_cancelled()));
            }
        }
    });
}
