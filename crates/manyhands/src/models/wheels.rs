//! Advancing the wheels: a worker that parks, the monitor, and a thread that makes the next timer an earlier one.
//!
//! Threads: the monitor, and one or two of: a worker, one that wakes it, external threads that wait for
//! timers, a worker whose thread ends. Operations: of `runtime/sleep/waking.rs` a worker's sleep, the claim of a
//! worker, the vacating of a slot, and linking from outside; of `runtime/monitor/switch.rs` arming, resting and
//! closing; of the wheels inserting, reading the next tick and firing.
//! With three preemptions for the models of two threads.
//!
//! Time stands at tick [`NOW`]: a park until then ends at once, and one until later lasts until its thread is
//! unparked.
//!
//! Property: every timer that is due by [`NOW`] wakes its waiter, so no thread that must advance its wheel sleeps
//! longer.

use super::{Flag, Waiter, Work, check, check_deeper};
use crate::queue::TaskQueue;
use crate::runtime::monitor::switch::{State, Switch};
use crate::runtime::sleep::idle::{Activity, Claim, CountedFlag, Idle};
use crate::runtime::sleep::waking::{self, Pool, Slept};
use crate::runtime::worker::steal_grace::StealGrace;
use crate::sync::Parker;
use crate::timer::{Entry, EntryState, Moment, Timers};
use loom::thread;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};

const NOW: u64 = 3;
const LATER: u64 = 9;

/// A runtime of one worker.
struct Model {
    idle: Idle,
    /// Where the worker sleeps.
    worker: Parker,
    /// The monitor's.
    switch: Switch,
    /// The worker's.
    wheel: Timers,
    /// The worker's thread has ended.
    vacant: Flag,
    outside: Timers,
    queue: TaskQueue<Work>,
    task: Work,
}

impl Model {
    /// The worker is awake, the monitor off. Never freed, as slots.
    fn new() -> &'static Self {
        Self::with_threads(1)
    }

    fn with_threads(threads_max: usize) -> &'static Self {
        let idle = Idle::new(1, threads_max);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        Box::leak(Box::new(Self {
            idle,
            worker: Parker::default(),
            switch: Switch::default(),
            wheel: Timers::default(),
            vacant: Flag::new(),
            outside: Timers::default(),
            queue: TaskQueue::default(),
            task: Work::new(0),
        }))
    }

    /// As [`new`](Self::new), with the monitor on.
    fn watched() -> &'static Self {
        let model = Self::new();
        model.arm_monitor();
        model
    }

    /// The monitor's thread.
    fn watch(&'static self) {
        loop {
            match self.switch.state() {
                State::On | State::Slow => {
                    self.outside.fire_by(NOW, NOW);
                    self.wheel.fire_by(NOW, NOW);
                    if self.idle.is_inactive() {
                        self.switch.rest(|| !self.idle.is_inactive());
                    } else {
                        thread::yield_now();
                    }
                }
                State::Off => {
                    let mut next = self.outside.fire_by(NOW, NOW);
                    if self.vacant.is_set() {
                        next = next.min(self.wheel.fire_by(NOW, NOW));
                    }
                    park_until(&self.switch.parker, next);
                }
                State::Closed => return,
            }
        }
    }

    /// An external thread links an entry.
    fn link_outside(&'static self, entry: &mut Pin<Box<Entry>>, waker: Waker) {
        let linked = waking::link_outside(self, &self.outside, entry.as_mut(), 0, waker);
        linked.expect("the timers are open");
    }

    /// An external thread waits for a timer.
    fn wait_outside(&'static self, tick: u64) {
        let mut entry = entry(tick);
        wait_for(&mut entry, |entry, waker| self.link_outside(entry, waker));
    }

    /// Worker: links an entry in its own wheel.
    fn link(&'static self, entry: &mut Pin<Box<Entry>>, waker: Waker) {
        let linked = entry.as_mut().link(&self.wheel, 0, waker);
        linked.expect("the timers are open");
    }

    /// Worker: sleeps until claimed, until there is work, or until its next timer.
    fn sleep(&self) {
        self.sleep_and(Sleeps::UntilTimer, || ());
    }

    /// Worker: sleeps. When it has announced that, `announced` is called.
    fn sleep_and(&self, sleeps: Sleeps, announced: impl FnMut()) {
        let mut sleeper = Sleeper {
            model: self,
            sleeps,
            announced,
            steal_grace: StealGrace::default(),
            in_short_task: CountedFlag::default(),
        };
        let _ = waking::sleep(self, 0, &mut sleeper);
    }

    /// A thread that wakes the worker.
    fn waker(&'static self) -> thread::JoinHandle<bool> {
        thread::spawn(|| waking::wake(self, self.idle.claim(), waking::CallerNext::GoesOn))
    }

    /// The worker runs the task when its timer has queued it.
    fn run_the_task(&self) {
        loop {
            self.wheel.fire_by(NOW, NOW);
            if let Some(run) = self.queue.take(1) {
                return Work::taken(run.split_first().0).run();
            }
            self.sleep();
        }
    }
}

impl Pool for Model {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        !self.queue.is_empty()
    }

    fn has_unowned_work(&self) -> bool {
        !self.queue.is_empty()
    }

    fn unpark(&self, _: usize, _: waking::CallerNext) {
        self.worker.unpark();
    }

    fn start(&self, _: usize) -> bool {
        false
    }

    fn arm_monitor(&self) {
        if self.switch.arm() {
            self.switch.parker.unpark();
        }
    }

    fn alert_monitor(&self) {
        if self.switch.alert() {
            self.switch.parker.unpark();
        }
    }

    fn rouse_monitor(&self) {
        self.switch.parker.unpark();
    }

    fn look_for_end(&self) {}
}

/// The worker, when it has nothing to do.
struct Sleeper<'model, F> {
    model: &'model Model,
    sleeps: Sleeps,
    announced: F,
    steal_grace: StealGrace,
    in_short_task: CountedFlag,
}

/// When a worker wakes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sleeps {
    /// When its next timer is due.
    UntilTimer,
    /// At once, because of one that is due, though the monitor may have fired it.
    NotAtAll,
}

impl<F: FnMut()> waking::Worker for Sleeper<'_, F> {
    type FoundWork = ();

    fn is_within_limit(&mut self) -> &mut bool {
        unreachable!("it only sleeps")
    }

    fn find(&mut self) -> Option<()> {
        None
    }

    fn in_short_task(&self) -> &CountedFlag {
        &self.in_short_task
    }

    fn find_short(&mut self) -> Option<Self::FoundWork> {
        None
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

    fn announced(&mut self) {
        (self.announced)();
    }

    fn is_over(&self) -> bool {
        false
    }

    fn has_own_work(&self) -> bool {
        false
    }

    fn sees_work(&self) -> bool {
        self.model.has_visible_work()
    }

    fn is_spare(&mut self) -> bool {
        self.model.idle.has_spare_threads()
    }

    fn park(&mut self) {
        if self.sleeps == Sleeps::UntilTimer {
            park_until(&self.model.worker, self.model.wheel.next_due());
        }
    }

    fn is_timer_due(&self) -> bool {
        self.sleeps == Sleeps::NotAtAll || self.model.wheel.next_due() <= NOW
    }

    fn awake(&mut self, slept: Slept) {
        if slept == Slept::NotAtAll {
            // What is visible may not be takeable yet.
            thread::yield_now();
        }
    }
}

fn park_until(parker: &Parker, tick: u64) {
    if tick > NOW {
        parker.park();
    }
}

fn entry(tick: u64) -> Pin<Box<Entry>> {
    Box::pin(Entry::new(Moment::at_tick(tick)))
}

/// Waits for an entry, which `link` puts into a wheel.
fn wait_for(entry: &mut Pin<Box<Entry>>, link: impl Fn(&mut Pin<Box<Entry>>, Waker)) {
    Waiter::new().wait(|context| {
        match entry.as_mut().poll(context.waker()) {
            EntryState::Fired => return Poll::Ready(()),
            EntryState::Waiting => {}
            EntryState::Idle => link(entry, context.waker().clone()),
        }
        Poll::Pending
    });
}

/// Queues the model's task, as the waker of one does from outside.
struct Queues(&'static Model);

impl Wake for Queues {
    fn wake(self: Arc<Self>) {
        let model = self.0;
        model.task.prepare();
        model.queue.push(model.task.unqueued());
        waking::wake(model, model.idle.claim(), waking::CallerNext::GoesOn);
    }
}

#[test]
fn a_monitor_that_falls_asleep_until_later_is_woken_for_an_earlier_timer() {
    check(|| {
        let model = Model::new();
        let mut later = entry(LATER);
        model.link_outside(&mut later, Waker::noop().clone());
        let monitor = thread::spawn(|| model.watch());
        // Whichever of the two comes second is no earlier, or tells the monitor once more.
        let other = thread::spawn(|| model.wait_outside(NOW - 1));
        model.wait_outside(NOW);
        other.join().unwrap();
        model.switch.close();
        monitor.join().unwrap();
        assert!(!later.is_fired());
    });
}

#[test]
fn a_worker_that_wakes_by_itself_and_is_stuck_is_watched_by_the_monitor() {
    check_deeper(3, || {
        let model = Model::watched();
        let monitor = thread::spawn(|| model.watch());
        model.sleep_and(Sleeps::NotAtAll, || ());
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        model.switch.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_is_woken_and_is_stuck_is_watched_by_the_monitor() {
    check(|| {
        let model = Model::watched();
        let monitor = thread::spawn(|| model.watch());
        let mut waker = None;
        model.sleep_and(Sleeps::UntilTimer, || waker = Some(model.waker()));
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        waker.expect("it has announced sleep").join().unwrap();
        model.switch.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_wakes_while_it_is_woken_is_watched_by_the_monitor() {
    check(|| {
        let model = Model::watched();
        let monitor = thread::spawn(|| model.watch());
        let mut waker = None;
        model.sleep_and(Sleeps::NotAtAll, || waker = Some(model.waker()));
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        waker.expect("it has announced sleep").join().unwrap();
        model.switch.close();
        monitor.join().unwrap();
    });
}

#[test]
fn the_monitor_fires_the_timers_of_a_worker_whose_thread_has_ended() {
    check(|| {
        let model = Model::with_threads(2);
        // Another runs for it, and both count as threads.
        model.idle.begin(Activity::Blocked);
        assert_eq!(model.idle.claim(), Some(Claim::Unstarted(1)));
        model.idle.end(Activity::Blocked);
        model.idle.announce(1);
        let monitor = thread::spawn(|| model.watch());
        let waiter = Waiter::new();
        let mut entry = entry(NOW);
        model.link(&mut entry, waiter.waker());
        // It slept for long while its timer was not due, and leaves the moment before it is.
        model.idle.announce(0);
        assert!(model.idle.leave(0));
        model.vacant.set();
        waking::vacate(model, 0);
        waiter.wait(|_| {
            if entry.is_fired() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        });
        model.switch.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_parks_beside_a_monitor_that_turns_its_wheel_runs_the_task() {
    check_deeper(3, || {
        let model = Model::watched();
        let mut entry = entry(NOW);
        model.link(&mut entry, Waker::from(Arc::new(Queues(model))));
        let monitor = thread::spawn(|| model.wheel.fire_by(NOW, NOW));
        model.run_the_task();
        monitor.join().unwrap();
        assert!(entry.is_fired());
    });
}
