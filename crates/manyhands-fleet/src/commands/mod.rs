//! The commands of the fleet: what is typed, and what is done about it.

mod beside;
mod keys;
mod page;
mod price;
mod pull;
mod serve;
mod show;
mod submit;
mod trial;

pub use keys::{AccessKey, Enrol, ListKeys, Revoke, Token};
pub use page::ShowPage;
pub use price::{Price, PriceBill, PriceEstimate};
pub use pull::Pull;
pub use serve::Serve;
pub use show::{Export, Watch};
pub use submit::{Cancel, Redo, Submit, cancel_at, redo_at, submit_to};
pub use trial::Trial;

use crate::{
    FleetError,
    engine::{Address, Keys, Nats},
};
use clap::{Args, Subcommand};
use manyhands_lab::{
    Experiment,
    clock::Stopwatch,
    console::{Companion, Ending, Printing},
    plain::plain,
    run::Interrupt,
};
use serde::Serialize;
use std::{path::PathBuf, time::Duration};

/// The commands.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Fleet {
    /// Carry out a plan on this machine alone: a server, two agents, results in a folder, and nothing else left
    Try(Trial),
    /// Hand out jobs and collect results
    Serve(Serve),
    /// Pull jobs and measure them on this machine
    Agent(Pull),
    /// Make, list and revoke the keys that let agents in
    #[command(subcommand)]
    Key(AccessKey),
    /// Get a key for an agent on this machine, by a token
    Enrol(Enrol),
    /// Give a plan to the server
    Submit(Submit),
    /// End a plan: what is measured so far stays
    Cancel(Cancel),
    /// Have a job done anew, whatever became of it
    Redo(Redo),
    /// Show how far plans and agents are
    Watch(Watch),
    /// Write a plan's results: tables, reports, charts
    Export(Export),
    /// Show plans, agents and results in a browser
    Page(ShowPage),
    /// Say what a plan will cost, or has cost
    #[command(subcommand)]
    Price(Price),
}

/// Where the server is.
#[derive(Debug, PartialEq, Args)]
struct ServerOptions {
    /// Address of the NATS server
    #[arg(long, value_name = "URL", default_value = URL)]
    server: String,
    #[command(flatten)]
    key: Key,
}

/// What opens a NATS server outside this machine.
#[derive(Debug, PartialEq, Args)]
struct Key {
    /// File with the seed of an nkey; without a key, only a server on this machine is used
    #[arg(long, value_name = "FILE")]
    nkey: Option<PathBuf>,
    /// File with credentials that an operator of NATS has signed (a JWT and its seed), instead of an nkey
    #[arg(long, value_name = "FILE", conflicts_with = "nkey")]
    credentials: Option<PathBuf>,
    /// File with a certificate that the server knows this program by, alone or beside a key
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// File with the key of --client-certificate
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// File with the certificate that the server's is signed by [default: the well-known ones]
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
}

/// What a program brings to its fleet.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The experiments that plans may name; server and agents must have the same.
    pub experiments: fn() -> Vec<Experiment>,
    /// What stands beside the findings of an export.
    pub companion: Companion,
    /// What was asked about what is printed.
    pub printing: Printing,
}

impl Fleet {
    /// Whether it prints what was asked for, and does not only show it or go on: then `--json` is worth something.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        match self {
            Self::Agent(options) => options.is_check(),
            Self::Serve(_) | Self::Price(Price::Example) => false,
            _ => true,
        }
    }

    /// Whether its process may end at any time, as it may be killed. [`run`] does not ask `stop` then, but ends when it has
    /// its answer, or when a server has not answered for some seconds.
    #[must_use]
    pub fn may_end_at_any_time(&self) -> bool {
        match self {
            Self::Agent(options) => options.is_check(),
            Self::Try(_) | Self::Serve(_) | Self::Watch(_) | Self::Page(_) => false,
            Self::Key(_)
            | Self::Enrol(_)
            | Self::Submit(_)
            | Self::Cancel(_)
            | Self::Redo(_)
            | Self::Export(_)
            | Self::Price(_) => true,
        }
    }
}

/// Carries out a command. The program must call [`manyhands_lab::child::serve`] with the same experiments where
/// [`manyhands_lab::child::is_wanted`]. The answer is how it ended: [`Ending::Interrupted`] if `stop` ended it, and
/// [`Ending::NotQuiet`] for an export of which too much was disturbed.
///
/// # Errors
/// Whatever ends the command; see [`FleetError`].
///
/// # Examples
/// ```no_run
/// use clap::Parser;
/// use manyhands_fleet::commands::{self, Fleet, Program};
/// use manyhands_lab::{child, console, registry, run::Interrupt};
///
/// #[derive(Parser)]
/// struct Typed {
///     #[command(subcommand)]
///     fleet: Fleet,
/// }
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     if child::is_wanted() {
///         return Ok(child::serve(&registry::experiments())?);
///     }
///     let program = Program {
///         experiments: registry::experiments,
///         companion: console::alone,
///         printing: console::Printing::default(),
///     };
///     commands::run(Typed::parse().fleet, program, &Interrupt::on_signal()?)?;
///     Ok(())
/// }
/// ```
pub fn run(fleet: Fleet, program: Program, stop: &Interrupt) -> Result<Ending, FleetError> {
    let printing = program.printing;
    match fleet {
        Fleet::Try(options) => return trial::try_plan(&options, program, stop),
        Fleet::Agent(options) => return pull::pull(&options, program, stop),
        Fleet::Export(options) => return show::export(&options, program),
        Fleet::Serve(options) => serve::serve(&options, program, stop),
        Fleet::Key(command) => keys::key(&command, printing),
        Fleet::Enrol(options) => keys::enrol(&options, printing),
        Fleet::Submit(options) => submit::submit(&options, program),
        Fleet::Cancel(options) => submit::cancel(&options, printing),
        Fleet::Redo(options) => submit::redo(&options, printing),
        Fleet::Watch(options) => show::watch(&options, printing, stop),
        Fleet::Page(options) => page::page(&options, program, stop),
        Fleet::Price(options) => price::price(&options, program),
    }?;
    Ok(match stop.is_set() {
        true => Ending::Interrupted,
        false => Ending::Good,
    })
}

impl ServerOptions {
    fn connect(&self) -> Result<Nats, FleetError> {
        Nats::connect(&self.key.address(&self.server)?)
    }
}

impl Key {
    fn address(&self, url: &str) -> Result<Address, FleetError> {
        Address::parse(url, &self.files())
    }

    fn files(&self) -> Keys {
        let certificate = self.client_certificate.clone();
        Keys {
            nkey: self.nkey.clone(),
            credentials: self.credentials.clone(),
            certificate: certificate.zip(self.client_key.clone()),
            root: self.root.clone(),
        }
    }
}

/// Says what goes wrong, but not the same thing over and over.
struct Complaints {
    printing: Printing,
    last: Option<(String, Stopwatch)>,
}

impl Complaints {
    fn new(printing: Printing) -> Self {
        let last = None;
        Self { printing, last }
    }

    fn hear(&mut self, error: &FleetError) -> Result<(), FleetError> {
        let text = error.to_string();
        let is_known = self
            .last
            .as_ref()
            .is_some_and(|(last, when)| *last == text && when.elapsed() < REPEAT);
        if is_known {
            return Ok(());
        }
        let said = format!("{}; trying again.\n", plain(&text));
        let said = self.printing.warn(&said).map_err(FleetError::Output);
        self.last = Some((text, Stopwatch::start()));
        said
    }
}

/// Prints what was asked for: as JSON, or as these lines.
fn answer(
    printing: Printing,
    json: &impl Serialize,
    lines: impl FnOnce() -> String,
) -> Result<(), FleetError> {
    let text = || {
        lines()
            .lines()
            .map(|line| format!("{}\n", plain(line)))
            .collect()
    };
    printing.answer(json, text).map_err(FleetError::Output)
}

/// Prints a line that nobody asked for.
fn remark(printing: Printing, line: &str) -> Result<(), FleetError> {
    let line = format!("{}\n", plain(line));
    printing.remark(&line).map_err(FleetError::Output)
}

#[cfg(test)]
mod deploy_tests;

/// The server's folder, where nobody names another.
const FOLDER: &str = "manyhands-fleet";
/// The results in it.
const DATABASE: &str = "fleet.sqlite";
/// The folder in it of the `nats-server` that is started.
const NATS: &str = "nats";
/// The seed of the server's own key, in that folder.
const SERVER_KEY: &str = "server.nk";
const PORT: u16 = 4280;
const URL: &str = "nats://127.0.0.1:4280";
const REPEAT: Duration = Duration::from_secs(60);
