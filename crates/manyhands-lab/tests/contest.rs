//! Contests with real processes: this program is the parent, and also each contender's process.
//!
//! It has a main function of its own, because a contender's process may print nothing but answers.

use manyhands_lab::{
    clock::Stopwatch,
    contest::{
        Arm, CaseResult, Contest, Lifetime, MIN_ROUNDS, Request, Sample, Verdict, end_with_parent,
        say_absent, serve,
    },
};
use std::{env, fs, process, thread, time::Duration};

fn main() {
    let words: Vec<String> = env::args().collect();
    match words.get(1..).unwrap_or_default() {
        [child, problem, contender] if child == "child" => {
            end_with_parent();
            assert_eq!(problem, PROBLEM);
            answer_as(contender);
        }
        _ => {
            every_arm_measures_once_a_round_and_has_an_interval();
            a_contender_that_fails_is_marked_and_the_others_are_not();
            processes_are_kept_or_fresh();
            what_has_answered_is_stopped();
        }
    }
}

/// One contender, until the parent closes the pipe.
fn answer_as(contender: &str) {
    let mut asked = 0;
    let value = match contender {
        "steady" => 100.0,
        "twice" => 200.0,
        "wrong" | "dies" | "refuses" => 1.0,
        _ => return say_absent("there is no such contender"),
    };
    serve(|request| {
        asked += 1;
        match contender {
            "dies" => process::abort(),
            "refuses" => Err(format!("cannot do '{}'", request.case)),
            _ => Ok(Sample {
                checksum: u64::from(contender == "wrong"),
                values: vec![value, f64::from(process::id()), f64::from(asked)],
            }),
        }
    });
}

fn every_arm_measures_once_a_round_and_has_an_interval() {
    let arms = [
        STEADY,
        Arm::contender("twice"),
        Arm::contender("wrong").of(&["other"]),
    ];
    let mut contest = Contest::new(PROBLEM, &arms, Lifetime::Kept, 7);
    let result = contest.run(&request(), MIN_ROUNDS);
    let ratio = result.ratio("twice", "steady", VALUE);
    let ratio = ratio.expect("both were measured");
    assert_eq!((ratio.median, ratio.interval), (2.0, Some((2.0, 2.0))));
    assert_eq!(
        result.verdict("wrong"),
        None,
        "it takes part in another case"
    );
    assert!(!result.is_quick_look());
}

fn a_contender_that_fails_is_marked_and_the_others_are_not() {
    let names = ["wrong", "dies", "refuses", "missing"];
    let arms: Vec<Arm> = [STEADY]
        .into_iter()
        .chain(names.map(Arm::contender))
        .collect();
    let mut contest = Contest::new(PROBLEM, &arms, Lifetime::Kept, 7);
    let result = contest.run(&request(), 2);
    let failed = |message: &str| Some(Verdict::Failed(message.to_owned()));
    let verdict = |label| result.verdict(label).cloned();
    assert_eq!(verdict("wrong"), failed("checksum 1, expected 0"));
    assert_eq!(verdict("refuses"), failed("cannot do 'case 1'"));
    let absent = Verdict::Absent("there is no such contender".to_owned());
    assert_eq!(verdict("missing"), Some(absent));
    match verdict("dies") {
        Some(Verdict::Failed(message)) => assert!(message.contains("ended"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(values(&result, "steady", VALUE), [100.0, 100.0]);
    // The next case begins with a process of its own for those that failed.
    let again = contest.run(&request(), 1);
    assert!(matches!(again.verdict("dies"), Some(Verdict::Failed(_))));
}

fn processes_are_kept_or_fresh() {
    let asked = |lifetime| {
        let mut contest = Contest::new(PROBLEM, &[STEADY], lifetime, 7);
        let result = contest.run(&request(), 3);
        values(&result, "steady", ASKED)
    };
    assert_eq!(asked(Lifetime::Kept), [1.0, 2.0, 3.0]);
    assert_eq!(asked(Lifetime::PerMeasurement), [1.0, 1.0, 1.0]);
}

fn what_has_answered_is_stopped() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let mut contest = Contest::new(PROBLEM, &[STEADY], Lifetime::Kept, 7);
    let result = contest.run(&request(), 1);
    let id = values(&result, "steady", ID)[0];
    let watch = Stopwatch::start();
    while state(id) != Some('T') {
        assert!(watch.elapsed() < DEADLINE, "{:?}", state(id));
        thread::yield_now();
    }
    drop(contest);
    assert_eq!(state(id), None, "its process has ended");
}

/// As the system says it: `T` is stopped. `None` if there is no such process.
fn state(id: f64) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    rest.chars().next()
}

fn values(result: &CaseResult, label: &str, index: usize) -> Vec<f64> {
    result.values(label, index).expect("it was measured")
}

fn request() -> Request {
    Request {
        case: "case 1".to_owned(),
        window: Duration::from_millis(1),
    }
}

const PROBLEM: &str = "problem";
const STEADY: Arm = Arm::base("steady", "steady");
/// Places among a sample's values.
const VALUE: usize = 0;
const ID: usize = 1;
const ASKED: usize = 2;
const DEADLINE: Duration = Duration::from_secs(60);
