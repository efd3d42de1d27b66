//! Sources and tokens: linked ones, deadlines, callbacks, futures that end.

use crate::counted::{Tally, Visits};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::World;
use manyhands::cancel::{Token, TokenSource};
use manyhands::{join, parallel, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "callbacks, beside the cancellation",
        step: callbacks,
    },
    Kind {
        name: "linked sources",
        step: linked,
    },
    Kind {
        name: "deadlines",
        step: deadlines,
    },
    Kind {
        name: "run_until_cancelled",
        step: until_cancelled,
    },
    Kind {
        name: "cancelled(), many wait",
        step: wait,
    },
    Kind {
        name: "a deadline ends a loop",
        step: loop_with_deadline,
    },
];

fn callbacks(random: &mut Random, _: &World) {
    let (source, tally, len) = (TokenSource::new(), Tally::new(), random.below(60));
    let (token, called) = (source.token(), Arc::new(AtomicU64::new(0)));
    let mut dropped = 0;
    let mut register = || {
        let mut kept = Vec::new();
        for number in 0..len {
            let (thing, called) = (tally.make(number), Arc::clone(&called));
            let registration = token.register(move || {
                called.fetch_add(1, Ordering::Relaxed);
                drop(thing);
            });
            if number % 3 == 0 {
                drop(registration);
                dropped += 1;
            } else {
                kept.push(registration);
            }
        }
        kept
    };
    let is_beside = random.is_one_in(2);
    let kept = if is_beside {
        join(register, || source.cancel()).0
    } else {
        let kept = register();
        source.cancel();
        kept
    };
    drop(kept);
    let called = called.load(Ordering::Relaxed);
    assert!(
        called >= len - dropped && called <= len,
        "{called} of {len} were called"
    );
    if !is_beside {
        assert_eq!(called, len - dropped, "those whose registrations are kept");
    }
    tally.assert_none_left();
}

fn linked(random: &mut Random, _: &World) {
    let parents: Vec<TokenSource> = (0..1 + random.below(4))
        .map(|_| TokenSource::new())
        .collect();
    let mut tokens: Vec<Token> = parents.iter().map(TokenSource::token).collect();
    tokens.push(Token::never());
    let mut children = vec![TokenSource::linked(&tokens)];
    for _ in 0..random.below(5) {
        let parent = children.last().expect("there is one").token();
        children.push(TokenSource::linked(&[parent]));
    }
    let at = random.length(children.len());
    if random.is_one_in(3) {
        // From the middle: only those below.
        children[at].cancel();
        for (index, child) in children.iter().enumerate() {
            assert_eq!(child.token().is_cancelled(), index >= at);
        }
        assert!(tokens.iter().all(|token| !token.is_cancelled()));
    } else {
        let waiting = task::spawn(children[at].token().cancelled());
        let parent = &parents[random.length(parents.len())];
        parent.cancel();
        waiting.join().expect("it does not panic");
        assert!(children.iter().all(|child| child.token().check().is_err()));
    }
}

fn deadlines(random: &mut Random, _: &World) {
    let duration = Duration::from_micros(random.below(3_000));
    let deadline = time::now() + duration;
    let source = if random.is_one_in(2) {
        TokenSource::with_deadline(deadline)
    } else {
        let source = TokenSource::new();
        source.cancel_after(duration);
        source
    };
    let token = source.token();
    if random.is_one_in(4) {
        // It has no owner any more, and the timer is dropped with it; or it has been cancelled.
        drop(source);
        return;
    }
    task::block_on(token.cancelled());
    assert!(time::now() >= deadline, "early");
    assert!(token.is_cancelled());
}

fn until_cancelled(random: &mut Random, _: &World) {
    let (source, tally) = (TokenSource::new(), Tally::new());
    let (token, thing, ends) = (source.token(), tally.make(5), random.is_one_in(2));
    let task = task::spawn(async move {
        token
            .run_until_cancelled(async move {
                if ends {
                    task::yield_now().await;
                } else {
                    std::future::pending::<()>().await;
                }
                thing.number()
            })
            .await
    });
    if !ends || random.is_one_in(2) {
        source.cancel();
    }
    match task.join().expect("it does not panic") {
        Ok(number) => assert!(ends && number == 5),
        Err(cancelled) => assert_eq!(cancelled.token(), &source.token()),
    }
    tally.assert_none_left();
}

fn wait(random: &mut Random, _: &World) {
    let source = TokenSource::new();
    let tasks: Vec<_> = (0..random.below(50))
        .map(|_| task::spawn(source.token().cancelled()))
        .collect();
    if random.is_one_in(2) {
        task::run(move || source.cancel())
            .join()
            .expect("it does not panic");
    } else {
        source.cancel();
    }
    for task in tasks {
        task.join().expect("it does not panic");
    }
}

fn loop_with_deadline(random: &mut Random, _: &World) {
    let source =
        TokenSource::with_deadline(time::now() + Duration::from_micros(random.below(2_000)));
    let (token, len) = (source.token(), random.below(5_000));
    let visits = Visits::new(len);
    let result = parallel::Options::new()
        .cancellation(&token)
        .for_each(0..len, |index| {
            visits.visit(index);
            (0..50).for_each(|_| std::hint::spin_loop());
        });
    if result.is_ok() {
        visits.assert_all();
    } else {
        assert!(token.is_cancelled());
    }
    assert!(visits.count() <= len);
}
