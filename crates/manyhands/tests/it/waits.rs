//! A token ends every wait of the library, and one that is cancelled before wins against what is there.

use crate::support::{on_runtime, within};
use futures::{FutureExt, StreamExt, select_biased};
use manyhands::cancel::{Token, TokenSource};
use manyhands::simulation::Simulation;
use manyhands::{channel, parallel, task, time};
use std::collections::VecDeque;
use std::future::pending;
use std::time::Duration;

/// What every wait of this test is wrapped in: cancelled while it waits, on a thread that blocks and in a task.
fn is_ended_by_a_token<F, Fut>(what: &str, wait: F)
where
    F: Fn() -> Fut + Send + Sync + Clone + 'static,
    Fut: Future + Send + 'static,
{
    let what = what.to_owned();
    on_runtime(2, move |runtime| {
        let _entered = runtime.enter();
        let source = TokenSource::new();
        let waiting = |token: Token, wait: F| async move {
            let result = token.run_until_cancelled(wait()).await;
            result.map(drop).unwrap_err().token() == &token
        };
        let in_task = task::spawn(waiting(source.token(), wait.clone()));
        let token = source.token();
        let blocking = std::thread::spawn(move || task::block_on(waiting(token, wait)));
        assert!(!in_task.is_finished() && !blocking.is_finished(), "{what}");
        source.cancel();
        assert!(in_task.join().unwrap(), "{what}");
        assert!(blocking.join().unwrap(), "{what}");
    });
}

#[test]
fn a_token_ends_every_wait() {
    const HOUR: Duration = Duration::from_secs(3600);
    is_ended_by_a_token("sleep", || time::sleep(HOUR));
    is_ended_by_a_token("tick", || async {
        time::interval_at(time::now() + HOUR, HOUR).tick().await
    });
    is_ended_by_a_token("timeout", || time::timeout(HOUR, pending::<()>()));
    is_ended_by_a_token("join", || task::spawn(pending::<()>()));
    is_ended_by_a_token("when_all", || {
        task::when_all([task::spawn(pending::<()>())])
    });
    is_ended_by_a_token("when_any", || {
        task::when_any([task::spawn(pending::<()>())])
    });
    is_ended_by_a_token("completion", || async {
        let (_completer, completion) = task::completion::<u8>();
        completion.await
    });
    is_ended_by_a_token("receive", || async {
        let (_sender, receiver) = channel::unbounded::<u8>();
        receiver.recv().await
    });
    is_ended_by_a_token("receive many", || async {
        let (_sender, receiver) = channel::bounded::<u8>(0);
        receiver.recv_many(&mut Vec::new(), 9).await
    });
    is_ended_by_a_token("send", || async {
        let (sender, _receiver) = channel::bounded(0);
        sender.send(1).await
    });
    is_ended_by_a_token("send many", || async {
        let (sender, _receiver) = channel::bounded(1);
        sender.send_many(&mut VecDeque::from([1, 2])).await
    });
    is_ended_by_a_token("drain", || async {
        let (sender, _receiver) = channel::unbounded();
        sender.send_blocking(1).unwrap();
        sender.close();
        sender.wait_drained().await
    });
    is_ended_by_a_token("broadcast", || async {
        let (_sender, mut receiver) = channel::broadcast::<u8>(1);
        receiver.recv().await
    });
    is_ended_by_a_token("watch", || async {
        let (_sender, mut receiver) = channel::watch(1);
        receiver.changed().await.map(drop)
    });
    is_ended_by_a_token("async loop", || {
        parallel::for_each_async(0..9, |_| pending())
    });
}

#[test]
fn what_is_cancelled_before_is_cancelled_even_if_it_could_finish() {
    within(20, || {
        let source = TokenSource::new();
        source.cancel();
        let token = source.token();
        let (sender, receiver) = channel::unbounded();
        sender.send_blocking(1).unwrap();
        let taken = task::block_on(token.run_until_cancelled(receiver.recv()));
        assert_eq!(taken.unwrap_err().token(), &token);
        let sent = task::block_on(token.run_until_cancelled(sender.send(2)));
        assert!(sent.is_err());
        drop(sender);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1]);
    });
}

#[test]
fn several_channels_and_a_timer_are_selected_over() {
    let run = Simulation::new(1).run(async {
        let start = time::now();
        let (number, numbers) = channel::unbounded();
        let (letter, letters) = channel::unbounded();
        task::spawn(async move {
            time::sleep(Duration::from_millis(3)).await;
            number.send_blocking(1).unwrap();
            time::sleep(Duration::from_millis(4)).await;
            letter.send_blocking('a').unwrap();
            time::sleep(Duration::from_secs(1)).await;
        });
        let (mut numbers, mut letters) = (numbers.into_stream(), letters.into_stream());
        let mut limit = Box::pin(time::sleep(Duration::from_millis(10)).fuse());
        let mut seen = Vec::new();
        loop {
            let what = select_biased! {
                number = numbers.next() => format!("{number:?}"),
                letter = letters.next() => format!("{letter:?}"),
                () = limit => break,
            };
            seen.push((what, (time::now() - start).as_millis()));
        }
        seen
    });
    let expected = [("Some(1)", 3), ("Some('a')", 7)].map(|(what, at)| (what.to_owned(), at));
    assert_eq!(run.unwrap(), expected);
}
