//! Cancellation sources, tokens, callbacks and links.

use crate::support::{
    blow, busy_micros, holds_within, message_of, panics_of, receive, wait_until, within,
};
use manyhands::cancel::{Cancelled, Registration, Token, TokenSource};
use manyhands::time;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// A list that callbacks write their names to.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Log {
    fn writes(&self, name: &'static str) -> impl FnOnce() + Send + 'static {
        let log = self.clone();
        move || log.0.lock().expect("not poisoned").push(name)
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

#[test]
fn tokens_of_one_source_are_one_key() {
    let (first, second) = (TokenSource::new(), TokenSource::new());
    let tokens = [first.token(), first.token(), second.token(), Token::never()];
    assert_eq!(HashSet::from(tokens).len(), 3);
}

#[test]
fn callbacks_run_once_and_the_newest_first() {
    let (source, log) = (TokenSource::new(), Log::default());
    let _registrations = ["a", "b", "c"].map(|name| source.token().register(log.writes(name)));
    assert!(log.take().is_empty());
    source.cancel();
    assert_eq!(log.take(), ["c", "b", "a"]);
    source.cancel();
    assert!(log.take().is_empty());
}

#[test]
fn callbacks_run_on_the_thread_that_cancels() {
    within(60, || {
        let source = TokenSource::new();
        let (sender, receiver) = mpsc::channel();
        let _registration = source
            .token()
            .register(move || sender.send(thread::current().id()).unwrap());
        let canceller = thread::spawn(move || source.cancel());
        let id = canceller.thread().id();
        canceller.join().unwrap();
        assert_eq!(receive(&receiver), id);
    });
}

#[test]
fn a_callback_registered_late_runs_at_once_on_the_thread_that_registers() {
    let (source, log) = (TokenSource::new(), Log::default());
    source.cancel();
    let registration = source.token().register(log.writes("late"));
    assert_eq!(log.take(), ["late"]);
    drop(registration);
    assert!(log.take().is_empty());
    let payloads = panics_of(|| source.token().register(|| blow("late")));
    assert_eq!(message_of(&payloads[0]), "late");
}

#[test]
fn a_callback_registered_by_a_callback_runs_at_once() {
    within(60, || {
        let (source, log) = (TokenSource::new(), Log::default());
        let (token, inner) = (source.token(), log.clone());
        let _registration = source.token().register(move || {
            assert!(token.is_cancelled());
            drop(token.register(inner.writes("inner")));
            inner.writes("outer")();
        });
        source.cancel();
        assert_eq!(log.take(), ["inner", "outer"]);
    });
}

#[test]
fn a_callback_that_was_taken_back_does_not_run() {
    let (source, log) = (TokenSource::new(), Log::default());
    let kept = source.token().register(log.writes("kept"));
    drop(source.token().register(log.writes("dropped")));
    let middle = source.token().register(log.writes("middle"));
    let newest = source.token().register(log.writes("newest"));
    drop(middle);
    source.cancel();
    assert_eq!(log.take(), ["newest", "kept"]);
    drop((kept, newest));
}

#[test]
fn what_a_callback_owns_is_dropped_when_it_is_taken_back_or_has_run() {
    let source = TokenSource::new();
    let owned = Arc::new(());
    let (first, second) = (Arc::clone(&owned), Arc::clone(&owned));
    let taken_back = source.token().register(move || drop(first));
    let run = source.token().register(move || drop(second));
    assert_eq!(Arc::strong_count(&owned), 3);
    drop(taken_back);
    assert_eq!(Arc::strong_count(&owned), 2);
    source.cancel();
    assert_eq!(Arc::strong_count(&owned), 1);
    drop(run);
}

#[test]
fn what_a_callback_owns_is_dropped_with_its_source() {
    let source = TokenSource::new();
    let owned = Arc::new(());
    let theirs = Arc::clone(&owned);
    let registration = source.token().register(move || drop(theirs));
    drop(source);
    assert_eq!(Arc::strong_count(&owned), 1);
    drop(registration);
}

#[test]
fn unregistering_waits_for_a_callback_that_runs_on_another_thread() {
    within(60, || {
        for _ in 0..50 {
            let source = TokenSource::new();
            let (inside, left) = (
                Arc::new(AtomicBool::new(false)),
                Arc::new(AtomicBool::new(false)),
            );
            let (their_inside, their_left) = (Arc::clone(&inside), Arc::clone(&left));
            let registration = source.token().register(move || {
                their_inside.store(true, Ordering::SeqCst);
                busy_micros(500);
                their_left.store(true, Ordering::SeqCst);
            });
            let canceller = thread::spawn(move || source.cancel());
            wait_until("the callback runs", || inside.load(Ordering::SeqCst));
            drop(registration);
            assert!(left.load(Ordering::SeqCst), "the callback is still running");
            canceller.join().unwrap();
        }
    });
}

#[test]
fn unregistering_waits_for_its_own_callback_only() {
    within(60, || {
        let source = TokenSource::new();
        let (go, may_go) = mpsc::channel();
        let (inside, is_inside) = mpsc::channel();
        let other = source.token().register(|| {});
        let blocking = source.token().register(move || {
            inside.send(()).unwrap();
            receive(&may_go);
        });
        let canceller = thread::spawn(move || source.cancel());
        receive(&is_inside);
        drop(other);
        go.send(()).unwrap();
        drop(blocking);
        canceller.join().unwrap();
    });
}

#[test]
fn a_callback_may_drop_its_own_registration() {
    within(60, || {
        let source = TokenSource::new();
        let place: Arc<Mutex<Option<Registration>>> = Arc::default();
        let ran = Arc::new(AtomicBool::new(false));
        let (theirs, their_ran) = (Arc::clone(&place), Arc::clone(&ran));
        let registration = source.token().register(move || {
            let own = theirs.lock().unwrap().take();
            assert!(own.is_some());
            drop(own);
            their_ran.store(true, Ordering::SeqCst);
        });
        *place.lock().unwrap() = Some(registration);
        source.cancel();
        assert!(ran.load(Ordering::SeqCst));
    });
}

#[test]
fn a_callback_may_take_an_older_one_back() {
    within(60, || {
        let (source, log) = (TokenSource::new(), Log::default());
        let older = source.token().register(log.writes("older"));
        let _newer = source.token().register(move || drop(older));
        source.cancel();
        assert!(log.take().is_empty());
    });
}

#[test]
fn a_callback_may_cancel_its_own_source() {
    within(60, || {
        let source = Arc::new(TokenSource::new());
        let log = Log::default();
        let _older = source.token().register(log.writes("older"));
        let (again, write) = (Arc::clone(&source), log.writes("newer"));
        let _newer = source.token().register(move || {
            again.cancel();
            write();
        });
        source.cancel();
        assert_eq!(log.take(), ["newer", "older"]);
    });
}

#[test]
fn every_callback_runs_even_if_some_panic_and_the_panics_go_on_together() {
    let (source, log) = (TokenSource::new(), Log::default());
    let token = source.token();
    let _registrations = (
        token.register(log.writes("first")),
        token.register(|| blow("oh")),
        token.register(log.writes("second")),
        token.register(|| blow("dear")),
        token.register(log.writes("third")),
    );
    let payloads = panics_of(|| source.cancel());
    assert_eq!(
        payloads.iter().map(message_of).collect::<Vec<_>>(),
        ["dear", "oh"]
    );
    assert_eq!(log.take(), ["third", "second", "first"]);
    assert!(token.is_cancelled());
    source.cancel();
    let single = TokenSource::new();
    let _registration = single.token().register(|| blow(7_u8));
    let payloads = panics_of(|| single.cancel());
    assert_eq!(payloads[0].downcast_ref::<u8>(), Some(&7));
}

#[test]
fn a_linked_source_is_cancelled_by_any_of_its_parents() {
    for which in 0..50 {
        let parents: Vec<_> = (0..50).map(|_| TokenSource::new()).collect();
        let tokens: Vec<_> = parents.iter().map(TokenSource::token).collect();
        let child = TokenSource::linked(&tokens);
        assert!(!child.token().is_cancelled());
        parents[which].cancel();
        assert!(child.token().is_cancelled());
        let cancelled = tokens.iter().filter(|token| token.is_cancelled()).count();
        assert_eq!(cancelled, 1);
    }
}

#[test]
fn a_linked_source_never_cancels_its_parents() {
    let (parent, other) = (TokenSource::new(), TokenSource::new());
    let child = TokenSource::linked(&[parent.token(), other.token()]);
    child.cancel();
    assert!(child.token().is_cancelled());
    assert!(!parent.token().is_cancelled() && !other.token().is_cancelled());
    parent.cancel();
}

#[test]
fn a_source_linked_to_a_cancelled_parent_is_born_cancelled() {
    let parent = TokenSource::new();
    parent.cancel();
    let child = TokenSource::linked(&[Token::never(), parent.token()]);
    assert!(child.token().is_cancelled());
    let grandchild = TokenSource::linked(&[child.token()]);
    assert!(grandchild.token().is_cancelled());
    assert!(!TokenSource::linked(&[]).token().is_cancelled());
}

#[test]
fn cancellation_passes_through_generations() {
    let root = TokenSource::new();
    let mut line = vec![TokenSource::linked(&[root.token()])];
    for _ in 0..100 {
        let next = TokenSource::linked(&[line[line.len() - 1].token()]);
        line.push(next);
    }
    let log = Log::default();
    let last = line[line.len() - 1].token();
    let _registration = last.register(log.writes("reached"));
    root.cancel();
    assert_eq!(log.take(), ["reached"]);
    assert!(line.iter().all(|source| source.token().is_cancelled()));
}

#[test]
fn a_token_keeps_the_links_of_its_source() {
    let parent = TokenSource::new();
    let child = |token: &Token| TokenSource::linked(std::slice::from_ref(token)).token();
    // Nothing but the last token is left of the three sources.
    let token = child(&child(&child(&parent.token())));
    let log = Log::default();
    let _registration = token.register(log.writes("reached"));
    let deadline = TokenSource::with_deadline(time::now() + Duration::from_millis(5));
    let of_a_deadline = child(&deadline.token());
    drop(deadline);
    assert!(!token.is_cancelled());
    parent.cancel();
    assert!(token.is_cancelled());
    assert_eq!(log.take(), ["reached"]);
    wait_until("the deadline comes", || of_a_deadline.is_cancelled());
}

#[test]
fn a_source_of_which_nothing_is_left_is_unlinked() {
    let parent = TokenSource::new();
    let owned = Arc::new(());
    let child = TokenSource::linked(&[parent.token()]);
    let theirs = Arc::clone(&owned);
    let registration = child.token().register(move || drop(theirs));
    drop(child);
    assert_eq!(Arc::strong_count(&owned), 1);
    parent.cancel();
    drop(registration);
}

#[test]
fn the_callbacks_of_a_linked_source_run_where_it_was_linked() {
    let (parent, log) = (TokenSource::new(), Log::default());
    let _before = parent.token().register(log.writes("before"));
    let child = TokenSource::linked(&[parent.token()]);
    let _older = child.token().register(log.writes("older"));
    let grandchild = TokenSource::linked(&[child.token()]);
    let _inner = grandchild.token().register(log.writes("inner"));
    let _newer = child.token().register(log.writes("newer"));
    let _after = parent.token().register(log.writes("after"));
    parent.cancel();
    assert_eq!(log.take(), ["after", "newer", "inner", "older", "before"]);
}

#[test]
fn a_long_chain_of_links_needs_no_deep_stack() {
    let chain = || {
        let root = TokenSource::new();
        let mut last = root.token();
        for _ in 0..100_000 {
            last = TokenSource::linked(&[last]).token();
        }
        root.cancel();
        assert!(last.is_cancelled());
    };
    let small = thread::Builder::new().stack_size(256 << 10);
    small.spawn(chain).unwrap().join().unwrap();
}

#[test]
fn a_child_may_be_dropped_while_its_parent_is_being_cancelled() {
    within(60, || {
        for _ in 0..300 {
            let parent = TokenSource::new();
            let child = TokenSource::linked(&[parent.token()]);
            let token = child.token();
            let unused = TokenSource::linked(&[parent.token()]);
            let ran = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&ran);
            let registration = token.register(move || {
                count.fetch_add(1, Ordering::SeqCst);
            });
            let canceller = thread::spawn(move || parent.cancel());
            drop((child, unused));
            canceller.join().unwrap();
            assert!(token.is_cancelled());
            assert_eq!(ran.load(Ordering::SeqCst), 1);
            drop(registration);
        }
    });
}

#[test]
fn the_panics_of_a_childs_callbacks_reach_the_parents_canceller() {
    let parent = TokenSource::new();
    let child = TokenSource::linked(&[parent.token()]);
    let log = Log::default();
    let _older = parent.token().register(log.writes("unaffected"));
    let _registration = child.token().register(|| blow("child"));
    let payloads = panics_of(|| parent.cancel());
    assert_eq!(message_of(&payloads[0]), "child");
    assert_eq!(log.take(), ["unaffected"]);
}

#[test]
fn copies_of_a_token_are_equal_and_others_are_not() {
    let (source, other) = (TokenSource::new(), TokenSource::default());
    assert_eq!(source.token(), source.token());
    assert_eq!(source.token(), source.token().clone());
    assert_ne!(source.token(), other.token());
    assert_ne!(source.token(), Token::never());
    assert_eq!(Token::never(), Token::never());
    assert_ne!(
        TokenSource::linked(&[source.token()]).token(),
        source.token()
    );
}

#[test]
fn the_token_that_is_never_cancelled_never_is() {
    let log = Log::default();
    let token = Token::never();
    assert!(!token.is_cancelled());
    token.check().unwrap();
    drop(token.register(log.writes("never")));
    assert!(log.take().is_empty());
}

#[test]
fn check_says_which_token_was_cancelled() {
    fn work(token: &Token) -> Result<u8, Cancelled> {
        token.check()?;
        Ok(1)
    }
    let source = TokenSource::new();
    let token = source.token();
    assert_eq!(work(&token), Ok(1));
    source.cancel();
    let cancelled = work(&token).unwrap_err();
    assert_eq!(cancelled.token(), &token);
    assert_eq!(cancelled.to_string(), "the call was cancelled");
    assert_eq!(cancelled, token.check().unwrap_err());
}

#[test]
fn dropping_a_source_does_not_cancel() {
    let source = TokenSource::new();
    let token = source.token();
    drop(source);
    assert!(!token.is_cancelled());
    token.check().unwrap();
}

#[test]
fn of_many_cancellers_and_registrants_each_callback_runs_exactly_once() {
    within(60, || {
        for _ in 0..100 {
            let source = TokenSource::new();
            let ran = Arc::new(AtomicUsize::new(0));
            thread::scope(|threads| {
                for _ in 0..2 {
                    threads.spawn(|| source.cancel());
                    threads.spawn(|| {
                        let kept: Vec<_> = (0..20)
                            .map(|_| {
                                let ran = Arc::clone(&ran);
                                source.token().register(move || {
                                    ran.fetch_add(1, Ordering::SeqCst);
                                })
                            })
                            .collect();
                        let cancelled = || source.token().is_cancelled();
                        assert!(holds_within(Duration::from_secs(20), cancelled));
                        let all = || ran.load(Ordering::SeqCst) == 40;
                        assert!(holds_within(Duration::from_secs(20), all));
                        drop(kept);
                    });
                }
            });
            assert_eq!(ran.load(Ordering::SeqCst), 40);
        }
    });
}

#[test]
fn a_future_that_runs_until_it_is_cancelled_is_kept_once() {
    let large = async {
        let kept = [0_u8; 10_000];
        std::future::pending::<()>().await;
        kept
    };
    let alone = size_of_val(&large);
    let source = TokenSource::new();
    let token = source.token();
    let whole = size_of_val(&token.run_until_cancelled(large));
    assert!(whole < alone + 200, "{whole} bytes for {alone}");
}
