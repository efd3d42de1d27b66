//! Unit tests of `idle.rs`: which worker is claimed, which may leave, and when there is room.

use super::{Activity, Claim, CountedFlag, Idle};

#[test]
fn claims_start_threads_up_to_the_limit_and_then_stop() {
    let idle = Idle::new(2, 70);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
    assert_eq!(idle.claim(), None);
    assert_eq!((idle.running(), idle.started()), (2, 2));
}

#[test]
fn a_sleeper_is_claimed_before_a_new_thread_is_started() {
    let idle = Idle::new(3, 3);
    assert_eq!(
        (idle.claim(), idle.claim()),
        (Some(Claim::Unstarted(0)), Some(Claim::Unstarted(1)))
    );
    idle.announce(1);
    assert!(idle.is_announced(1));
    assert_eq!(idle.claim(), Some(Claim::Asleep(1)));
    assert!(!idle.is_announced(1));
    idle.withdraw(1);
    assert_eq!(idle.running(), 2);
}

#[test]
fn a_thread_that_could_not_be_started_is_tried_again_later() {
    let idle = Idle::new(2, 2);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    for _ in 0..3 {
        assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
        assert_eq!(idle.give_up(1), None);
        assert_eq!((idle.running(), idle.threads()), (1, 1));
    }
    assert_eq!(idle.claim(), Some(Claim::Unstarted(1)));
    idle.announce(0);
    assert_eq!(idle.give_up(1), Some(Claim::Asleep(0)));
}

#[test]
fn external_threads_take_room_and_blocked_threads_make_room() {
    let idle = Idle::new(1, 5);
    idle.begin(Activity::ExternalThread);
    assert_eq!(idle.claim(), None);
    idle.begin(Activity::Blocked);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    idle.end(Activity::Blocked);
    assert!(idle.is_overfull());
    let mark = CountedFlag::default();
    assert!(idle.detected_blocked.mark(&mark) && !idle.detected_blocked.mark(&mark));
    assert!(!idle.is_overfull());
    idle.detected_blocked.unmark(&mark);
    idle.detected_blocked.unmark(&mark);
    assert!(idle.is_overfull());
    idle.set_extra(1);
    assert!(!idle.is_overfull());
}

#[test]
fn a_thread_in_a_short_task_does_not_keep_a_worker_from_long_ones() {
    let idle = Idle::new(1, 3);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    assert_eq!(idle.claim_for_short_task(), None);
    idle.set_extra_for_short_tasks(1);
    assert_eq!(idle.claim_for_short_task(), Some(Claim::Unstarted(1)));
    assert!(idle.is_overfull(), "the thread has not looked yet");
    assert!(idle.is_full_of_short_tasks());
    let in_short_task = CountedFlag::default();
    idle.in_short_tasks.mark(&in_short_task);
    assert!(!idle.is_overfull());
    idle.in_short_tasks.unmark(&in_short_task);
    assert!(idle.is_overfull());
    idle.in_short_tasks.unmark(&in_short_task);
    idle.in_short_tasks.mark(&in_short_task);
    idle.begin(Activity::ExternalThread);
    assert!(idle.is_overfull(), "another one too many");
    assert!(!idle.is_full_of_short_tasks());
}

#[test]
fn overcommit_begins_with_one_thread_beyond_those_in_long_jobs_and_lowers_nothing() {
    let idle = Idle::new(2, 8);
    idle.begin_overcommit(2);
    idle.begin(Activity::ExternalThread);
    idle.begin(Activity::ExternalThread);
    assert!(idle.claim_for_short_task().is_some());
    assert_eq!(idle.claim_for_short_task(), None);
    idle.set_extra_for_short_tasks(3);
    idle.begin_overcommit(2);
    assert!(idle.claim_for_short_task().is_some());
}

#[test]
fn a_short_task_that_blocks_lets_nobody_take_long_ones_beyond_the_limit() {
    let idle = Idle::new(1, 3);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    idle.set_extra_for_short_tasks(1);
    assert_eq!(idle.claim_for_short_task(), Some(Claim::Unstarted(1)));
    let in_short_task = CountedFlag::default();
    idle.in_short_tasks.mark(&in_short_task);
    idle.in_short_tasks.unmark(&in_short_task);
    idle.begin(Activity::Blocked);
    assert_eq!(idle.claim_for_short_task(), Some(Claim::Unstarted(2)));
    assert!(idle.is_overfull(), "who was claimed runs a short task");
}

#[test]
fn room_for_short_tasks_beside_long_ones_that_have_slept_keeps_no_worker_awake() {
    let idle = Idle::new(1, 3);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    idle.begin(Activity::ExternalThread);
    idle.begin(Activity::ExternalThread);
    idle.set_extra_for_short_tasks(3);
    assert!(idle.is_overfull() && idle.may_run_short_task());
    assert!(!idle.is_full_of_short_tasks(), "two too many");
    idle.end(Activity::ExternalThread);
    assert!(idle.is_full_of_short_tasks(), "one may be woken for one");
}

#[test]
fn a_call_for_a_short_task_is_taken_once_and_only_where_there_is_room_for_it() {
    let idle = Idle::new(1, 1);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    idle.set_extra_for_short_tasks(1);
    idle.begin(Activity::ExternalThread);
    assert_eq!(idle.claim_for_short_task(), None);
    assert!(!idle.takes_call_for_short_task(), "no room");
    idle.announce(0);
    assert!(idle.takes_call_for_short_task());
    assert!(!idle.takes_call_for_short_task(), "taken");
}

#[test]
fn only_a_sleeper_beyond_the_limit_may_leave_and_its_slot_is_claimed_again() {
    let idle = Idle::new(1, 2);
    idle.begin(Activity::Blocked);
    while idle.claim().is_some() {}
    idle.end(Activity::Blocked);
    assert_eq!((idle.threads(), idle.started()), (2, 2));
    idle.announce(0);
    assert!(idle.leave(0));
    assert!(!idle.leave(1), "as many are left as may run");
    assert_eq!(idle.threads(), 1);
    idle.begin(Activity::Blocked);
    assert_eq!(idle.claim(), None, "the slot is not vacated yet");
    idle.vacate(0);
    assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
    assert_eq!((idle.threads(), idle.started()), (2, 2));
}

#[test]
fn a_claimed_worker_does_not_leave() {
    let idle = Idle::new(1, 2);
    idle.begin(Activity::Blocked);
    while idle.claim().is_some() {}
    idle.announce(1);
    assert_eq!(idle.claim(), Some(Claim::Asleep(1)));
    assert!(!idle.leave(1));
    assert_eq!(idle.threads(), 2);
}

#[test]
fn a_worker_beyond_the_first_word_can_sleep_and_be_claimed() {
    let idle = Idle::new(70, 70);
    while idle.claim().is_some() {}
    idle.announce(66);
    assert_eq!(idle.claim(), Some(Claim::Asleep(66)));
}
