//! Unit tests of `waking.rs`: what workers do where one more runs than may, and which alerts the monitor.

use super::{
    Activity, CallerNext, Next, Pool, Slept, Worker, leave_external, next, sleep, use_room,
    wake_for_task,
};
use crate::job::RunPermit;
use crate::runtime::{Claim, CountedFlag, Idle, StealGrace};
use std::cell::Cell;

/// Nobody has to be unparked.
struct Place {
    idle: Idle,
    alerts: Cell<u32>,
    starts: Cell<u32>,
    /// What is visible: nothing at first.
    has_visible_work: Cell<bool>,
    has_unowned_work: Cell<bool>,
}

impl Place {
    fn new(workers: usize, threads: usize) -> Self {
        Self {
            idle: Idle::new(workers, threads),
            alerts: Cell::new(0),
            starts: Cell::new(0),
            has_visible_work: Cell::new(false),
            has_unowned_work: Cell::new(false),
        }
    }

    fn alerts(&self) -> u32 {
        self.alerts.get()
    }
}

impl Pool for Place {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        self.has_visible_work.get()
    }

    fn has_unowned_work(&self) -> bool {
        self.has_unowned_work.get()
    }

    fn unpark(&self, _worker: usize, _next: CallerNext) {}

    fn start(&self, _worker: usize) -> bool {
        self.starts.set(self.starts.get() + 1);
        true
    }

    fn arm_monitor(&self) {}

    fn alert_monitor(&self) {
        self.alerts.set(self.alerts.get() + 1);
    }

    fn rouse_monitor(&self) {}

    fn look_for_end(&self) {}
}

/// One for which there is always a task of each kind.
struct Laborer<'pool> {
    steal_grace: StealGrace,
    in_short_task: CountedFlag,
    is_within_limit: bool,
    /// If it watches sockets in its sleep: a short task is all that there is, from its first sleep on.
    sockets: Option<&'pool Place>,
    parks: u32,
}

impl Laborer<'_> {
    fn new() -> Self {
        Self {
            steal_grace: StealGrace::default(),
            in_short_task: CountedFlag::default(),
            is_within_limit: false,
            sockets: None,
            parks: 0,
        }
    }
}

impl Worker for Laborer<'_> {
    type FoundWork = ();

    fn is_within_limit(&mut self) -> &mut bool {
        &mut self.is_within_limit
    }

    fn find(&mut self) -> Option<()> {
        self.sockets.is_none().then_some(())
    }

    fn in_short_task(&self) -> &CountedFlag {
        &self.in_short_task
    }

    fn find_short(&mut self) -> Option<()> {
        (self.sockets.is_none() || self.parks > 0).then_some(())
    }

    fn may_search(&self) -> bool {
        false
    }

    fn spin(&mut self) -> Option<()> {
        None
    }

    fn has_more(&self) -> bool {
        false
    }

    fn steal_grace(&self) -> &StealGrace {
        &self.steal_grace
    }

    fn announced(&mut self) {}

    fn is_over(&self) -> bool {
        assert!(self.parks < 2, "it sleeps on beside a short task");
        self.sockets.is_none()
    }

    fn has_own_work(&self) -> bool {
        false
    }

    fn sees_work(&self) -> bool {
        false
    }

    fn is_spare(&mut self) -> bool {
        false
    }

    fn park(&mut self) {
        self.parks += 1;
        if let Some(pool) = self.sockets {
            pool.idle.call_for_short_task();
        }
    }

    fn is_timer_due(&self) -> bool {
        false
    }

    fn awake(&mut self, _slept: Slept) {}
}

#[test]
fn who_has_ended_a_long_task_goes_on_and_who_was_woken_for_a_short_one_runs_that() {
    let pool = Place::new(1, 3);
    assert_eq!(pool.idle.claim(), Some(Claim::Unstarted(0)));
    let mut first = Laborer::new();
    assert!(matches!(
        next(&pool, 0, &mut first, RunPermit::new()),
        Next::FoundWork(())
    ));
    // What it has run wakes a task, for which another is claimed, which has not looked yet.
    pool.idle.set_extra_for_short_tasks(1);
    assert_eq!(pool.idle.claim_for_short_task(), Some(Claim::Unstarted(1)));
    assert!(matches!(
        next(&pool, 0, &mut first, RunPermit::new()),
        Next::FoundWork(())
    ));
    let mut second = Laborer::new();
    assert!(matches!(
        next(&pool, 1, &mut second, RunPermit::new()),
        Next::FoundShort(())
    ));
    pool.idle.in_short_tasks.unmark(&second.in_short_task);
    assert!(matches!(
        next(&pool, 1, &mut second, RunPermit::new()),
        Next::FoundShort(())
    ));
    pool.idle.in_short_tasks.unmark(&second.in_short_task);
    assert!(matches!(
        next(&pool, 0, &mut first, RunPermit::new()),
        Next::FoundWork(())
    ));
}

#[test]
fn who_has_ended_a_task_makes_room_where_more_run_than_may_even_for_short_ones() {
    let pool = Place::new(1, 3);
    assert_eq!(pool.idle.claim(), Some(Claim::Unstarted(0)));
    let mut worker = Laborer::new();
    assert!(matches!(
        next(&pool, 0, &mut worker, RunPermit::new()),
        Next::FoundWork(())
    ));
    pool.idle.set_extra_for_short_tasks(1);
    pool.idle.begin(Activity::ExternalThread);
    assert!(matches!(
        next(&pool, 0, &mut worker, RunPermit::new()),
        Next::FoundWork(())
    ));
    pool.idle.begin(Activity::ExternalThread);
    assert!(matches!(
        next(&pool, 0, &mut worker, RunPermit::new()),
        Next::FoundShort(())
    ));
}

#[test]
fn who_is_woken_by_a_socket_beside_a_full_pool_runs_what_that_has_woken() {
    let pool = Place::new(1, 3);
    pool.idle.begin(Activity::ExternalThread);
    pool.idle.set_extra_for_short_tasks(1);
    assert_eq!(pool.idle.claim_for_short_task(), Some(Claim::Unstarted(0)));
    let mut watcher = Laborer {
        sockets: Some(&pool),
        ..Laborer::new()
    };
    assert_eq!(sleep(&pool, 0, &mut watcher), Slept::Otherwise);
    assert!(matches!(
        next(&pool, 0, &mut watcher, RunPermit::new()),
        Next::FoundShort(())
    ));
}

#[test]
fn a_short_task_for_which_no_thread_may_be_woken_alerts_the_monitor() {
    let pool = Place::new(1, 3);
    wake_for_task(&pool, true);
    assert_eq!(
        (pool.idle.running(), pool.alerts()),
        (1, 0),
        "there was room"
    );
    wake_for_task(&pool, true);
    assert_eq!((pool.idle.running(), pool.alerts()), (1, 1));
    pool.idle.set_extra_for_short_tasks(1);
    wake_for_task(&pool, true);
    assert_eq!(
        (pool.idle.running(), pool.alerts()),
        (2, 1),
        "one was woken"
    );
}

#[test]
fn a_place_that_is_free_goes_to_any_work_but_that_of_a_thread_outside_only_to_work_without_an_owner()
 {
    for is_of_outside in [false, true] {
        for (visible, unowned) in [(false, false), (true, false), (true, true)] {
            let pool = Place::new(1, 1);
            pool.has_visible_work.set(visible);
            pool.has_unowned_work.set(unowned);
            if is_of_outside {
                pool.idle.begin(Activity::ExternalThread);
                leave_external(&pool, Activity::ExternalThread);
            } else {
                use_room(&pool);
            }
            let is_taken = if is_of_outside { unowned } else { visible };
            assert_eq!(
                pool.starts.get(),
                u32::from(is_taken),
                "{visible} {unowned}"
            );
        }
    }
}
