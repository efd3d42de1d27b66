//! Sends the lines of one run, as many in a message as fit, each message with an id of its own.
//!
//! A line is on the disk before it is sent, so a machine that loses its power cannot measure it once more under the
//! number that it was sent under. Each sender sends from the first line on, and its ids are its own: the queue drops
//! what one sender sends twice, and the database what two senders do.

use super::{
    Setup,
    spool::{Entry, open_regular, read_regular},
};
use crate::{
    FleetError, Name,
    engine::{Engine, Message, Queue},
    time::pause,
    wire::{
        self, Answer, LINES_MAX, LinesDigest, News, Note, Over, Receipt, Report, Texts, Within,
    },
};
use manyhands_lab::{run::Interrupt, store::EVENTS};
use std::{
    io::{Read, Seek, SeekFrom},
    time::Duration,
};

/// One sending of a run.
pub(super) struct Sender<'run> {
    engine: &'run dyn Engine,
    setup: &'run Setup,
    entry: &'run Entry,
    /// Id of this sending.
    sending: Name,
    /// Lines sent so far; the first is the head.
    lines: u64,
    /// Bytes of the events' file that they are.
    offset: u64,
    digest: LinesDigest,
}

impl<'run> Sender<'run> {
    pub(super) fn new(engine: &'run dyn Engine, setup: &'run Setup, entry: &'run Entry) -> Self {
        Self {
            engine,
            setup,
            entry,
            sending: wire::new_id(),
            lines: 0,
            offset: 0,
            digest: LinesDigest::default(),
        }
    }

    /// Sends the lines that have been added since.
    pub(super) fn send_new(&mut self) -> Result<(), FleetError> {
        let mut texts = Vec::new();
        if self.lines == 0 {
            let path = self.entry.folder().join(HEAD);
            let bytes = read_regular(&path).map_err(FleetError::file("read", &path))?;
            texts.push(String::from_utf8(bytes).map_err(FleetError::format("the head of a run"))?);
        }
        texts.extend(self.new_lines()?);
        let batches = batches(&texts)?;
        for group in batches.chunks(BATCHES_AT_ONCE) {
            let mut messages = Vec::new();
            let mut first = self.lines;
            for texts in group {
                let lines = Texts::try_from(texts.to_vec());
                let news = News::Lines {
                    first: Within::nearest(first),
                    texts: lines.map_err(FleetError::format("the lines of a run"))?,
                };
                let name = format!("lines-{first}-{}", texts.len());
                messages.push(self.message(&name, news)?);
                first += texts.len() as u64;
            }
            self.publish(&messages)?;
            for text in group.iter().copied().flatten() {
                // The head is in a file of its own.
                let bytes = text.len() as u64 + 1;
                self.offset += if self.lines == 0 { 0 } else { bytes };
                self.lines += 1;
                self.digest.add(text);
            }
        }
        Ok(())
    }

    /// Sends all lines and says that they are all.
    fn send_all(&mut self) -> Result<(), FleetError> {
        self.send_new()?;
        let news = News::Done {
            lines: Within::nearest(self.lines),
            sha256: self.digest.clone().hex(),
            sending: self.sending.clone(),
            machine: self.setup.machine.clone(),
        };
        self.send("done", news)
    }

    /// Sends the rest of a run, in several tries if some of it arrives in each.
    pub(super) fn send_stubbornly(&mut self, stop: &Interrupt) -> Result<(), FleetError> {
        let mut tries_without_progress = 0;
        loop {
            let before = self.lines;
            match self.send_all() {
                Err(FleetError::Engine { .. })
                    if tries_without_progress < TRIES_MAX && !stop.is_set() =>
                {
                    tries_without_progress = match self.lines > before {
                        true => 0,
                        false => tries_without_progress + 1,
                    };
                    pause(TRY_AGAIN, stop);
                }
                ended => return ended,
            }
        }
    }

    /// Reports how far the run is.
    pub(super) fn beat(&self, events: u64, left_seconds: u64) -> Result<(), FleetError> {
        let news = News::Beat {
            events: Within::nearest(events),
            left_seconds: Within::nearest(left_seconds),
            machine: self.setup.machine.clone(),
        };
        self.send(&format!("beat-{}", wire::new_id()), news)
    }

    /// Sends one thing about the job.
    pub(super) fn send(&self, name: &str, news: News) -> Result<(), FleetError> {
        self.publish(&[self.message(name, news)?])
    }

    /// What the server has answered to this sending, or to one before it for good.
    fn answer(&self) -> Result<Option<Receipt>, FleetError> {
        let answer = Answer::of(self.engine, self.entry.run())?;
        let is_new =
            |answer: &Answer| answer.receipt != Receipt::Resend || answer.sending == self.sending;
        Ok(answer.filter(is_new).map(|answer| answer.receipt))
    }

    /// The answer, if it is there and the engine can be asked now.
    pub(super) fn answer_now(&self) -> Option<Receipt> {
        self.answer().unwrap_or(None)
    }

    /// Whether another run counts for the job, or none ever will, or not this one.
    pub(super) fn is_superseded(&self) -> Result<bool, FleetError> {
        let over = Over::of(self.engine, &self.entry.job().id)?;
        let is_other = over.is_some_and(|over| over.run.as_ref() != Some(self.entry.run()));
        Ok(is_other || self.answer()? == Some(Receipt::Refused))
    }

    fn message(&self, name: &str, news: News) -> Result<Message, FleetError> {
        let job = self.entry.job();
        let report = Report::Job(Note {
            agent: self.setup.name.clone(),
            job: job.id.clone(),
            ticket: job.ticket.clone(),
            run: self.entry.run().clone(),
            news,
        });
        Ok(Message {
            id: format!("{}.{name}", self.sending),
            body: wire::to_bytes(&report)?,
        })
    }

    fn publish(&self, messages: &[Message]) -> Result<(), FleetError> {
        self.engine
            .publish(Queue::Results, &self.setup.name, messages)
    }

    /// The whole lines behind those that are sent, once they are on the disk.
    fn new_lines(&self) -> Result<Vec<String>, FleetError> {
        let path = self.entry.folder().join(EVENTS);
        let failed = FleetError::file("read", &path);
        let mut text = String::new();
        let read = open_regular(&path).and_then(|mut file| {
            file.sync_data()?;
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_string(&mut text)
        });
        read.map_err(failed)?;
        let whole = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        Ok(whole.map(str::to_owned).collect())
    }
}

/// Lines that are sent together: as many as fit into a message.
fn batches(texts: &[String]) -> Result<Vec<&[String]>, FleetError> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (place, text) in texts.iter().enumerate() {
        // As it is written in the message, with the comma behind it.
        let length = wire::to_bytes(text)?.len() + 1;
        if length > LINE_BYTES_MAX || place as u64 >= LINES_MAX {
            return Err(FleetError::Format {
                what: "a line of the run",
                reason: "it is too long to be sent".to_owned(),
            });
        }
        if bytes + length > BATCH_BYTES || place - start == Texts::COUNT_MAX {
            batches.push(&texts[start..place]);
            (start, bytes) = (place, 0);
        }
        bytes += length;
    }
    batches.push(&texts[start..]);
    batches.retain(|batch| !batch.is_empty());
    Ok(batches)
}

/// Of lines in a message; half of what a NATS server takes.
const BATCH_BYTES: usize = 512 << 10;
/// Of a line that has a message to itself.
const LINE_BYTES_MAX: usize = 900 << 10;
const BATCHES_AT_ONCE: usize = 8;
const TRIES_MAX: u32 = 3;
const TRY_AGAIN: Duration = Duration::from_millis(100);
/// The file with the head of a run, as the laboratory calls it.
pub(super) const HEAD: &str = "run.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_together_as_far_as_a_message_has_room() {
        let short = vec!["x".repeat(300); 342];
        assert_eq!(batches(&short).unwrap().len(), 1);
        // A control character is written as six.
        let long = vec!["\u{1}".repeat(50_000); 3];
        let lengths = |texts: &[String]| {
            let batches = batches(texts).unwrap();
            batches.iter().map(|batch| batch.len()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(&long), [1, 1, 1]);
        assert_eq!(lengths(&vec!["1".to_owned(); 5_000]), [4_096, 904]);
        assert!(lengths(&[]).is_empty());
        let too_long = ["x".repeat(LINE_BYTES_MAX)];
        assert!(matches!(
            batches(&too_long).unwrap_err(),
            FleetError::Format { .. }
        ));
    }
}
