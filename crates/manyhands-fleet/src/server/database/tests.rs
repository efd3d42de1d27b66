//! Plans, jobs and runs in a file, as the server changes them.

mod often;

use super::super::runs::{Judgement, Standing};
use super::*;
use crate::{
    measured::{Measured, head_of},
    watch::job_state,
    wire::{LinesDigest, News, Note, Report, Within, a_job, new_ticket},
};
use manyhands_lab::machine::Machine;
use std::{sync::mpsc, time::Duration};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A request to have a job done anew.
fn anew(job: &str) -> Anew {
    Anew {
        job: name(job),
        ticket: new_ticket(),
    }
}

fn note(run: &str, news: News) -> Note {
    Note {
        agent: name("agent"),
        job: name("p.0"),
        ticket: name("t"),
        run: name(run),
        news,
    }
}

fn line(run: &str, first: u64, text: &str) -> Note {
    let (first, texts) = (Within::nearest(first), vec![text.to_owned()]);
    let texts = texts.try_into().unwrap();
    note(run, News::Lines { first, texts })
}

fn done(run: &str) -> Note {
    let news = News::Done {
        lines: Within::nearest(2),
        sha256: name("x"),
        sending: name("x"),
        machine: Some(name("large")),
    };
    note(run, news)
}

fn beat(run: &str, agent: &str) -> Note {
    let news = News::Beat {
        events: Within::nearest(0),
        left_seconds: Within::nearest(0),
        machine: None,
    };
    Note {
        agent: name(agent),
        ..note(run, news)
    }
}

/// The lines of a command's run.
fn texts() -> [String; 2] {
    let work = a_job().work;
    let machine = Machine {
        cpus: 2,
        ..Machine::default()
    };
    let head = head_of(&work, &[], machine, "2026-11-23T12:00:00Z").unwrap();
    let outcome = "{\"wall_nanos\":1500000000,\"status\":0,\"output\":\"\",\"errors\":\"\"}";
    [serde_json::to_string(&head).unwrap(), outcome.to_owned()]
}

fn lines(run: &str) -> [Note; 2] {
    let [head, outcome] = texts();
    [line(run, 0, &head), line(run, 1, &outcome)]
}

fn sha256(texts: &[String]) -> Name {
    let mut digest = LinesDigest::default();
    texts.iter().for_each(|text| digest.add(text));
    digest.hex()
}

fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("x")).unwrap();
    (folder, database)
}

/// A database with a plan of one job.
fn with_plan() -> (tempfile::TempDir, Database) {
    let (folder, mut database) = database();
    plan(&mut database, &["p.0"]);
    (folder, database)
}

fn store(database: &mut Database, notes: &[Note]) -> Vec<Standing> {
    store_at(database, notes, BEGUN)
}

/// The same, with the number of seconds at which the engine got them.
fn store_at(database: &mut Database, notes: &[Note], seconds: u64) -> Vec<Standing> {
    let reports: Vec<Report> = notes.iter().cloned().map(Report::Job).collect();
    let sent = Duration::from_secs(seconds);
    let dated: Vec<_> = reports.iter().map(|report| (report, sent)).collect();
    database.store(&dated).unwrap()
}

fn fail(database: &mut Database, note: &Note, reason: &str) -> bool {
    database.fail(note, &Text::of(reason)).unwrap()
}

/// Seconds since 1970: some time in 2026.
const BEGUN: u64 = 1_800_000_000;

fn judge(database: &mut Database, run: &str) -> Judgement {
    let sha256 = sha256(&texts());
    database.judge(&done(run), 2, &sha256, &[]).unwrap()
}

fn hand_out_again(database: &mut Database) -> Vec<(Job, u64)> {
    database.hand_out_again(&HashSet::new()).unwrap()
}

#[test]
fn a_run_counts_when_all_its_lines_are_there_whatever_their_order_and_number_of_copies() {
    let (_folder, mut database) = with_plan();
    let [head, event] = lines("r");
    store(&mut database, &[event.clone(), done("r")]);
    assert_eq!(judge(&mut database, "r"), Judgement::Missing);
    store(&mut database, &[head, event.clone(), event]);
    for _ in 0..2 {
        assert_eq!(judge(&mut database, "r"), Judgement::Counts);
    }
    assert_eq!(database.lines("r").unwrap(), texts());
    let run = database.jobs("p").unwrap().remove(0).run.unwrap();
    assert_eq!(run.answer.as_deref(), Some("status 0 after 1.5 s"));
}

#[test]
fn a_line_that_differs_is_wanted_again() {
    let (_folder, mut database) = with_plan();
    let [head, event] = lines("r");
    store(&mut database, &[head, line("r", 1, "other")]);
    assert_eq!(judge(&mut database, "r"), Judgement::Differs);
    database.forget_lines(&name("r")).unwrap();
    store(&mut database, &[line("r", 0, &texts()[0]), event]);
    assert_eq!(judge(&mut database, "r"), Judgement::Counts);
}

#[test]
fn of_two_runs_of_a_job_the_first_counts() {
    let (_folder, mut database) = with_plan();
    for run in ["first", "second"] {
        store(&mut database, &lines(run));
    }
    assert_eq!(judge(&mut database, "first"), Judgement::Counts);
    assert_eq!(judge(&mut database, "second"), Judgement::Superseded);
    assert_eq!(judge(&mut database, "first"), Judgement::Counts);
}

#[test]
fn nobody_reports_of_a_job_that_was_not_given_to_it_or_by_the_run_of_another() {
    let (_folder, mut database) = database();
    plan(&mut database, &["p.0", "p.1"]);
    let [head, _] = lines("r");
    assert_eq!(
        store(&mut database, std::slice::from_ref(&head)),
        [Standing::Right]
    );
    let of_another_job = Note {
        job: name("p.1"),
        ..done("r")
    };
    let of_another_agent = Note {
        agent: name("mallory"),
        ..head.clone()
    };
    let without_a_ticket = Note {
        ticket: name("guessed"),
        run: name("s"),
        ..done("s")
    };
    let of_no_job = Note {
        job: name("q.0"),
        run: name("s"),
        ..done("s")
    };
    let notes = [
        of_another_job,
        of_another_agent,
        without_a_ticket,
        of_no_job,
    ];
    let (other, none) = (Standing::OfAnother, Standing::NotGiven);
    assert_eq!(store(&mut database, &notes), [other, other, none, none]);
    assert_eq!(
        database.spent("p").unwrap().len(),
        1,
        "only the first run is known"
    );
}

#[test]
fn a_job_says_which_agent_has_begun_it_and_then_what_was_found() {
    let (_folder, mut database) = with_plan();
    let says = |database: &Database| job_state(&database.jobs("p").unwrap()[0]);
    assert_eq!(says(&database), None);
    store(&mut database, &[beat("r", "agent")]);
    assert_eq!(says(&database).as_deref(), Some("begun by agent"));
    let long_ago = "UPDATE agent SET seen = seen - 130";
    database.0.execute(long_ago, []).unwrap();
    assert_eq!(says(&database), None, "it has died");
    store(&mut database, &[beat("r", "agent")]);
    assert_eq!(says(&database).as_deref(), Some("begun by agent"));
    fail(&mut database, &beat("r", "agent"), "why");
    assert_eq!(says(&database), None);
    store(&mut database, &[beat("s", "agent")]);
    store(&mut database, &lines("s"));
    assert_eq!(says(&database).as_deref(), Some("begun by agent"));
    judge(&mut database, "s");
    let found = "by agent: status 0 after 1.5 s";
    assert_eq!(says(&database).as_deref(), Some(found));
}

#[test]
fn a_run_that_is_not_what_its_job_asks_for_has_failed() {
    let (_folder, mut database) = with_plan();
    let [head, event] = texts();
    let wrong: [&[String]; 7] = [
        &["garbage".to_owned(), event.clone()],
        &[head.clone(), "garbage".to_owned()],
        &[head.replace("\"cpus\":2", "\"cpus\":0"), event.clone()],
        &[
            head.replace("2026-11-23T12:00:00Z", "\\u001b[31m"),
            event.clone(),
        ],
        &[head.replace("2026-", "0001-"), event.clone()],
        &[head.replace("2026-", "9999-"), event.clone()],
        &[head.replace("\"seed\":1", "\"seed\":2"), event],
    ];
    for (number, texts) in wrong.into_iter().enumerate() {
        let run = format!("r{number}");
        assert_ne!(texts[..], self::texts()[..]);
        let notes: Vec<Note> = (0..)
            .zip(texts)
            .map(|(n, text)| line(&run, n, text))
            .collect();
        store(&mut database, &notes);
        let judged = database.judge(&done(&run), 2, &sha256(texts), &[]).unwrap();
        assert_eq!(judged, Judgement::Refused, "{texts:?}");
    }
    let failed = database.jobs("p").unwrap().remove(0).failed.unwrap();
    assert!(failed.starts_with("5 times"), "{failed}");
    assert!(database.jobs("p").unwrap()[0].run.is_none());
}

#[test]
fn failures_are_counted_once_each_and_a_job_that_is_done_after_all_has_not_failed() {
    let (_folder, mut database) = with_plan();
    for run in ["a", "b", "c", "d", "d", "d"] {
        store(&mut database, &[done(run)]);
        assert!(!fail(&mut database, &done(run), "why"));
    }
    store(&mut database, &[done("e")]);
    assert!(fail(&mut database, &done("e"), "at last"));
    let failed = |database: &Database| database.jobs("p").unwrap().remove(0).failed;
    assert_eq!(
        failed(&database).as_deref(),
        Some("5 times, at last: at last")
    );
    store(&mut database, &lines("f"));
    assert_eq!(judge(&mut database, "f"), Judgement::Counts);
    assert_eq!(failed(&database), None);
    let plan = database.plans().unwrap().remove(0);
    assert_eq!((plan.done, plan.failed), (1, 0));
}

#[test]
fn a_failure_counts_only_from_who_has_the_job() {
    let (_folder, mut database) = with_plan();
    let failed = |database: &Database| database.jobs("p").unwrap().remove(0).failed;
    store_at(&mut database, &[beat("old", "former")], BEGUN);
    store_at(&mut database, &[beat("new", "holder")], BEGUN + 60);
    // Who had the job before has its ticket, also for runs that it makes up.
    for run in ["old", "1", "2", "3", "4", "5"] {
        let note = beat(run, "former");
        store_at(&mut database, std::slice::from_ref(&note), BEGUN + 61);
        assert!(!fail(&mut database, &note, "because"));
    }
    assert_eq!(failed(&database), None);
    for run in ["new", "6", "7", "8"] {
        let note = beat(run, "holder");
        store_at(&mut database, std::slice::from_ref(&note), BEGUN + 62);
        assert!(!fail(&mut database, &note, "why"));
    }
    // One that is silent has lost it, and one that says that it is unable has given it back.
    store_at(&mut database, &[beat("9", "dead")], BEGUN + 62);
    let unable = Note {
        news: News::Unable {
            reason: Text::of("no such command"),
        },
        ..beat("10", "lacking")
    };
    let last = beat("11", "holder");
    store_at(&mut database, &[unable, last.clone()], BEGUN + 300);
    assert!(fail(&mut database, &last, "why"));
    assert_eq!(failed(&database).as_deref(), Some("5 times, at last: why"));
}

#[test]
fn what_a_line_makes_up_begins_no_other_line() {
    let (_folder, mut database) = with_plan();
    let [head, _] = texts();
    let forged = [head, "{\"a\\nplan p: over\":1}".to_owned()];
    let notes = [line("r", 0, &forged[0]), line("r", 1, &forged[1])];
    store(&mut database, &notes);
    let judged = database
        .judge(&done("r"), 2, &sha256(&forged), &[])
        .unwrap();
    assert_eq!(judged, Judgement::Refused);
    let sql = "SELECT answer FROM run WHERE id = 'r'";
    let answer: String = database.0.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(
        answer.contains("plan p: over") && !answer.contains('\n'),
        "{answer}"
    );
}

#[test]
fn a_run_is_of_a_machine_of_the_size_that_its_job_asks_for() {
    let of = |cpus| {
        let cpus = Some(Cpus::nearest(cpus));
        Measured::of_job(&texts(), &Job { cpus, ..a_job() }, &[])
    };
    assert!(of(2).is_ok() && of(8).is_err());
}

#[test]
fn a_run_that_is_too_large_is_not_read() {
    let (_folder, mut database) = with_plan();
    let text = "x".repeat(1 << 20);
    for number in 0..33 {
        store(&mut database, &[line("r", number, &text)]);
    }
    let judged = database.judge(&done("r"), 33, "x", &[]).unwrap();
    assert_eq!(judged, Judgement::Refused);
}

#[test]
fn a_run_began_when_it_was_first_heard_of_in_whatever_order_its_notes_come() {
    let (_folder, mut database) = with_plan();
    let [head, outcome] = lines("r");
    store_at(&mut database, &[outcome], BEGUN + 7);
    store_at(&mut database, &[head], BEGUN);
    let span = database.spent("p").unwrap().remove(0).span;
    let begun = 1_000 * BEGUN as i64;
    assert_eq!(span, (begun, begun + 7_000));
    judge(&mut database, "r");
    // What comes after its end makes it no longer.
    store_at(&mut database, &[done("r")], BEGUN + 900);
    assert_eq!(database.spent("p").unwrap()[0].span, span);
}

#[test]
fn a_server_that_reads_before_it_writes_waits_for_another_process_that_writes() {
    let (folder, mut database) = with_plan();
    let other = Database::open(&folder.path().join("x")).unwrap();
    // Each writes once in a round: of two that never rest, one may wait for longer than it is patient.
    let (begin, rounds) = mpsc::sync_channel(0);
    let adding = std::thread::spawn(move || {
        for (number, ()) in rounds.into_iter().enumerate() {
            let token = number.to_string();
            other.add_token(&token, &token, 60, None).unwrap();
        }
    });
    for _ in 0..200 {
        begin.send(()).unwrap();
        database.redo(&anew("p.0")).unwrap().unwrap();
    }
    drop(begin);
    adding.join().unwrap();
    assert_eq!(database.valid_keys().unwrap().len(), 200);
}

#[test]
fn a_job_that_is_done_anew_forgets_what_it_was_and_who_had_it() {
    let (_folder, mut database) = with_plan();
    store(&mut database, &lines("r"));
    assert_eq!(judge(&mut database, "r"), Judgement::Counts);
    let request = anew("p.0");
    let (job, times) = database.redo(&request).unwrap().unwrap();
    assert_eq!((&job.ticket, times), (&request.ticket, 2));
    assert_eq!(store(&mut database, &lines("s")), [Standing::NotGiven; 2]);
    assert!(database.jobs("p").unwrap()[0].run.is_none());
    let ours = lines("s").map(|note| Note {
        ticket: job.ticket.clone(),
        ..note
    });
    store(&mut database, &ours);
    assert_eq!(judge(&mut database, "s"), Judgement::Counts);
    // The same request comes again.
    assert_eq!(database.redo(&request).unwrap(), Some((job, 0)));
    assert_eq!(judge(&mut database, "s"), Judgement::Counts);
    assert!(database.redo(&anew("p.7")).unwrap().is_none());
    database.cancel_plan(&name("p")).unwrap();
    assert!(database.redo(&anew("p.0")).unwrap().is_none());
}

#[test]
fn what_is_rejected_is_shown_without_what_steers_and_does_not_fill_the_disk() {
    let (_folder, database) = database();
    for _ in 0..REJECTED_MAX + 5 {
        database
            .reject("a\x1b[31m", "why\x07", &[0x1b; 1_000_000])
            .unwrap();
    }
    let rejected = database.rejected().unwrap();
    assert_eq!(rejected.len() as i64, REJECTED_MAX);
    let shown = format!(
        "{}{}{}",
        rejected[0].about, rejected[0].reason, rejected[0].body
    );
    assert!(
        !shown.contains(char::is_control) && shown.len() < 2_000,
        "{shown}"
    );
}

fn plan(database: &mut Database, jobs: &[&str]) {
    plan_within(database, jobs, None);
}

fn plan_within(database: &mut Database, jobs: &[&str], limit: Option<Limit>) {
    let submission = Submission {
        plan: name("p"),
        toml: String::new(),
        limit,
    };
    let job = |id: &&str| Job {
        id: name(id),
        ..a_job()
    };
    let jobs: Vec<Job> = jobs.iter().map(job).collect();
    let plan = Plan::parse("name = 'plan'\ncommands = [{ name = 'x' }]").unwrap();
    database.add_plan(&submission, &plan, &jobs).unwrap();
}

#[test]
fn the_last_plan_is_the_one_that_came_last_whatever_the_clock_of_its_submitter() {
    let (_folder, mut database) = database();
    for plan in ["p2", "p1"] {
        let submission = Submission {
            plan: name(plan),
            toml: String::new(),
            limit: None,
        };
        let why = Text::of("why");
        database.refuse_plan(&submission, &why).unwrap();
    }
    assert_eq!(database.plans().unwrap().pop().unwrap().id, "p1");
}

#[test]
fn a_cancelled_plan_keeps_its_results_and_its_other_jobs_are_not_handed_out_again() {
    let (_folder, mut database) = database();
    plan(&mut database, &["p.0", "p.1", "p.2"]);
    store(&mut database, &lines("r"));
    judge(&mut database, "r");
    assert_eq!(hand_out_again(&mut database).len(), 2);
    // A message for machines that the job is not for is not the job.
    let pending = [(None, "p.2"), (Some(9_999), "p.1")];
    let pending = pending.map(|(cpus, job)| (Queue::Jobs { cpus }, job.to_owned()));
    let pending = HashSet::from(pending);
    let again = database.hand_out_again(&pending).unwrap();
    assert_eq!((again.len(), &*again[0].0.id, again[0].1), (1, "p.1", 3));
    assert_eq!(database.cancel_plan(&name("other")).unwrap(), None);
    for _ in 0..2 {
        let open = database.cancel_plan(&name("p")).unwrap();
        assert_eq!(open, Some(vec![name("p.1"), name("p.2")]));
    }
    assert!(hand_out_again(&mut database).is_empty());
    let plan = database.plans().unwrap().remove(0);
    assert!(plan.cancelled.is_some());
    assert_eq!((plan.jobs, plan.done, plan.failed), (3, 1, 0));
    assert!(database.jobs("p").unwrap()[0].run.is_some());
}

#[test]
fn jobs_of_a_plan_with_a_limit_wait_until_they_are_handed_out_and_no_longer_than_the_plan() {
    let (_folder, mut database) = database();
    let prices = crate::price::Prices::parse(crate::price::Prices::EXAMPLE).unwrap();
    let limit = Limit::new(2.0, prices);
    plan_within(&mut database, &["p.0", "p.1", "p.2"], Some(limit.clone()));
    assert_eq!(database.limited_plans().unwrap(), [("p".to_owned(), limit)]);
    assert!(hand_out_again(&mut database).is_empty());
    let (out, waiting) = database.out_and_waiting("p").unwrap();
    assert_eq!((out.len(), waiting.len()), (0, 3));
    database.hand_out(&waiting[..1]).unwrap();
    let (out, waiting) = database.out_and_waiting("p").unwrap();
    assert_eq!((&*out[0].id, waiting.len()), ("p.0", 2));
    let again = hand_out_again(&mut database);
    assert_eq!((again.len(), again[0].1), (1, 2));
    for reason in ["first", "second"] {
        database.end_plan("p", reason).unwrap();
    }
    assert!(database.limited_plans().unwrap().is_empty());
    assert!(hand_out_again(&mut database).is_empty());
    let plan = database.plans().unwrap().remove(0);
    assert_eq!(plan.ended.as_deref(), Some("first"));
}

#[test]
fn what_a_run_cost_is_known_whether_it_counts_or_not() {
    let (_folder, mut database) = database();
    plan(&mut database, &["p.0"]);
    store(&mut database, &lines("r"));
    let [head, event] = texts();
    store(&mut database, &[done("r"), line("s", 0, "anything")]);
    judge(&mut database, "r");
    let spent = database.spent("p").unwrap();
    let ends = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
    assert_eq!(
        (spent[0].is_accepted, &spent[0].ends),
        (true, &ends(&head, &event))
    );
    assert_eq!(spent[0].machine.as_deref(), Some("large"));
    assert_eq!(
        (spent[1].is_accepted, &spent[1].ends),
        (false, &ends("anything", "anything"))
    );
    assert_eq!(spent[1].machine, None);
}

#[test]
fn a_database_of_version_1_is_brought_up_to_date() {
    let (folder, mut database) = database();
    plan(&mut database, &["p.0"]);
    let back = "ALTER TABLE plan DROP COLUMN cancelled; ALTER TABLE plan DROP COLUMN usd_limit; \
                ALTER TABLE plan DROP COLUMN ended; ALTER TABLE run DROP COLUMN machine; \
                ALTER TABLE job DROP COLUMN ticket; ALTER TABLE job DROP COLUMN attempts; \
                ALTER TABLE job DROP COLUMN unable; ALTER TABLE run DROP COLUMN blocks; \
                ALTER TABLE run DROP COLUMN disturbed; ALTER TABLE run DROP COLUMN answer; \
                ALTER TABLE run DROP COLUMN heard; ALTER TABLE run DROP COLUMN bytes; \
                PRAGMA user_version = 1;";
    database.0.execute_batch(back).unwrap();
    drop(database);
    let mut database = Database::open(&folder.path().join("x")).unwrap();
    // Its jobs are messages that nobody reads any more.
    let message = "UPDATE job SET message = '{\"command\":\"x\"}'";
    database.0.execute(message, []).unwrap();
    let redone = database.redo(&anew("p.0"));
    assert!(
        matches!(redone, Err(FleetError::Format { .. })),
        "{redone:?}"
    );
    let row = database.plans().unwrap().remove(0);
    assert_eq!((row.jobs, row.failed), (1, 1));
    assert!(database.agents().unwrap().is_empty());
    plan(&mut database, &[]);
    assert!(hand_out_again(&mut database).is_empty());
}

#[test]
fn a_database_of_another_version_is_refused() {
    let (folder, database) = database();
    database.0.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let error = Database::open(&folder.path().join("x")).unwrap_err();
    assert!(matches!(error, FleetError::Format { .. }), "{error}");
}
