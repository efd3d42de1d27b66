//! What the driver does, event by event.

mod places;

use super::*;

const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Patience = Patience {
    lease: LEASE,
    no_workers: Duration::from_secs(10),
    deaths_max: 3,
    retries: 0,
};

/// A driver whose clock is set by hand.
struct Bench {
    driver: Driver,
    now: Duration,
}

impl Bench {
    fn new() -> Self {
        Self {
            driver: Driver::new("own".to_owned()),
            now: Duration::ZERO,
        }
    }

    fn submit(&mut self, range: Range<u64>) -> (JobId, Vec<Action>) {
        self.submit_within(range, None)
    }

    fn submit_within(
        &mut self,
        range: Range<u64>,
        limit: Option<Duration>,
    ) -> (JobId, Vec<Action>) {
        let spec = Spec {
            function: "f".to_owned(),
            captures: vec![1].into(),
            values: Vec::new(),
            range,
            limit,
            patience: PATIENCE,
        };
        self.driver.submit(spec, self.now)
    }

    fn submit_patiently(&mut self, range: Range<u64>, patience: Patience) -> (JobId, Vec<Action>) {
        let spec = Spec {
            function: "f".to_owned(),
            captures: vec![1].into(),
            values: Vec::new(),
            range,
            limit: None,
            patience,
        };
        self.driver.submit(spec, self.now)
    }

    fn say(&mut self, worker: u64, message: FromWorker) -> Vec<Action> {
        let event = Event::Message(WorkerId(worker), message);
        self.driver.handle(event, self.now)
    }

    fn hello(&mut self, worker: u64, build: &str) -> Vec<Action> {
        let hello = Hello {
            protocol: PROTOCOL,
            build: build.to_owned(),
            host: format!("host {worker}"),
            replaces: None,
        };
        self.say(worker, FromWorker::Hello(hello))
    }

    fn leave(&mut self, worker: u64) -> Vec<Action> {
        self.driver.handle(Event::Left(WorkerId(worker)), self.now)
    }

    fn after(&mut self, time: Duration) -> Vec<Action> {
        self.now += time;
        self.driver.handle(Event::Tick, self.now)
    }

    fn done(&mut self, worker: u64, attempt: Attempt) -> Vec<Action> {
        let took_nanos = 1_000_000;
        let bytes = vec![0];
        self.say(
            worker,
            FromWorker::Done {
                attempt,
                took_nanos,
                bytes,
            },
        )
    }

    fn failed(&mut self, worker: u64, attempt: Attempt) -> Vec<Action> {
        let failure = Failure::Panicked {
            range: 0..1,
            message: "no".to_owned(),
        };
        self.say(worker, FromWorker::Failed { attempt, failure })
    }

    fn beat(&mut self, worker: u64, held: Vec<Attempt>) -> Vec<Action> {
        self.say(worker, FromWorker::Beat { held })
    }
}

/// The chunks that are handed out, and to whom.
fn runs(actions: &[Action]) -> Vec<(u64, Attempt, Range<u64>)> {
    let run = |action: &Action| match action {
        Action::Send(worker, ToWorker::Run { attempt, range }) => {
            Some((worker.0, *attempt, range.clone()))
        }
        _ => None,
    };
    actions.iter().filter_map(run).collect()
}

fn end(actions: &[Action]) -> Option<&Result<(), ClusterError>> {
    actions.iter().find_map(|action| match action {
        Action::End { outcome, .. } => Some(outcome),
        _ => None,
    })
}

#[test]
fn captures_go_to_a_worker_once_and_before_its_first_chunk() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (job, actions) = bench.submit(0..3);
    let kinds: Vec<&str> = actions
        .iter()
        .map(|action| match action {
            Action::Send(_, ToWorker::Captures { .. }) => "captures",
            Action::Send(_, ToWorker::Run { .. }) => "run",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["captures", "run", "run"]);
    let more = bench.done(1, runs(&actions)[0].1);
    assert_eq!(runs(&more).len(), 1);
    let again = bench.say(1, FromWorker::NeedsCaptures { job });
    assert!(
        matches!(&again[..], [Action::Send(_, ToWorker::Captures { .. })]),
        "asked for, they are sent again: {again:?}"
    );
}

#[test]
fn a_worker_of_another_build_gets_no_work_and_is_counted() {
    let mut bench = Bench::new();
    bench.submit(0..9);
    for _ in 0..2 {
        let actions = bench.hello(1, "other");
        let refused = |action: &Action| matches!(action, Action::Send(_, ToWorker::Refused { .. }));
        assert!(refused(&actions[0]), "{actions:?}");
        assert_eq!(actions[1..], [Action::Forget(WorkerId(1))]);
    }
    assert!(bench.beat(1, Vec::new()).is_empty());
    let actions = bench.after(Duration::from_secs(11));
    let waited = Duration::from_secs(11);
    let expected = Err(ClusterError::NoWorkers {
        build: "own".to_owned(),
        waited,
        refused: 1,
    });
    assert_eq!(end(&actions), Some(&expected));
}

#[test]
fn a_worker_of_another_protocol_gets_no_work() {
    let mut bench = Bench::new();
    bench.submit(0..9);
    let hello = Hello {
        protocol: PROTOCOL + 1,
        build: "own".to_owned(),
        host: String::new(),
        replaces: None,
    };
    let actions = bench.say(1, FromWorker::Hello(hello));
    assert!(runs(&actions).is_empty(), "{actions:?}");
}

#[test]
fn a_worker_that_joins_late_gets_work() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    bench.submit(0..9);
    let actions = bench.hello(2, "own");
    assert_eq!(runs(&actions).len(), HELD_MAX);
}

#[test]
fn what_a_dead_worker_held_goes_to_another_one() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, actions) = bench.submit(0..2);
    assert_eq!(runs(&actions).len(), 2);
    bench.leave(1);
    let actions = bench.hello(2, "own");
    // The first of them may have killed the worker, and runs alone.
    let again = runs(&actions);
    assert_eq!(again.len(), 1, "{actions:?}");
    assert_eq!(again[0].1.number, 2);
}

#[test]
fn a_chunk_that_kills_its_workers_is_given_up_and_not_its_neighbour() {
    let mut bench = Bench::new();
    let (_, _) = bench.submit(0..2);
    let mut ended = None;
    let mut deaths = 0;
    for worker in 1..20 {
        let mut given = runs(&bench.hello(worker, "own"));
        // Each worker runs what it is given, in order, until it meets the second item.
        while ended.is_none() && !given.is_empty() {
            let (_, attempt, range) = given.remove(0);
            let actions = if range.contains(&1) {
                deaths += 1;
                given.clear();
                bench.leave(worker)
            } else {
                bench.done(worker, attempt)
            };
            given.extend(runs(&actions));
            ended = end(&actions).cloned();
        }
        if ended.is_some() {
            break;
        }
    }
    let lost = ClusterError::ChunkLost {
        range: 1..2,
        deaths: 3,
    };
    assert_eq!((ended, deaths), (Some(Err(lost)), 3));
}

#[test]
fn a_silent_worker_loses_its_chunks_and_may_come_back() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, actions) = bench.submit(0..1);
    let (_, first, _) = runs(&actions)[0].clone();
    bench.hello(2, "own");
    bench.after(LEASE);
    let actions = bench.beat(2, Vec::new());
    assert!(runs(&actions).is_empty(), "the lease is not over");
    bench.now += Duration::from_millis(1);
    let actions = bench.beat(2, Vec::new());
    let again = runs(&actions);
    assert_eq!(again[0].1, Attempt { number: 2, ..first });
    let actions = bench.done(1, first);
    assert_eq!(end(&actions), Some(&Ok(())), "its answer is as good");
    let (_, actions) = bench.submit(0..1);
    assert_eq!(
        runs(&actions)[0].0,
        1,
        "it works again: the other one holds something"
    );
}

#[test]
fn a_worker_that_is_silent_again_and_again_has_not_died() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, actions) = bench.submit(0..1);
    let mut given = runs(&actions);
    for pause in 0..10 {
        bench.after(Duration::from_secs(5));
        // It goes on with what it held, and is given that once more.
        let (_, attempt, _) = given.remove(0);
        let actions = bench.beat(1, vec![attempt]);
        assert_eq!(end(&actions), None, "pause {pause}");
        given = runs(&actions);
    }
    let (_, attempt, _) = given.remove(0);
    assert_eq!(end(&bench.done(1, attempt)), Some(&Ok(())));
}

#[test]
fn a_death_that_is_seen_late_counts_against_what_the_worker_ran() {
    let mut bench = Bench::new();
    bench.submit(0..1);
    let mut ended = None;
    for worker in 1..=3 {
        bench.hello(worker, "own");
        bench.after(Duration::from_secs(5));
        ended = end(&bench.leave(worker)).cloned();
    }
    let lost = ClusterError::ChunkLost {
        range: 0..1,
        deaths: 3,
    };
    assert_eq!(ended, Some(Err(lost)));
}

#[cfg(feature = "nats")]
#[test]
fn a_worker_whose_long_message_comes_keeps_its_chunks() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    bench.hello(2, "own");
    let (_, actions) = bench.submit(0..1);
    let (worker, attempt, _) = runs(&actions).remove(0);
    for _ in 0..10 {
        bench.now += LEASE;
        let event = Event::Arriving(WorkerId(worker));
        let actions = bench.driver.handle(event, bench.now);
        assert!(runs(&actions).is_empty(), "{actions:?}");
    }
    assert_eq!(end(&bench.done(worker, attempt)), Some(&Ok(())));
}

#[test]
fn a_chunk_whose_worker_does_not_hold_it_is_handed_out_again_without_blame() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, actions) = bench.submit(0..1);
    let (_, lost, _) = runs(&actions)[0].clone();
    for _ in 0..10 {
        // The worker is there, and has not got the chunk: the message was lost.
        bench.now += LEASE / 2;
        bench.beat(1, Vec::new());
    }
    let driver = &bench.driver;
    let held = &driver.workers[&WorkerId(1)].held;
    assert!(
        held[0].attempt.number > 1 && !held[0].is_suspect,
        "{held:?}"
    );
    let again = held[0].attempt;
    for _ in 0..10 {
        bench.now += LEASE / 2;
        assert!(runs(&bench.beat(1, vec![again])).is_empty(), "it holds it");
    }
    assert_eq!(end(&bench.done(1, lost)), Some(&Ok(())));
}

#[test]
fn results_come_once_however_often_a_worker_answers() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (job, actions) = bench.submit(0..2);
    let given = runs(&actions);
    let results = |actions: &[Action]| {
        let results = actions.iter();
        results
            .filter(|action| matches!(action, Action::Results { .. }))
            .count()
    };
    assert_eq!(results(&bench.done(1, given[0].1)), 1);
    assert_eq!(results(&bench.done(1, given[0].1)), 0);
    assert!(
        end(&bench.failed(1, given[0].1)).is_none(),
        "it has succeeded"
    );
    let last = bench.done(1, given[1].1);
    assert_eq!((results(&last), end(&last)), (1, Some(&Ok(()))));
    assert_eq!(results(&bench.done(1, given[1].1)), 0, "{job:?} has ended");
}

#[test]
fn an_answer_to_an_ended_call_does_not_count_for_the_next() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (first, actions) = bench.submit(0..1);
    let (_, old, _) = runs(&actions)[0].clone();
    bench.driver.handle(Event::Cancel(first), bench.now);
    bench.submit(0..1);
    let actions = bench.done(1, old);
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::Results { .. }))
    );
    // And a worker that still holds something of it is reminded.
    let actions = bench.beat(1, vec![old]);
    let forget = Action::Send(WorkerId(1), ToWorker::Forget { job: first });
    assert!(actions.contains(&forget), "{actions:?}");
}

#[test]
fn a_panic_ends_the_call_with_its_host_and_the_workers_forget_it() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (job, actions) = bench.submit(0..9);
    let actions = bench.failed(1, runs(&actions)[0].1);
    let panicked = Err(ClusterError::BodyPanicked {
        range: 0..1,
        message: "no".to_owned(),
        host: "host 1".to_owned(),
    });
    assert_eq!(end(&actions), Some(&panicked));
    let forget = Action::Send(WorkerId(1), ToWorker::Forget { job });
    assert!(actions.contains(&forget), "{actions:?}");
}

#[test]
fn a_deadline_ends_the_call_also_while_workers_are_well() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, _) = bench.submit_within(0..9, Some(Duration::from_secs(1)));
    assert_eq!(end(&bench.after(Duration::from_millis(999))), None);
    let actions = bench.after(Duration::from_millis(1));
    assert_eq!(end(&actions), Some(&Err(ClusterError::DeadlinePassed)));
}

#[test]
fn nothing_is_kept_of_a_call_that_has_ended() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let (_, actions) = bench.submit_within(0..1, Some(Duration::from_secs(1)));
    let (_, attempt, _) = runs(&actions).remove(0);
    let actions = bench.done(1, attempt);
    assert_eq!(end(&actions), Some(&Ok(())));
    assert!(!bench.driver.has_jobs() && bench.driver.deadlines.is_empty());
}

#[test]
fn two_calls_take_turns() {
    let mut bench = Bench::new();
    let (first, _) = bench.submit(0..1_000_000);
    let (second, _) = bench.submit(0..1_000_000);
    let mut given = runs(&bench.hello(1, "own"));
    let mut counts = BTreeMap::new();
    for _ in 0..10 {
        let (_, attempt, _) = given.remove(0);
        *counts.entry(attempt.job).or_insert(0) += 1;
        given.extend(runs(&bench.done(1, attempt)));
    }
    assert_eq!(counts, BTreeMap::from([(first, 5), (second, 5)]));
}

#[test]
fn an_empty_range_ends_at_once_without_workers() {
    let mut bench = Bench::new();
    let (_, actions) = bench.submit(5..5);
    assert_eq!(end(&actions), Some(&Ok(())));
}

#[test]
fn calls_wait_for_their_first_worker_and_not_for_ever() {
    let mut bench = Bench::new();
    bench.now = Duration::from_secs(100);
    bench.submit(0..1);
    assert_eq!(end(&bench.after(Duration::from_secs(10))), None);
    let actions = bench.after(Duration::from_secs(1));
    assert!(matches!(
        end(&actions),
        Some(Err(ClusterError::NoWorkers { .. }))
    ));
}

#[test]
fn a_chunk_that_fails_is_run_again_as_often_as_it_may() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let patience = Patience {
        retries: 2,
        ..PATIENCE
    };
    let (_, actions) = bench.submit_patiently(0..1, patience);
    let mut given = runs(&actions);
    for number in 1..=2 {
        let (_, attempt, _) = given.remove(0);
        let actions = bench.failed(1, attempt);
        assert_eq!(end(&actions), None, "{number}");
        given = runs(&actions);
        assert_eq!(given[0].1.number, number + 1);
        // Said twice it has happened once.
        assert!(bench.failed(1, attempt).is_empty());
    }
    let failed = bench.failed(1, given[0].1);
    assert!(matches!(
        end(&failed),
        Some(Err(ClusterError::BodyPanicked { .. }))
    ));
}

/// What of broadcast values a worker is sent.
fn values(actions: &[Action]) -> Vec<String> {
    let value = |action: &Action| match action {
        Action::Send(worker, ToWorker::Value { .. }) => Some(format!("value to {}", worker.0)),
        Action::Send(worker, ToWorker::Drop { .. }) => Some(format!("drop at {}", worker.0)),
        _ => None,
    };
    actions.iter().filter_map(value).collect()
}

#[test]
fn a_broadcast_value_goes_to_each_worker_once_and_is_dropped_when_nobody_has_it() {
    let mut bench = Bench::new();
    bench.hello(1, "own");
    let table = crate::Broadcast::new(vec![7_u8; 9]);
    let call = |bench: &mut Bench| {
        let (captures, values) = crate::broadcast::captured(&table).unwrap();
        let spec = Spec {
            function: "f".to_owned(),
            captures,
            values,
            range: 0..1,
            limit: None,
            patience: PATIENCE,
        };
        bench.driver.submit(spec, bench.now)
    };
    let (_, first) = call(&mut bench);
    assert_eq!(values(&first), ["value to 1"]);
    bench.done(1, runs(&first)[0].1);
    let (job, second) = call(&mut bench);
    assert!(values(&second).is_empty(), "the worker has it");
    // Lost with its call, it is asked for with its call.
    let asked = bench.say(1, FromWorker::NeedsCaptures { job });
    assert_eq!(values(&asked), ["value to 1"]);
    let (_, third) = call(&mut bench);
    let late = bench.hello(2, "own");
    assert!(values(&third).is_empty() && values(&late).is_empty() && runs(&late).is_empty());
    drop(table);
    // Calls that run still have it.
    let ends = [runs(&second)[0].1, runs(&third)[0].1].map(|attempt| bench.done(1, attempt));
    assert_eq!(
        ends.map(|actions| values(&actions)),
        [vec![], vec!["drop at 1".to_owned()]]
    );
}

#[test]
fn times_that_are_longer_than_any_clock_are_for_ever() {
    let mut bench = Bench::new();
    bench.after(Duration::from_secs(1));
    bench.hello(1, "own");
    bench.submit_within(0..1, Some(Duration::MAX));
    let patience = Patience {
        lease: Duration::MAX,
        no_workers: Duration::MAX,
        ..PATIENCE
    };
    let (_, actions) = bench.submit_patiently(0..1, patience);
    let (_, attempt, _) = runs(&actions).remove(0);
    bench.beat(1, vec![attempt]);
    assert_eq!(end(&bench.after(Duration::from_secs(86_400))), None);
}

#[test]
fn a_panic_that_is_said_to_be_outside_of_its_chunk_is_somewhere_in_it() {
    let backwards = Range { start: 6, end: 5 };
    for said in [5..6, 4..6, 5..7, 9..12, backwards] {
        let mut bench = Bench::new();
        bench.hello(1, "own");
        let (_, actions) = bench.submit(5..7);
        let (_, attempt, chunk) = runs(&actions).remove(0);
        let failure = Failure::Panicked {
            range: said,
            message: "no".to_owned(),
        };
        let actions = bench.say(1, FromWorker::Failed { attempt, failure });
        let expected = Err(ClusterError::BodyPanicked {
            range: chunk,
            message: "no".to_owned(),
            host: "host 1".to_owned(),
        });
        assert_eq!(end(&actions), Some(&expected));
    }
}
