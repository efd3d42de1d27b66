//! Who turns the wheels: a worker that parks, the monitor, and who makes the next timer an earlier one.
//!
//! Threads: the monitor, and one or two of: a worker, one that wakes it, threads from outside that wait for
//! timers. Operations, as in `runtime/timers.rs`, `runtime/monitor.rs` and `runtime/worker.rs`: insert, rouse;
//! announce, look again, read the next tick, park, withdraw, arm, turn the own wheel; turn the outside's and
//! the late wheels, switch off, look again.
//! With three preemptions for the models of two threads.
//!
//! Time stands at tick [`NOW`]: a park until then ends at once, and one until later lasts until its thread is
//! unparked.
//!
//! Property: every timer that is due by [`NOW`] wakes who waits for it, so nobody who must turn its wheel
//! sleeps beyond that.

use super::{Waiter, Work, check, check_deeper};
use crate::queue::TaskQueue;
use crate::runtime::idle::{Claim, Idle};
use crate::sync::Parker;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::timer::{Earlier, Entry, Moment, Standing, Timers};
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
    /// Where the monitor sleeps.
    monitor: Parker,
    switch: AtomicU32,
    /// The worker's.
    wheel: Timers,
    outside: Timers,
    queue: TaskQueue<Work>,
    task: Work,
}

impl Model {
    /// The worker is awake; the switch as given. Lives for ever, as seats do.
    fn new(switch: u32) -> &'static Self {
        let idle = Idle::new(1, 1);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        Box::leak(Box::new(Self {
            idle,
            worker: Parker::new(),
            monitor: Parker::new(),
            switch: AtomicU32::new(switch),
            wheel: Timers::new(),
            outside: Timers::new(),
            queue: TaskQueue::new(),
            task: Work::new(0),
        }))
    }

    /// The monitor's life.
    fn watch(&'static self) {
        loop {
            // SeqCst: M1, as for every access to the switch.
            match self.switch.load(Ordering::SeqCst) {
                ON => {
                    fire_by(&self.outside);
                    fire_by(&self.wheel);
                    if !self.idle.is_quiet() {
                        thread::yield_now();
                    } else if self.switch(ON, OFF) && !self.idle.is_quiet() {
                        self.switch(OFF, ON);
                    }
                }
                OFF => park_until(&self.monitor, fire_by(&self.outside)),
                _ => return,
            }
        }
    }

    fn switch(&self, from: u32, to: u32) -> bool {
        self.switch
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    fn arm(&self) {
        if self.switch.load(Ordering::SeqCst) == OFF && self.switch(OFF, ON) {
            self.monitor.unpark();
        }
    }

    fn close(&self) {
        self.switch.store(CLOSED, Ordering::SeqCst);
        self.monitor.unpark();
    }

    /// A thread from outside links an entry.
    fn link_outside(&'static self, entry: &mut Pin<Box<Entry>>, waker: Waker) {
        let linked = entry.as_mut().link(&self.outside, 0, waker);
        if linked.expect("the timers are open") == Earlier::Yes {
            self.monitor.unpark();
        }
    }

    /// A thread from outside waits for a timer.
    fn wait_outside(&'static self, tick: u64) {
        let mut entry = entry(tick);
        wait_for(&mut entry, |entry, waker| self.link_outside(entry, waker));
    }

    /// Worker: links an entry in its own wheel.
    fn link(&'static self, entry: &mut Pin<Box<Entry>>, waker: Waker) {
        let linked = entry.as_mut().link(&self.wheel, 0, waker);
        let _ = linked.expect("the timers are open");
    }

    /// Worker: sleeps until claimed, until there is work, or until its next timer.
    fn sleep(&self) {
        self.idle.announce(0);
        self.sleep_announced();
    }

    fn sleep_announced(&self) {
        let mut woken = false;
        loop {
            if !self.queue.is_empty() {
                // What is visible may not be takeable yet.
                thread::yield_now();
                break;
            }
            park_until(&self.worker, self.wheel.next_due());
            woken = !self.idle.is_announced(0);
            if woken || self.wheel.next_due() <= NOW {
                break;
            }
        }
        self.awake(woken);
    }

    /// Worker: is awake, claimed or by itself.
    fn awake(&self, woken: bool) {
        self.idle.withdraw(0);
        if !woken {
            self.arm();
        }
    }

    /// Somebody wakes the worker if it sleeps.
    fn claim(&self) {
        if self.idle.claim().is_some() {
            self.arm();
            self.worker.unpark();
        }
    }

    /// The worker runs the task when its timer has queued it.
    fn run_the_task(&self) {
        loop {
            fire_by(&self.wheel);
            if let Some(run) = self.queue.take(1) {
                return Work::at(run.first).run();
            }
            self.sleep();
        }
    }
}

/// Turns a wheel if something is due. Returns the tick of its next timer.
fn fire_by(timers: &Timers) -> u64 {
    if timers.next_due() <= NOW {
        timers.fire(NOW);
    }
    timers.next_due()
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
            Standing::Fired => return Poll::Ready(()),
            Standing::Waiting => {}
            Standing::Idle => link(entry, context.waker().clone()),
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
        // SAFETY: 1. the model lives for ever; 2. its one timer fires once.
        unsafe { model.queue.push(model.task.as_ptr()) };
        if model.idle.has_room() {
            model.claim();
        }
    }
}

const OFF: u32 = 0;
const ON: u32 = 1;
const CLOSED: u32 = 2;

#[test]
fn a_monitor_that_falls_asleep_until_later_is_told_of_an_earlier_timer() {
    check(|| {
        let model = Model::new(OFF);
        let mut later = entry(LATER);
        model.link_outside(&mut later, Waker::noop().clone());
        let monitor = thread::spawn(|| model.watch());
        // Whichever of the two comes second is no earlier, or tells the monitor once more.
        let other = thread::spawn(|| model.wait_outside(NOW - 1));
        model.wait_outside(NOW);
        other.join().unwrap();
        model.close();
        monitor.join().unwrap();
        assert!(!later.is_fired());
    });
}

#[test]
fn a_worker_that_wakes_and_is_stuck_is_watched_by_the_monitor() {
    check_deeper(3, || {
        let model = Model::new(ON);
        model.idle.announce(0);
        let monitor = thread::spawn(|| model.watch());
        model.awake(false);
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        model.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_is_woken_and_is_stuck_is_watched_by_the_monitor() {
    check(|| {
        let model = Model::new(ON);
        model.idle.announce(0);
        let monitor = thread::spawn(|| model.watch());
        let waker = thread::spawn(|| model.claim());
        model.sleep_announced();
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        waker.join().unwrap();
        model.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_wakes_while_it_is_woken_is_watched_by_the_monitor() {
    check(|| {
        let model = Model::new(ON);
        model.idle.announce(0);
        let monitor = thread::spawn(|| model.watch());
        let waker = thread::spawn(|| model.claim());
        let woken = !model.idle.is_announced(0);
        model.awake(woken);
        wait_for(&mut entry(NOW), |entry, waker| model.link(entry, waker));
        waker.join().unwrap();
        model.close();
        monitor.join().unwrap();
    });
}

#[test]
fn a_worker_that_parks_beside_a_monitor_that_turns_its_wheel_runs_the_task() {
    check_deeper(3, || {
        let model = Model::new(ON);
        let mut entry = entry(NOW);
        model.link(&mut entry, Waker::from(Arc::new(Queues(model))));
        let monitor = thread::spawn(|| fire_by(&model.wheel));
        model.run_the_task();
        monitor.join().unwrap();
        assert!(entry.is_fired());
    });
}
