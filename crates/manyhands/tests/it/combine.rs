//! Several tasks at once: all, any, each, groups, continuations, cancellation of waits.

use crate::support::{
    LIMIT_SECS, Ledger, WORKERS, blow, message_of, on_each_runtime, on_runtime, panics_of, receive,
    wait_until, within,
};
use manyhands::task::{self, GroupError, JoinError, JoinHandle, TaskGroup};
use manyhands::{Runtime, cancel, channel};
use std::error::Error;
use std::future::{pending, poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::task::{Context, Poll, Waker};

#[test]
fn when_all_keeps_the_order_and_every_error() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let handles = (0..300_usize).map(|i| {
                task::spawn(async move {
                    for _ in 0..(i * 7) % 5 {
                        task::yield_now().await;
                    }
                    if i % 10 == 3 {
                        blow(i);
                    }
                    i
                })
            });
            let results = task::block_on(task::when_all(handles));
            assert_eq!(results.len(), 300);
            for (i, result) in results.into_iter().enumerate() {
                match result {
                    Ok(value) => assert!(value == i && i % 10 != 3),
                    Err(error) => {
                        let payload = error.try_into_panic().unwrap();
                        assert_eq!(*payload.downcast::<usize>().unwrap(), i);
                    }
                }
            }
            assert!(task::block_on(task::when_all::<JoinHandle<u8>>([])).is_empty());
        });
    });
}

#[test]
fn when_all_gets_futures_on_side_by_side_in_one_task() {
    on_each_runtime(|runtime| {
        let passed = runtime.install(|| {
            task::spawn(async {
                let (first, mut last) = channel::bounded(1);
                // Each waits for the one after it, several times, so that none ends unless all are polled.
                let mut links = Vec::new();
                for _ in 0..300 {
                    let (sender, receiver) = channel::bounded(1);
                    links.push((sender, std::mem::replace(&mut last, receiver)));
                }
                let feeding = task::spawn(async move {
                    for n in 0..20 {
                        first.send(n).await.unwrap();
                    }
                });
                let passing = links
                    .into_iter()
                    .rev()
                    .map(|(sender, receiver)| async move {
                        let mut passed = 0;
                        while let Ok(n) = receiver.recv().await {
                            sender.send(n).await.unwrap();
                            passed += 1;
                        }
                        passed
                    });
                let draining = task::spawn(async move { while last.recv().await.is_ok() {} });
                let passed = task::when_all(passing).await;
                feeding.await.unwrap();
                draining.await.unwrap();
                passed
            })
        });
        assert_eq!(passed.join().unwrap(), [20; 300]);
    });
}

#[test]
fn when_all_polls_only_futures_that_were_woken() {
    const COUNT: usize = 150;
    let polls = [const { AtomicUsize::new(0) }; COUNT];
    let wakers = Mutex::new(vec![None; COUNT]);
    let waiting = (0..COUNT).map(|i| {
        let (polls, wakers) = (&polls, &wakers);
        poll_fn(move |context| {
            wakers.lock().unwrap()[i] = Some(context.waker().clone());
            match polls[i].fetch_add(1, Ordering::SeqCst) {
                0 => Poll::Pending,
                _ => Poll::Ready(i),
            }
        })
    });
    let mut all = pin!(task::when_all(waiting));
    let mut context = Context::from_waker(Waker::noop());
    assert!(all.as_mut().poll(&mut context).is_pending());
    let polled = || -> Vec<_> {
        let counts = polls.iter().map(|count| count.load(Ordering::SeqCst));
        (0..COUNT)
            .zip(counts)
            .filter_map(|(i, count)| (count == 2).then_some(i))
            .collect()
    };
    let wake = |i: usize| wakers.lock().unwrap()[i].clone().unwrap().wake();
    [149, 3, 64, 3].into_iter().for_each(wake);
    assert!(all.as_mut().poll(&mut context).is_pending());
    assert_eq!(polled(), [3, 64, 149]);
    // A future that has ended is not polled again, and late wakers do no harm.
    (0..COUNT).for_each(wake);
    assert_eq!(
        all.as_mut().poll(&mut context),
        Poll::Ready((0..COUNT).collect())
    );
    (0..COUNT).for_each(wake);
    assert_eq!(polled().len(), COUNT);
}

#[test]
fn when_all_drops_every_future_once_also_after_a_panic_and_halfway() {
    for panics in [false, true] {
        let ledger = Ledger::new(100);
        let all = task::when_all((0..100).map(|i| {
            let counted = ledger.make(i);
            async move {
                if i % 2 == 0 {
                    return drop(counted);
                }
                if panics && i == 51 {
                    blow("the panic of one");
                }
                pending::<()>().await;
            }
        }));
        let mut all = Box::pin(all);
        let payloads = panics_of(|| {
            let _ = all.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        assert_eq!(payloads.len(), usize::from(panics));
        drop(all);
        ledger.assert_settled();
    }
}

#[test]
fn when_any_chooses_what_is_done_in_argument_order_and_refuses_none() {
    on_each_runtime(|runtime| {
        let done = runtime.install(|| [task::spawn(ready(0)), task::spawn(ready(1))]);
        wait_until("both have ended", || {
            done.iter().all(JoinHandle::is_finished)
        });
        runtime.install(|| {
            let never = task::spawn(pending());
            let first = task::block_on(task::when_any([never].into_iter().chain(done)));
            assert_eq!((first.index, first.result.unwrap()), (1, 0));
            assert_eq!(first.others.len(), 2);
            first.others[0].abort();
        });
    });
    let panics = panics_of(|| task::when_any::<u8>([]));
    assert_eq!(message_of(&panics[0]), "`when_any` needs at least one task");
}

#[test]
fn when_each_gives_results_as_tasks_end() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let (completers, completions): (Vec<_>, Vec<_>) =
                (0..20).map(|_| task::completion::<usize>()).unzip();
            let handles = completions.into_iter().map(task::spawn);
            task::block_on(async {
                let mut each = task::when_each(handles);
                for i in (0..20).rev() {
                    completers[i].complete(i);
                    let (index, result) = each.next().await.unwrap();
                    assert_eq!((index, result.unwrap().unwrap()), (i, i));
                }
                assert!(each.next().await.is_none());
            });
        });
    });
}

#[test]
fn when_each_and_all_work_inside_tasks_beyond_their_budget() {
    on_each_runtime(|runtime| {
        let counted = runtime.install(|| {
            task::spawn(async {
                let mut each = task::when_each((0..2_000).map(|i| task::spawn(ready(i))));
                let mut sum = 0;
                while let Some((_, result)) = each.next().await {
                    sum += result.unwrap();
                }
                let all = task::when_all((0..2_000).map(|i| task::spawn(ready(i)))).await;
                sum + all.into_iter().map(Result::unwrap).sum::<i32>()
            })
        });
        assert_eq!(counted.join().unwrap(), 2 * 1_999_000);
    });
}

#[test]
fn a_group_gathers_everything_or_stops_at_the_first_failure() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            task::block_on(async {
                let mut group = TaskGroup::new();
                (0..50).for_each(|i| group.spawn(async move { i }));
                group.run(|| 50);
                let values: Vec<_> = group.wait().await.into_iter().map(Result::unwrap).collect();
                assert!(values.into_iter().eq(0..=50));

                let ledger = Ledger::new(10);
                let mut group = TaskGroup::new();
                for thing in ledger.make_all() {
                    group.spawn(async move {
                        let thing = thing;
                        if thing.id == 4 {
                            return Err("four");
                        }
                        pending().await
                    });
                }
                let error = group.try_wait().await.map(|_: Vec<()>| ()).unwrap_err();
                assert_eq!(error.to_string(), "task 4 of the group failed: four");
                assert!(matches!(error, GroupError::Failed(4, "four")));
                ledger.assert_settled();
            });
        });
    });
}

#[test]
fn a_dropped_group_cancels_its_tasks() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(20);
        let mut group = TaskGroup::new();
        runtime.install(|| {
            for thing in ledger.make_all() {
                group.spawn(async move {
                    let _thing = thing;
                    pending::<()>().await;
                });
            }
        });
        assert_eq!(group.len(), 20);
        drop(group);
        wait_until("all are dropped", || ledger.count_dropped() == 20);
    });
}

#[test]
fn futures_of_a_task_scope_end_before_it_does() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let texts: Vec<String> = (0..100).map(|i| i.to_string()).collect();
            let total = AtomicUsize::new(0);
            let value = task::scope_blocking(|scope| {
                for text in &texts {
                    let total = &total;
                    scope.spawn(async move {
                        task::yield_now().await;
                        scope.spawn(async {
                            task::yield_now().await;
                            total.fetch_add(text.len(), Ordering::SeqCst);
                        });
                    });
                }
                7
            });
            assert_eq!((value, total.into_inner()), (7, 190));
        });
    });
}

#[test]
fn a_panic_in_a_task_scope_goes_on_when_all_have_ended() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let ended = Mutex::new(Vec::new());
            let panics = panics_of(|| {
                task::scope_blocking(|scope| {
                    for i in 0..4 {
                        let ended = &ended;
                        scope.spawn(async move {
                            task::yield_now().await;
                            ended.lock().unwrap().push(i);
                            if i % 2 == 0 {
                                blow(i);
                            }
                        });
                    }
                });
            });
            assert_eq!(panics.len(), 2);
            assert_eq!(ended.lock().unwrap().len(), 4);
            let panics = panics_of(|| {
                task::scope_blocking(|scope| {
                    scope.spawn(async { drop(ended.lock().unwrap()) });
                    scope.spawn(pending());
                    blow("body")
                })
            });
            assert_eq!(message_of(&panics[0]), "body");
        });
    });
}

#[test]
fn the_first_failure_cancels_the_others_of_a_task_scope_which_ends_after_them() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let ledger = Ledger::new(40);
            let text = String::from("no");
            let error = task::try_scope_blocking(|scope| {
                for (i, thing) in ledger.make_all().into_iter().enumerate() {
                    let text = &text;
                    scope.spawn(async move {
                        let _thing = thing;
                        task::yield_now().await;
                        if i == 20 {
                            // What it spawns now is cancelled as well.
                            scope.spawn(pending());
                            return Err(text.as_str());
                        }
                        pending().await
                    });
                }
            });
            assert_eq!(ledger.count_dropped(), 40);
            let error = error.unwrap_err();
            assert_eq!(error.index(), 20);
            assert!(matches!(error, GroupError::Failed(20, "no")));
            assert_eq!(error.to_string(), "task 20 of the group failed: no");
        });
    });
}

#[test]
fn a_task_scope_without_failure_gives_the_value_of_its_body() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let total = AtomicUsize::new(0);
            let value = task::try_scope_blocking(|scope| {
                for _ in 0..100 {
                    let total = &total;
                    scope.spawn(async move {
                        task::yield_now().await;
                        scope.spawn(async {
                            total.fetch_add(1, Ordering::SeqCst);
                            Ok(())
                        });
                        Ok::<(), String>(())
                    });
                }
                7
            });
            assert_eq!((value.unwrap(), total.into_inner()), (7, 100));
        });
    });
}

#[test]
fn panics_and_cancellations_are_failures_of_a_task_scope() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let panicked = task::try_scope_blocking(|scope| {
                scope.spawn(pending::<Result<(), String>>());
                scope.spawn(async { blow("future") });
            });
            let panicked = panicked.unwrap_err();
            assert_eq!(panicked.index(), 1);
            let cause = panicked.source().and_then(|cause| cause.downcast_ref());
            assert!(cause.is_some_and(JoinError::is_panic));
            let GroupError::Ended(_, error) = panicked else {
                panic!("the future gave no error");
            };
            assert_eq!(message_of(&error.try_into_panic().unwrap()), "future");

            let cancelled = task::try_scope_blocking(|scope| {
                scope.spawn(pending::<Result<(), String>>());
                scope.abort_all();
            });
            assert!(is_cancelled(&cancelled.unwrap_err()));

            let panics = panics_of(|| {
                task::try_scope_blocking(|scope| {
                    scope.spawn(pending::<Result<(), String>>());
                    blow("body")
                })
            });
            assert_eq!(message_of(&panics[0]), "body");
        });
    });
}

#[test]
fn futures_of_a_task_scope_that_a_shutdown_drops_have_failed() {
    within(LIMIT_SECS, || {
        for workers in WORKERS {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (sender, receiver) = mpsc::channel();
            let waiting = runtime.install(|| {
                task::run(move || {
                    task::try_scope_blocking(|scope| {
                        scope.spawn(async move {
                            sender.send(()).unwrap();
                            pending::<Result<(), String>>().await
                        });
                    })
                })
            });
            receive(&receiver);
            runtime.shutdown_blocking();
            assert!(is_cancelled(&waiting.join().unwrap().unwrap_err()));
        }
    });
}

fn is_cancelled(error: &GroupError<String>) -> bool {
    matches!(error, GroupError::Ended(_, error) if error.is_cancelled())
}

#[test]
fn continuations_follow_whatever_the_outcome_and_15_000_of_them_end() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let mut chain = task::spawn(ready(0));
            for _ in 0..15_000 {
                chain = chain.then(|before| before.unwrap() + 1);
            }
            assert_eq!(chain.join().unwrap(), 15_000);

            let never = task::spawn(pending::<()>());
            let middle = never.then(|_| ());
            middle.abort();
            let last = middle.then(|outcome| outcome.unwrap_err().is_cancelled());
            assert!(last.join().unwrap());
        });
    });
}

#[test]
fn a_wait_that_is_cancelled_before_never_polls() {
    let source = cancel::TokenSource::new();
    source.cancel();
    let token = source.token();
    let polled = AtomicUsize::new(0);
    let result = task::block_on(token.run_until_cancelled(async {
        polled.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(result.unwrap_err().token(), &token);
    assert_eq!(polled.into_inner(), 0);
}

#[test]
fn a_cancellation_ends_waits_and_drops_their_futures() {
    on_each_runtime(|runtime| {
        let source = cancel::TokenSource::new();
        let ledger = Ledger::new(100);
        let handles: Vec<_> = runtime.install(|| {
            let spawn = |thing| {
                let token = source.token();
                task::spawn(async move {
                    let waiting = async {
                        let _thing = thing;
                        pending::<()>().await;
                    };
                    token.run_until_cancelled(waiting).await
                })
            };
            ledger.make_all().into_iter().map(spawn).collect()
        });
        handles[7].abort();
        source.cancel();
        for (i, handle) in handles.into_iter().enumerate() {
            match handle.join() {
                Ok(result) => assert!(result.is_err()),
                Err(error) => assert!(error.is_cancelled() && i == 7),
            }
        }
        ledger.assert_settled();
    });
}

#[test]
fn waits_for_a_cancellation_come_and_go_in_any_order() {
    let source = cancel::TokenSource::new();
    let token = source.token();
    let order = std::sync::Arc::new(Mutex::new(Vec::new()));
    let register = |i| {
        let order = std::sync::Arc::clone(&order);
        token.register(move || order.lock().unwrap().push(i))
    };
    let mut registered: Vec<_> = (0..10).map(register).collect();
    drop(registered.remove(3));
    drop(registered.remove(8));
    let eleventh = register(10);
    drop(registered.remove(0));
    source.cancel();
    assert_eq!(*order.lock().unwrap(), [10, 8, 7, 6, 5, 4, 2, 1]);
    drop(eleventh);
}

#[test]
fn a_group_on_a_runtime_that_ends_gets_errors() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let mut group = TaskGroup::new();
    runtime.install(|| (0..5).for_each(|_| group.spawn(pending::<()>())));
    within(20, move || drop(runtime));
    for result in task::block_on(group.wait()) {
        assert!(result.unwrap_err().is_cancelled());
    }
}

#[test]
fn results_are_gathered_on_one_worker() {
    on_runtime(1, |runtime| {
        let sum = runtime.install(|| {
            task::spawn(async {
                let mut group = TaskGroup::new();
                (0..500).for_each(|i| group.spawn(async move { i }));
                group
                    .wait()
                    .await
                    .into_iter()
                    .map(Result::unwrap)
                    .sum::<i32>()
            })
        });
        assert_eq!(sum.join().unwrap(), 124_750);
    });
}
