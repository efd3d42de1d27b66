//! Sends the lines of one run, each as a message with an id of its own.
//!
//! A line is on the disk before it is sent, so a machine that loses its power cannot measure it once more under the
//! number that it was sent under. Each sender sends from the first line on, and its ids are its own: the queue drops
//! what one sender sends twice, and the database what two senders do.

use super::{Setup, spool::Entry};
use crate::{
    FleetError,
    engine::{Engine, Queue},
    wire::{self, Answer, LinesDigest, News, Note, Receipt},
};
use manyhands_lab::store::EVENTS;
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
};

/// One sending of a run.
pub(super) struct Sender<'run> {
    engine: &'run dyn Engine,
    agent: &'run str,
    machine: Option<&'run str>,
    entry: &'run Entry,
    /// Id of this sending.
    sending: String,
    /// Lines sent so far; the first is the head.
    lines: u64,
    /// Bytes of the events' file that they are.
    offset: u64,
    digest: LinesDigest,
    beats: u64,
}

impl<'run> Sender<'run> {
    pub(super) fn new(engine: &'run dyn Engine, setup: &'run Setup, entry: &'run Entry) -> Self {
        Self {
            engine,
            agent: &setup.name,
            machine: setup.machine.as_deref(),
            entry,
            sending: wire::new_id(),
            lines: 0,
            offset: 0,
            digest: LinesDigest::default(),
            beats: 0,
        }
    }

    /// The number of lines that are sent.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// Sends the lines that have been added since.
    pub(super) fn send_new(&mut self) -> Result<(), FleetError> {
        if self.lines == 0 {
            let path = self.entry.folder().join(HEAD);
            let head = fs::read_to_string(&path).map_err(FleetError::file("read", &path))?;
            self.send_line(&head)?;
        }
        for line in self.new_lines()? {
            self.send_line(&line)?;
            self.offset += line.len() as u64 + 1;
        }
        Ok(())
    }

    /// Sends all lines and says that they are all.
    pub(super) fn send_all(&mut self) -> Result<(), FleetError> {
        self.send_new()?;
        let news = News::Done {
            lines: self.lines,
            sha256: self.digest.clone().hex(),
            sending: self.sending.clone(),
            machine: self.machine.map(str::to_owned),
        };
        self.send("done", news)
    }

    /// Reports how far the run is.
    pub(super) fn beat(&mut self, events: u64, left_seconds: u64) -> Result<(), FleetError> {
        self.beats += 1;
        let news = News::Beat {
            events,
            left_seconds,
            machine: self.machine.map(str::to_owned),
        };
        self.send(&format!("beat-{}", self.beats), news)
    }

    /// What the server has answered to this sending, or to one before it for good.
    pub(super) fn answer(&self) -> Result<Option<Receipt>, FleetError> {
        let Some(bytes) = self.engine.get(&wire::run_key(self.entry.run()))? else {
            return Ok(None);
        };
        let answer: Answer = wire::from_bytes(&bytes)?;
        let is_old = answer.receipt == Receipt::Resend && answer.sending != self.sending;
        Ok((!is_old).then_some(answer.receipt))
    }

    /// The run that counts for the job, or the sign that none ever will, if it is not this one.
    pub(super) fn is_superseded(&self) -> Result<bool, FleetError> {
        let run = self.engine.get(&wire::job_key(&self.entry.job().id))?;
        Ok(run.is_some_and(|run| run != self.entry.run().as_bytes()))
    }

    fn send_line(&mut self, line: &str) -> Result<(), FleetError> {
        let number = self.lines;
        let text = line.to_owned();
        self.send(&format!("line-{number}"), News::Line { number, text })?;
        self.lines += 1;
        self.digest.add(line);
        Ok(())
    }

    fn send(&self, name: &str, news: News) -> Result<(), FleetError> {
        let note = Note {
            agent: self.agent.to_owned(),
            job: self.entry.job().id.clone(),
            run: self.entry.run().to_owned(),
            news,
        };
        let id = format!("{}.{name}", self.sending);
        self.engine
            .publish(Queue::Results, &id, &wire::to_bytes(&note)?)
    }

    /// The whole lines behind those that are sent, once they are on the disk.
    fn new_lines(&self) -> Result<Vec<String>, FleetError> {
        let path = self.entry.folder().join(EVENTS);
        let failed = FleetError::file("read", &path);
        let mut text = String::new();
        let read = File::open(&path).and_then(|mut file| {
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

/// The file with the head of a run, as the laboratory calls it.
pub(super) const HEAD: &str = "run.json";
