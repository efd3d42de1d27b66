//! How often an agent may begin a job, as often as it may fail and some times more, and when it is handed out anew.

use super::*;

/// More than an agent may begin a job for no reason.
const OFTEN: usize = 100;

fn unable(run: &str) -> Note {
    let reason = Text::of("no such command");
    note(run, News::Unable { reason })
}

#[test]
fn an_agent_that_was_unable_for_long_does_the_job_once_it_can() {
    let (_folder, mut database) = with_plan();
    for tried in 0..OFTEN {
        let run = format!("u{tried}");
        let said = store(&mut database, &[beat(&run, "agent"), unable(&run)]);
        assert_eq!(said, [Standing::Right; 2], "{tried}");
    }
    store(&mut database, &lines("r"));
    assert_eq!(judge(&mut database, "r"), Judgement::Counts);
}

#[test]
fn a_job_may_fail_as_often_as_its_plan_says_at_one_agent() {
    let (_folder, mut database) = with_plan();
    let attempts = format!("UPDATE job SET attempts = {OFTEN}");
    database.0.execute(&attempts, []).unwrap();
    for failed in 1..=OFTEN {
        let last = beat(&format!("f{failed}"), "agent");
        let said = store(&mut database, std::slice::from_ref(&last));
        assert_eq!(said, [Standing::Right], "{failed}");
        assert_eq!(fail(&mut database, &last, "why"), failed == OFTEN);
    }
}

#[test]
fn a_job_that_is_done_anew_waits_for_its_money_as_at_first() {
    let (_folder, mut database) = database();
    let prices = crate::price::Prices::parse(crate::price::Prices::EXAMPLE).unwrap();
    plan_within(&mut database, &["p.0"], Some(Limit::new(20.0, prices)));
    let (_, waiting) = database.out_and_waiting("p").unwrap();
    assert_eq!(database.hand_out(&waiting).unwrap(), [1]);
    let (job, times) = database.redo(&anew("p.0")).unwrap().unwrap();
    assert_eq!(times, 0);
    let open = database.out_and_waiting("p").unwrap();
    assert_eq!(open, (Vec::new(), vec![job.clone()]));
    assert!(hand_out_again(&mut database).is_empty());
    assert_eq!(database.hand_out(&[job]).unwrap(), [2]);
}

#[test]
fn a_job_is_done_anew_however_often_it_was_begun() {
    let (_folder, mut database) = with_plan();
    let mut ticket = name("t");
    let begin = |database: &mut Database, run: usize, ticket: &Name| {
        let ticket = ticket.clone();
        let begun = beat(&format!("r{run}"), "agent");
        store(database, &[Note { ticket, ..begun }])[0]
    };
    let begun = (0..OFTEN).filter(|run| begin(&mut database, *run, &ticket) == Standing::Right);
    assert!(begun.count() < OFTEN);
    ticket = database.redo(&anew("p.0")).unwrap().unwrap().0.ticket;
    assert_eq!(begin(&mut database, OFTEN, &ticket), Standing::Right);
}
