//! Several closures at once.

use crate::support::{
    Board, blow, message_of, on_each_runtime, on_runtime, panics_of, receive, within,
};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options};
use manyhands::{Runtime, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

#[test]
fn any_number_of_closures_is_run_each_once() {
    on_each_runtime(|runtime| {
        for count in [0, 1, 10, 97, 1_000] {
            let ran = crate::support::counters(count);
            let closures: Vec<_> = ran
                .iter()
                .map(|ran| move || ran.fetch_add(1, Ordering::SeqCst))
                .collect();
            let before = Options::new().runtime(runtime).invoke(closures);
            assert_eq!(before, vec![0; count]);
            assert!(crate::support::values(&ran).iter().all(|&count| count == 1));
        }
    });
}

#[test]
fn tuples_arrays_and_vectors_give_their_results_in_place() {
    within(60, || {
        assert_eq!(parallel::invoke((|| 1, || 'b')), (1, 'b'));
        let (a, b, c) = parallel::invoke((|| 1_u8, || "two".to_owned(), || vec![3]));
        assert_eq!((a, b.as_str(), c), (1, "two", vec![3]));
        let twelve = parallel::invoke((
            || 1,
            || 2,
            || 3,
            || 4,
            || 5,
            || 6,
            || 7,
            || 8,
            || 9,
            || 10,
            || 11,
            || 12,
        ));
        assert_eq!((twelve.0, twelve.6, twelve.11), (1, 7, 12));
        assert_eq!(
            parallel::invoke([1, 2, 3].map(|n| move || n * n)),
            [1, 4, 9]
        );
        let none: [fn() -> u8; 0] = [];
        assert!(parallel::invoke(none).is_empty());
        let borrowed = String::from("borrowed");
        let closures = vec![|| borrowed.len(); 3];
        assert_eq!(parallel::invoke(closures), [8, 8, 8]);
    });
}

#[test]
fn one_failure_does_not_stop_the_others() {
    on_each_runtime(|runtime| {
        let ran = AtomicUsize::new(0);
        let closures: Vec<_> = (0..100)
            .map(|i| {
                let ran = &ran;
                move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                    if i == 3 {
                        blow("three");
                    }
                }
            })
            .collect();
        let payloads = panics_of(|| Options::new().runtime(runtime).invoke(closures));
        assert_eq!(
            payloads.iter().map(message_of).collect::<Vec<_>>(),
            ["three"]
        );
        assert_eq!(ran.into_inner(), 100);
    });
}

#[test]
fn every_failure_is_in_the_aggregate() {
    on_each_runtime(|runtime| {
        let closures: Vec<_> = (0..100_usize).map(|i| move || blow(i)).collect();
        let payloads = panics_of(|| Options::new().runtime(runtime).invoke(closures));
        let mut numbers: Vec<_> = payloads
            .iter()
            .map(|payload| *payload.downcast_ref::<usize>().unwrap())
            .collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
    });
}

#[test]
fn a_failure_is_not_hidden_by_a_cancellation() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        let options = Options::new().runtime(runtime).cancellation(&token);
        let fail = || -> () {
            source.cancel();
            blow("failed");
        };
        let payloads = panics_of(|| options.invoke((fail, || ())));
        assert_eq!(message_of(&payloads[0]), "failed");
        let ended = options.invoke((|| 1, || 2));
        assert_eq!(ended.unwrap_err().token(), &token);
    });
}

#[test]
fn ten_closures_may_wait_for_one_another() {
    for workers in [1, 2, 4] {
        on_runtime(workers, move |runtime| {
            for _ in 0..3 {
                let barrier = Barrier::new(10);
                let closures: Vec<_> = (0..10)
                    .map(|i| {
                        let barrier = &barrier;
                        move || {
                            barrier.wait();
                            i
                        }
                    })
                    .collect();
                let results = Options::new().runtime(runtime).invoke(closures);
                assert!(results.into_iter().eq(0..10));
            }
        });
    }
}

#[test]
fn a_tuple_of_closures_may_wait_for_one_another() {
    for workers in [1, 2, 4] {
        on_runtime(workers, move |runtime| {
            let barrier = Barrier::new(10);
            let wait = || barrier.wait().is_leader();
            let all = (wait, wait, wait, wait, wait, wait, wait, wait, wait, wait);
            let led = Options::new().runtime(runtime).invoke(all);
            let led = [
                led.0, led.1, led.2, led.3, led.4, led.5, led.6, led.7, led.8, led.9,
            ];
            assert_eq!(led.into_iter().filter(|&leader| leader).count(), 1);
        });
    }
}

#[test]
fn closures_may_wait_for_one_another_after_quick_ones() {
    // A runner that has just run quick closures must not take several at once.
    for workers in [1, 2, 4] {
        on_runtime(workers, move |runtime| {
            for quick in [1, 2, 5, 30_usize] {
                let board = Board::new(8);
                let closures: Vec<_> = (0..quick + 8)
                    .map(|i| {
                        let board = &board;
                        move || {
                            if let Some(index) = i.checked_sub(quick) {
                                board.happens(index);
                                board.wait_for_all();
                            }
                        }
                    })
                    .collect();
                Options::new().runtime(runtime).invoke(closures);
            }
        });
    }
}

#[test]
fn closures_may_wait_for_one_another_inside_a_task_and_a_loop() {
    on_runtime(2, |runtime| {
        let waiting = || {
            let barrier = Barrier::new(4);
            let wait = || {
                barrier.wait();
            };
            parallel::invoke((wait, wait, wait, wait));
        };
        let handle = runtime.install(|| task::run(waiting));
        handle.join().unwrap();
        Options::new()
            .runtime(runtime)
            .for_each(0..3, |_| waiting());
    });
}

/// Five closures at one call site. The last three meet, or end at once as the others do: few, because debug builds are slow, and
/// the call must be too short to be shared.
fn invoke_five(options: &Options<'_>, barrier: Option<&Barrier>) {
    let closures = (0..5).map(|i| {
        move || {
            if let Some(barrier) = barrier.filter(|_| i >= 2) {
                barrier.wait();
            }
        }
    });
    options.invoke(closures.collect::<Vec<_>>());
}

#[test]
fn closures_may_wait_for_one_another_where_calls_were_short() {
    for workers in [1, 2, 4] {
        on_runtime(workers, move |runtime| {
            let any = Options::new().runtime(runtime);
            let four = any.degree_of_parallelism(4).unwrap();
            for options in [&any, &four] {
                for _ in 0..300 {
                    invoke_five(options, None);
                }
                invoke_five(options, Some(&Barrier::new(3)));
                // The same in each body of a loop, one of which the loop's caller has begun when it is opened.
                options.for_each(0..3, |_| invoke_five(&Options::new(), None));
                options.for_each(0..3, |_| {
                    invoke_five(&Options::new(), Some(&Barrier::new(3)));
                });
            }
        });
    }
}

#[test]
fn two_closures_in_two_places_may_wait_for_one_another_where_calls_were_short() {
    on_runtime(2, |runtime| {
        let two = Options::new().runtime(runtime).degree_of_parallelism(2);
        let two = two.unwrap();
        let invoke = |barrier: Option<&Barrier>| {
            two.invoke([(); 2].map(|()| move || barrier.map(Barrier::wait)));
        };
        (0..300).for_each(|_| invoke(None));
        invoke(Some(&Barrier::new(2)));
    });
}

/// Four closures that meet, and one before them that ends when the next has begun, so the call was opened; or five that end at
/// once.
fn invoke_four_after_one(options: &Options<'_>, meeting: Option<&(Board, Barrier)>) {
    let closures = (0..5).map(|i| {
        move || match meeting {
            Some((begun, _)) if i == 0 => begun.wait_for(0),
            Some((begun, barrier)) => {
                begun.happens(0);
                barrier.wait();
            }
            None => {}
        }
    });
    options.invoke(closures.collect::<Vec<_>>());
}

#[test]
fn as_many_closures_as_the_degree_may_wait_when_the_first_has_ended() {
    for workers in [1, 2, 4] {
        on_runtime(workers, move |runtime| {
            let four = Options::new().runtime(runtime).degree_of_parallelism(4);
            let four = four.unwrap();
            for _ in 0..300 {
                invoke_four_after_one(&four, None);
            }
            invoke_four_after_one(&four, Some(&(Board::new(1), Barrier::new(4))));
        });
    }
}

#[test]
fn closures_may_wait_for_one_another_where_the_entered_runtime_has_ended() {
    for waits in [true, false] {
        within(60, move || {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let handle = runtime.handle();
            let _entered = handle.enter();
            let options = Options::new();
            (0..2_000).for_each(|_| invoke_five(&options, None));
            if waits {
                runtime.shutdown_blocking();
            } else {
                runtime.shutdown_background();
            }
            invoke_five(&options, Some(&Barrier::new(3)));
        });
    }
}

/// The thread has a slot of the runtime when that ends, and goes on with calls there.
#[test]
fn closures_may_wait_for_one_another_where_the_runtime_has_ended_in_a_join() {
    within(60, || {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let handle = runtime.handle();
        let _entered = handle.enter();
        let options = Options::new();
        let call = || (0..2_000).for_each(|_| invoke_five(&options, None));
        call();
        let end = || {
            runtime.shutdown_background();
            call();
        };
        manyhands::join(end, || ());
        invoke_five(&options, Some(&Barrier::new(3)));
    });
}

/// The call of a thread outside is in progress when its runtime ends, and goes on with the help that it needs.
#[test]
fn closures_may_wait_for_one_another_in_a_call_that_goes_on_when_its_runtime_ends() {
    let ends: [fn(Runtime); _] = [
        drop,
        |runtime| drop(runtime.shutdown_timeout_blocking(Duration::MAX)),
        |runtime| drop(runtime.shutdown_background()),
    ];
    for (workers, end) in [1, 2].into_iter().flat_map(|n| ends.map(|end| (n, end))) {
        within(60, move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let handle = runtime.handle();
            let (say, begun) = mpsc::channel();
            let (let_go, gate) = mpsc::channel();
            let outside = thread::spawn(move || {
                let _entered = handle.enter();
                manyhands::scope(|_| {
                    say.send(()).unwrap();
                    receive(&gate);
                    invoke_five(&Options::new(), Some(&Barrier::new(3)));
                });
            });
            receive(&begun);
            end(runtime);
            let_go.send(()).unwrap();
            outside.join().unwrap();
        });
    }
}

/// The call has begun alone, in no place of the runtime, and is not opened yet when that ends.
#[test]
fn closures_may_wait_for_one_another_in_a_call_alone_when_its_runtime_ends() {
    within(60, || {
        for round in 0..40 {
            let runtime = Runtime::builder().workers(1 + round % 2).build().unwrap();
            let handle = runtime.handle();
            let (say, begun) = mpsc::channel();
            let outside = thread::spawn(move || {
                let _entered = handle.enter();
                let options = Options::new();
                (0..300).for_each(|_| invoke_five(&options, None));
                say.send(()).unwrap();
                invoke_five(&options, Some(&Barrier::new(3)));
            });
            receive(&begun);
            drop(runtime);
            outside.join().unwrap();
        }
    });
}

/// Runs in the stop hook of a thread that is not needed any more, whose runtime ends meanwhile.
#[test]
fn bodies_may_meet_in_a_stop_hook_that_has_begun_before_its_runtime_ends() {
    for round in 0..40 {
        within(60, move || {
            let ((say, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
            let (let_go, gate) = mpsc::channel();
            let first = Mutex::new(Some((say, gate)));
            let hook = move |_| {
                let Some((say, gate)) = first.lock().unwrap().take() else {
                    return;
                };
                let three = Barrier::new(3);
                let items = (0..3).inspect(move |&item| {
                    if item == 0 {
                        say.send(()).unwrap();
                        receive(&gate);
                    }
                });
                parallel::for_each(parallel::from_iter(items).unbuffered(), |_| {
                    three.wait();
                });
                end.send(()).unwrap();
            };
            let builder = Runtime::builder().workers(1).on_thread_stop(hook);
            let runtime = builder.thread_keep_alive(Duration::ZERO).build().unwrap();
            let inner = || task::spawn(async {}).join().unwrap();
            // Another thread runs the inner one, and one of both leaves.
            runtime.install(|| task::run(inner)).join().unwrap();
            receive(&begun);
            drop(runtime.shutdown_background());
            (0..round * 5).for_each(|_| thread::yield_now());
            let_go.send(()).unwrap();
            receive(&ended);
        });
    }
}

/// Waits for [`invoke_five`], and for three bodies that meet, when it is dropped.
struct Invokes(mpsc::Sender<()>);

impl Drop for Invokes {
    fn drop(&mut self) {
        invoke_five(&Options::new(), Some(&Barrier::new(3)));
        let three = Barrier::new(3);
        parallel::for_each(parallel::from_iter(0..3).unbuffered(), |_| {
            three.wait();
        });
        let _ = self.0.send(());
    }
}

#[test]
fn closures_may_wait_for_one_another_in_hooks_and_destructors_at_the_end_of_a_runtime() {
    for workers in [1, 2] {
        within(60, move || {
            let (say, said) = mpsc::channel();
            let in_hook = say.clone();
            let builder = Runtime::builder().workers(workers);
            let builder = builder.on_thread_stop(move |_| drop(Invokes(in_hook.clone())));
            let runtime = builder.build().unwrap();
            let handle = runtime.handle();
            let (begin, begun) = mpsc::channel();
            let waits = [0, 1].map(|_| {
                let (invokes, begin) = (Invokes(say.clone()), begin.clone());
                handle.spawn(async move {
                    let _invokes = invokes;
                    begin.send(()).unwrap();
                    std::future::pending::<()>().await;
                })
            });
            waits.iter().for_each(|_| receive(&begun));
            runtime.shutdown_blocking();
            assert!(waits.map(|task| task.join().is_err()).iter().all(|&is| is));
            (0..3).for_each(|_| receive(&said));
        });
    }
}
