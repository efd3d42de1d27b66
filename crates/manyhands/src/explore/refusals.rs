//! Programs of runtimes that are refused threads, of workers and of the monitor.
//!
//! Each start is refused by chance, so one is tried again while another one succeeds. The monitor sweeps, because it is what
//! tries again once it has a thread; before that the threads of the program do, when they enter, push or wait.

use super::{Counts, Gate, outside, pool, programs};
use crate::task::{self, completion};
use crate::{join, parallel, scope};
use manyhands_explore::{compute, refuse_some_starts};
use std::sync::Arc;

/// Enough for a start to be refused several times, and for the monitor's and those of all workers.
const STARTS: u64 = 10;

programs! {
    /// Closures and futures are run once, whoever waits for them.
    tasks_of_refused_workers(Needed) {
        let runtime = Arc::new(pool(2, 3));
        let ran = Arc::new(Counts::new(4));
        let others: Vec<_> = (0..2_usize)
            .map(|i| {
                let (inside, ran) = (Arc::clone(&runtime), Arc::clone(&ran));
                outside(move || {
                    let _entered = inside.enter();
                    let its = Arc::clone(&ran);
                    let closure = task::run(move || its.add(2 * i));
                    task::spawn(async move { ran.add(2 * i + 1) }).join().unwrap();
                    closure.join().unwrap();
                })
            })
            .collect();
        refuse_some_starts(STARTS);
        others.into_iter().for_each(|other| other.join().unwrap());
        ran.assert_each_once();
    }

    /// What a thread that blocks waits for is run on another one, whose start may be refused.
    blocked_beside_refused_workers(Needed) {
        let runtime = pool(1, 4);
        refuse_some_starts(STARTS);
        let _entered = runtime.enter();
        let gates = [Gate::default(), Gate::default()];
        let waits = gates.clone().map(|gate| task::run(move || task::blocking(|| gate.wait())));
        let opens = task::run(move || gates.iter().for_each(Gate::open));
        opens.join().unwrap();
        waits.into_iter().for_each(|task| task.join().unwrap());
    }

    /// A thread that sleeps already, in another runtime, is the only one left that can try again, because the one that was refused
    /// a thread ends.
    sleeper_beside_refused_workers(Needed) {
        let (first, second) = (pool(1, 2), pool(1, 2));
        let (completer, completion) = completion::<u32>();
        let handle = second.handle();
        let other = outside(move || drop(handle.run(move || completer.complete(7))));
        refuse_some_starts(STARTS);
        assert_eq!(first.install(|| task::block_on(completion)).unwrap(), 7);
        other.join().unwrap();
        drop(second);
    }

    /// Loops, forks and scopes end on their callers, if nobody else comes.
    calls_beside_refused_workers(Needed) {
        let runtime = pool(2, 2);
        let ran = Counts::new(10);
        refuse_some_starts(STARTS);
        runtime.install(|| {
            parallel::for_each(0..4_usize, |i| {
                compute(50_000);
                ran.add(i);
            });
            join(|| ran.add(4), || join(|| ran.add(5), || ran.add(6)));
            scope(|scope| {
                scope.spawn(|scope| {
                    ran.add(7);
                    scope.spawn(|_| ran.add(8));
                });
                ran.add(9);
            });
        });
        ran.assert_each_once();
    }

    /// A runtime ends while starts are refused and tried again, and while tasks arrive and are woken; each is run or dropped.
    end_beside_refused_workers(Needed) {
        let runtime = pool(2, 3);
        let (handle, held) = (runtime.handle(), Arc::new(()));
        let (completer, completion) = completion::<u32>();
        let its = Arc::clone(&held);
        let spawner = outside(move || {
            let also = Arc::clone(&its);
            let waits = handle.spawn(async move {
                let _held = also;
                let _ = completion.await;
            });
            let runs = handle.run(move || drop(its));
            (waits, runs)
        });
        let waker = outside(move || completer.complete(1));
        refuse_some_starts(STARTS);
        drop(runtime.install(|| task::spawn(async {})));
        runtime.shutdown_blocking();
        let (waits, runs) = spawner.join().unwrap();
        let _ = waits.join();
        let _ = runs.join();
        waker.join().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }

    /// Two runtimes are refused threads at once, and one of them ends meanwhile, without waiting.
    two_runtimes_with_refused_workers(Needed) {
        let (first, second) = (pool(1, 2), pool(1, 2));
        let (of_first, of_second) = (first.handle(), second.handle());
        let other = outside(move || {
            let dropped = of_second.run(|| 1);
            let spawned = of_first.spawn(async { 2 });
            assert_eq!(spawned.join().unwrap(), 2);
            let _ = dropped.join();
        });
        refuse_some_starts(STARTS);
        let waits = first.install(|| task::spawn(async { 3 }));
        second.shutdown_background();
        assert_eq!(waits.join().unwrap(), 3);
        other.join().unwrap();
    }
}
