//! What the one thread does that speaks MPI: it sends what is ordered, hears what comes, and agrees with the other ranks
//! on the end.
//!
//! # Waiting
//! Nothing here waits inside of MPI, where a waiting thread would keep a processor: it looks again and again, in pauses that
//! grow to a millisecond while nothing comes. An order ends a pause.
//!
//! A long message leaves only while its receiver takes it. Until then others are sent and heard, so that two ranks may
//! send to each other, and a rank that is stopped keeps nobody but itself waiting.
//!
//! # The end
//! MPI can end in a rank only when all ranks end it. The driver tells each worker, each answers with its last message, and
//! the driver waits for these, so that no message is left over.

use manyhands::time;
use mpi::{
    Rank, Tag, request,
    topology::SimpleCommunicator,
    traits::{Communicator, Destination, MatchedReceiveVec, Source},
};
use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};
use typed_arena::Arena;

/// What the thread is to do.
#[derive(Debug)]
pub(crate) enum Order {
    Send(Rank, Vec<u8>),
    /// At the driver; a worker ends when it hears of it.
    End,
}

/// Who hears frames, and from whom.
pub(crate) type Hear = Box<dyn FnMut(Rank, Vec<u8>) + Send>;

pub(crate) struct Exchange {
    world: SimpleCommunicator,
    orders: Receiver<Order>,
    hear: Option<Hear>,
    course: Course,
    /// How often nothing has come since something did.
    idle: u32,
    /// Since when nothing has moved, where the end is waited for.
    waits_since: Option<Instant>,
}

impl Exchange {
    pub(crate) fn new(
        world: SimpleCommunicator,
        orders: Receiver<Order>,
        hear: Option<Hear>,
    ) -> Self {
        let course = Course::new(world.rank(), world.size());
        Self {
            world,
            orders,
            hear,
            course,
            idle: 0,
            waits_since: None,
        }
    }

    /// Returns when all ranks have agreed on the end.
    pub(crate) fn run(mut self) {
        while !self.course.is_over() {
            if !self.exchange() {
                self.wait();
            }
        }
    }

    /// Sends and hears until nothing is on its way. Returns whether there was anything.
    fn exchange(&mut self) -> bool {
        let letters = Arena::with_capacity(0);
        request::scope(|scope| {
            let mut on_their_way = Vec::new();
            let (mut count, mut bytes) = (0_usize, 0);
            let mut is_anything = false;
            loop {
                while let Ok(order) = self.orders.try_recv() {
                    self.course.order(order);
                }
                let has_room = count < ROUND_COUNT_MAX && bytes < ROUND_BYTES_MAX;
                if has_room && let Some(letter) = self.course.letters.pop_front() {
                    let (to, tag) = (letter.to, letter.tag);
                    let frame: &[u8] = letters.alloc(letter.bytes);
                    (count, bytes) = (count + 1, bytes + frame.len());
                    let to = self.world.process_at_rank(to);
                    on_their_way.push(to.immediate_send_with_tag(scope, frame, tag));
                }
                let before = on_their_way.len();
                on_their_way = on_their_way
                    .into_iter()
                    .filter_map(|request: request::Request<'_, _, _>| request.test().err())
                    .collect();
                let has_moved = self.receive() || on_their_way.len() < before;
                is_anything |= has_moved;
                if on_their_way.is_empty() && (!has_moved || !has_room) {
                    return is_anything;
                }
                if !has_room && !self.course.letters.is_empty() {
                    // What a stopped rank does not take stays here, and so does all that has left beside it: the others' go on
                    // in a round of their own.
                    is_anything |= self.exchange();
                }
                if !has_moved {
                    self.wait();
                } else {
                    (self.idle, self.waits_since) = (0, None);
                }
            }
        })
    }

    /// Hears one message if there is one.
    fn receive(&mut self) -> bool {
        let Some(found) = self.world.any_process().immediate_matched_probe() else {
            return false;
        };
        let (bytes, status) = found.matched_receive_vec::<u8>();
        match self.course.hear(status.source_rank(), status.tag()) {
            Heard::Frame => {
                if let Some(hear) = &mut self.hear {
                    hear(status.source_rank(), bytes);
                }
            }
            // Who hears learns of the end by this.
            Heard::End => self.hear = None,
        }
        true
    }

    fn wait(&mut self) {
        let pause = pause(self.idle);
        self.idle = self.idle.saturating_add(1);
        if self.course.is_ending {
            let since = *self.waits_since.get_or_insert_with(now);
            if since.elapsed() >= ENDING_MAX {
                self.give_up();
            }
        }
        match self.orders.recv_timeout(pause) {
            Ok(order) => self.course.order(order),
            Err(RecvTimeoutError::Timeout) => {}
            // Who gave the orders is gone.
            Err(RecvTimeoutError::Disconnected) => {
                self.course.order(Order::End);
                time::sleep_blocking(pause);
            }
        }
    }

    #[expect(
        clippy::print_stderr,
        reason = "the process ends here, and its user must know why"
    )]
    fn give_up(&self) -> ! {
        eprintln!("manyhands-mpi: a rank has not answered for {ENDING_MAX:?}; all ranks are ended");
        self.world.abort(1)
    }
}

/// What is to be sent, and how far the end has come; without MPI, so that it can be tried.
#[derive(Debug)]
struct Course {
    own: Rank,
    count: Rank,
    letters: VecDeque<Letter>,
    is_ending: bool,
    /// At the driver: the workers whose last message has not come.
    missing: Rank,
}

#[derive(Debug, PartialEq, Eq)]
struct Letter {
    to: Rank,
    tag: Tag,
    bytes: Vec<u8>,
}

/// What a message means.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Frame,
    End,
}

impl Course {
    fn new(own: Rank, count: Rank) -> Self {
        let missing = if own == DRIVER { count - 1 } else { 0 };
        Self {
            own,
            count,
            letters: VecDeque::new(),
            is_ending: false,
            missing,
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            // A last message was the last one.
            Order::Send(..) if self.is_ending => {}
            Order::Send(to, bytes) => self.letters.push_back(Letter {
                to,
                tag: FRAME,
                bytes,
            }),
            Order::End if self.own == DRIVER => self.end(1..self.count),
            Order::End => {}
        }
    }

    fn hear(&mut self, from: Rank, tag: Tag) -> Heard {
        if tag != LAST {
            return Heard::Frame;
        }
        if self.own == DRIVER {
            self.missing -= 1;
        } else {
            self.end(from..from + 1);
        }
        Heard::End
    }

    fn end(&mut self, to: std::ops::Range<Rank>) {
        if self.is_ending {
            return;
        }
        self.is_ending = true;
        self.letters.extend(to.map(|to| Letter {
            to,
            tag: LAST,
            bytes: Vec::new(),
        }));
    }

    fn is_over(&self) -> bool {
        self.is_ending && self.missing == 0 && self.letters.is_empty()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the end may be waited for only so long, however busy the processors are"
)]
fn now() -> Instant {
    Instant::now()
}

/// How long to wait before looking again.
fn pause(idle: u32) -> Duration {
    if idle < LOOKS {
        return Duration::ZERO;
    }
    let doublings = (idle - LOOKS).min(PAUSE_MAX.as_micros().ilog2() + 1);
    (Duration::from_micros(1) * (1 << doublings)).min(PAUSE_MAX)
}

/// Of the ranks.
pub(crate) const DRIVER: Rank = 0;
const FRAME: Tag = 0;
const LAST: Tag = 1;
/// How often it looks without a pause, and then how long it waits at most.
const LOOKS: u32 = 50;
const PAUSE_MAX: Duration = Duration::from_millis(1);
/// What is kept until all of it has left.
const ROUND_COUNT_MAX: usize = 10_000;
const ROUND_BYTES_MAX: usize = 512 << 20;
/// How long the other ranks have to agree on the end.
const ENDING_MAX: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(course: &mut Course) -> Vec<(Rank, Tag)> {
        let letters = course.letters.drain(..);
        letters.map(|letter| (letter.to, letter.tag)).collect()
    }

    #[test]
    fn it_is_over_when_each_worker_has_answered() {
        let mut driver = Course::new(DRIVER, 3);
        driver.order(Order::Send(2, vec![7]));
        driver.order(Order::End);
        driver.order(Order::End);
        driver.order(Order::Send(1, vec![8]));
        assert_eq!(sent(&mut driver), [(2, FRAME), (1, LAST), (2, LAST)]);
        assert_eq!(driver.hear(1, FRAME), Heard::Frame);
        assert_eq!(driver.hear(2, LAST), Heard::End);
        assert!(!driver.is_over());
        driver.hear(1, LAST);
        assert!(driver.is_over());
    }

    #[test]
    fn a_worker_answers_last_and_ends_by_word_of_its_driver_only() {
        let mut worker = Course::new(2, 3);
        worker.order(Order::End);
        assert!(!worker.is_over() && sent(&mut worker).is_empty());
        worker.order(Order::Send(DRIVER, vec![7]));
        assert_eq!(worker.hear(DRIVER, LAST), Heard::End);
        worker.order(Order::Send(DRIVER, vec![8]));
        assert!(!worker.is_over(), "it has not answered");
        assert_eq!(sent(&mut worker), [(DRIVER, FRAME), (DRIVER, LAST)]);
        assert!(worker.is_over());
    }

    #[test]
    fn pauses_grow_to_a_millisecond() {
        assert_eq!(pause(0), Duration::ZERO);
        assert_eq!(pause(LOOKS), Duration::from_micros(1));
        let pauses: Vec<_> = (0..200).map(pause).collect();
        assert!(pauses.is_sorted());
        assert_eq!((pauses[199], pause(u32::MAX)), (PAUSE_MAX, PAUSE_MAX));
    }
}
