//! A relay that reads the frames of NATS's protocol and passes whole messages on twice, late and out of order: those that
//! programs send to the server, and those that the server hands out.
//!
//! Everything else, requests and acknowledgements among it, comes through in its order; some of it comes twice. A copy has
//! the id of its message, so that the server knows it, or an id of its own, as if the server had forgotten the first one.

use crate::relay::{Relay, Way};
use manyhands_lab::clock::Stopwatch;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How many of a hundred frames suffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    /// Messages that come twice, with the same id or another one.
    pub(crate) twice: u32,
    /// Messages that come after others that were sent later.
    pub(crate) late: u32,
    /// Messages that come when their sender has given up waiting for an answer.
    pub(crate) too_late: u32,
    /// Acknowledgements that come twice.
    pub(crate) acknowledged_twice: u32,
    /// Requests, such as for the next message, that come twice.
    pub(crate) asked_twice: u32,
}

/// A relay with such odds; it ends with this value.
pub(crate) struct Shuffler {
    relay: Relay,
    counts: Arc<Counts>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) repeated: AtomicU64,
    /// Of these, under another id.
    pub(crate) renamed: AtomicU64,
    /// Messages that others have overtaken.
    pub(crate) overtaken: AtomicU64,
    pub(crate) too_late: AtomicU64,
}

impl Shuffler {
    /// One to the `nats-server` at this port.
    pub(crate) fn to(port: u16, odds: Odds, seed: u64) -> Self {
        let counts = Arc::new(Counts::default());
        let counting = Arc::clone(&counts);
        let relay = Relay::carrying(port, move |way| {
            let mut passing = Passing {
                odds,
                rng: StdRng::seed_from_u64((seed << 32) | way.number),
                held: Vec::new(),
                counts: &counting,
            };
            passing.pass_all(way);
        });
        Self { relay, counts }
    }

    pub(crate) fn port(&self) -> u16 {
        self.relay.port
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }
}

/// One direction of a connection.
struct Passing<'relay> {
    odds: Odds,
    rng: StdRng,
    held: Vec<Held>,
    counts: &'relay Counts,
}

/// A frame that waits.
struct Held {
    frame: Frame,
    /// Frames that may still overtake it, unless nothing more comes.
    passes: u32,
    /// Whether any has.
    is_overtaken: bool,
    /// Of one that is too late.
    since: Option<Stopwatch>,
}

impl Passing<'_> {
    fn pass_all(&mut self, way: &mut Way) {
        let (mut bytes, mut left) = ([0; 16 << 10], Vec::new());
        while let Some(read) = way.read(&mut bytes) {
            left.extend_from_slice(read);
            let is_silent = read.is_empty();
            let mut out = Vec::new();
            while let Some(frame) = Frame::take(&mut left) {
                self.pass(frame, &mut out);
            }
            self.let_go(is_silent, &mut out);
            if way.to.write_all(&out).is_err() {
                break;
            }
        }
    }

    fn pass(&mut self, frame: Frame, out: &mut Vec<u8>) {
        let kind = frame.kind();
        let Odds {
            twice,
            late,
            too_late,
            acknowledged_twice,
            asked_twice,
        } = self.odds;
        let twice = match kind {
            Kind::Message => twice,
            Kind::Acknowledgement => acknowledged_twice,
            Kind::Request => asked_twice,
            Kind::Other => 0,
        };
        if self.happens(twice) {
            self.counts.repeated.fetch_add(1, Ordering::SeqCst);
            let mut copy = frame.clone();
            if self.happens(50) && copy.rename() {
                self.counts.renamed.fetch_add(1, Ordering::SeqCst);
            }
            self.hold(copy, 30, None);
        }
        if kind == Kind::Message && self.happens(too_late) {
            self.counts.too_late.fetch_add(1, Ordering::SeqCst);
            self.hold(frame, 1, Some(Stopwatch::start()));
        } else if kind == Kind::Message && self.happens(late) {
            self.hold(frame, 4, None);
        } else {
            self.send(&frame, out);
        }
    }

    fn hold(&mut self, frame: Frame, passes_max: u32, since: Option<Stopwatch>) {
        let held = Held {
            frame,
            passes: self.rng.random_range(1..=passes_max),
            is_overtaken: false,
            since,
        };
        self.held.push(held);
    }

    fn send(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        out.extend_from_slice(&frame.0);
        if frame.kind() == Kind::Message {
            for held in &mut self.held {
                held.is_overtaken = true;
                held.passes = held.passes.saturating_sub(1);
            }
        }
    }

    /// Sends what has waited for long enough, and one more where nothing else comes.
    fn let_go(&mut self, is_silent: bool, out: &mut Vec<u8>) {
        let mut may_go_early = is_silent;
        let mut place = 0;
        while place < self.held.len() {
            let held = &self.held[place];
            let goes = match &held.since {
                Some(since) => since.elapsed() > TOO_LATE,
                None => held.passes == 0 || std::mem::take(&mut may_go_early),
            };
            if goes {
                let held = self.held.remove(place);
                let count = u64::from(held.is_overtaken);
                self.counts.overtaken.fetch_add(count, Ordering::SeqCst);
                self.send(&held.frame, out);
            } else {
                place += 1;
            }
        }
    }

    fn happens(&mut self, odds: u32) -> bool {
        self.rng.random_range(0..100) < odds
    }
}

/// An operation of the protocol with what belongs to it, as it came.
#[derive(Clone)]
struct Frame(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One of a queue of the fleet, with its content.
    Message,
    Acknowledgement,
    Request,
    Other,
}

impl Frame {
    /// The first one of these bytes, if it is whole.
    fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let line = bytes.windows(2).position(|two| two == b"\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..line]);
        let mut words = head.split_ascii_whitespace();
        let has_body = matches!(words.next(), Some("PUB" | "HPUB" | "MSG" | "HMSG"));
        // The last word is the length of the headers and the content, behind which the line ends again.
        let body: usize = match words.next_back() {
            Some(length) if has_body => length.parse::<usize>().unwrap() + 2,
            _ => 0,
        };
        let length = line + 2 + body;
        (bytes.len() >= length).then(|| Self(bytes.drain(..length).collect()))
    }

    fn kind(&self) -> Kind {
        let line = self.0.split(|byte| *byte == b'\r').next().unwrap_or(&[]);
        let head = String::from_utf8_lossy(line);
        let mut words = head.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("PUB" | "HPUB" | "MSG" | "HMSG"), Some(subject)) => {
                if subject.starts_with("manyhands-") {
                    Kind::Message
                } else if subject.starts_with("$JS.ACK.") {
                    Kind::Acknowledgement
                } else if subject.starts_with("$JS.API.") {
                    Kind::Request
                } else {
                    Kind::Other
                }
            }
            _ => Kind::Other,
        }
    }

    /// Gives the message another id of the same length; `false` if it has none.
    fn rename(&mut self) -> bool {
        let name = b"Nats-Msg-Id:";
        let found = self.0.windows(name.len()).position(|some| some == name);
        let Some(start) = found.map(|place| place + name.len()) else {
            return false;
        };
        let first = self.0[start..].iter_mut().find(|byte| **byte != b' ');
        // Ids begin with hexadecimal digits.
        first.is_some_and(|byte| std::mem::replace(byte, b'x') != b'x')
    }
}

/// The programs wait for answers for five seconds.
const TOO_LATE: Duration = Duration::from_secs(6);
