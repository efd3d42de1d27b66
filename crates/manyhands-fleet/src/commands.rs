//! The commands of the fleet: what is typed, and what is done about it.

use crate::{
    FleetError,
    agent::{Agent, Allowed, Setup},
    engine::{
        Address, Engine, Nats, Queue,
        nats_server::{self, NatsServer},
    },
    export,
    plan::Plan,
    server::{Database, Server},
    time::pause,
    watch,
    wire::{self, Submission},
};
use clap::{Args, Subcommand};
use manyhands_lab::{
    Experiment, clock::Stopwatch, console::Companion, launcher::Launcher, run::Interrupt,
};
use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The commands.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Fleet {
    /// Hand out jobs and collect results
    Serve(Serve),
    /// Pull jobs and measure them on this machine
    Agent(Pull),
    /// Give a plan to the server
    Submit(Submit),
    /// Show how far plans and agents are
    Watch(Watch),
    /// Write a plan's results: tables, reports, charts
    Export(Export),
}

/// Options of the server.
#[derive(Debug, PartialEq, Args)]
pub struct Serve {
    /// Folder for the results and for nats-server's files
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Port of the nats-server that is started, on loopback only
    #[arg(long, value_name = "N", default_value_t = PORT, conflicts_with = "join")]
    port: u16,
    /// The program nats-server [default: $NATS_SERVER, or the first on the path]
    #[arg(long, value_name = "FILE", conflicts_with = "join")]
    nats_server: Option<PathBuf>,
    /// Use this NATS server with JetStream, and start none
    #[arg(long, value_name = "URL")]
    join: Option<String>,
    #[command(flatten)]
    key: Key,
    /// Seconds after which a job goes to another agent if its agent is not heard of
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: u64,
}

/// Options of an agent.
#[derive(Debug, PartialEq, Args)]
pub struct Pull {
    #[command(flatten)]
    server: ServerOptions,
    /// Name, for people: letters, digits, '-', '_' and '.'
    #[arg(long, value_name = "NAME", default_value = "agent")]
    name: String,
    /// Folder for what is not sent yet [default: manyhands-agent/NAME]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,
    /// File that the agents of a machine lock in turn [default: one in the folder for temporary files]
    #[arg(long, value_name = "FILE")]
    host_lock: Option<PathBuf>,
    /// File with the programs that plans may run here, as a TOML table 'commands' of names and paths
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
    /// End after this number of seconds without a job
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
}

/// Options of a submission.
#[derive(Debug, PartialEq, Args)]
pub struct Submit {
    /// The plan
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    #[command(flatten)]
    server: ServerOptions,
}

/// Options of the display.
#[derive(Debug, PartialEq, Args)]
pub struct Watch {
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Show it once, and do not wait for the end of all plans
    #[arg(long)]
    once: bool,
}

/// Options of an export.
#[derive(Debug, PartialEq, Args)]
pub struct Export {
    /// Id of the plan [default: the last one]
    #[arg(value_name = "PLAN")]
    plan: Option<String>,
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
    /// Folder for the files
    #[arg(long, value_name = "DIR", default_value = "manyhands-fleet-results")]
    out: PathBuf,
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
    /// File with the seed of an nkey; without it, only a server on this machine is used
    #[arg(long, value_name = "FILE")]
    nkey: Option<PathBuf>,
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
}

/// Carries out a command. The program must call [`manyhands_lab::child::serve`] with the same experiments where
/// [`manyhands_lab::child::is_wanted`].
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
///     };
///     commands::run(Typed::parse().fleet, program, &Interrupt::on_signal()?)?;
///     Ok(())
/// }
/// ```
pub fn run(fleet: Fleet, program: Program, stop: &Interrupt) -> Result<(), FleetError> {
    match fleet {
        Fleet::Serve(options) => serve(&options, program, stop),
        Fleet::Agent(options) => pull(&options, program, stop),
        Fleet::Submit(options) => submit(&options, program),
        Fleet::Watch(options) => watch(&options, stop),
        Fleet::Export(options) => export(&options, program),
    }
}

fn serve(options: &Serve, program: Program, stop: &Interrupt) -> Result<(), FleetError> {
    fs::create_dir_all(&options.data).map_err(FleetError::file("create", &options.data))?;
    let _lock = lock(&options.data)?;
    let database = Database::open(&options.data.join(DATABASE))?;
    let (address, url, nats) = match &options.join {
        Some(url) => (options.key.address(url)?, url.clone(), None),
        None => {
            let found = nats_server::find(options.nats_server.as_deref())?;
            let folder = options.data.join("nats");
            let nats = NatsServer::start(found, &folder, options.port)?;
            let url = format!("nats://127.0.0.1:{}", options.port);
            (Address::loopback(options.port)?, url, Some(nats))
        }
    };
    let engine = Nats::connect(&address)?;
    let lease = Duration::from_secs(options.lease);
    let mut complaints = Complaints::default();
    say(&format!(
        "The fleet's server is at {url}. Results: {}.",
        options.data.display()
    ))?;
    let mut server = Server::new(&engine, database, (program.experiments)());
    let mut is_prepared = false;
    let has_ended = Interrupt::default();
    thread::scope(|scope| {
        if let Some(nats) = nats {
            let has_ended = has_ended.clone();
            scope.spawn(move || tend(nats, &has_ended));
        }
        let ended = server.run(stop, |error| {
            if error.is_none() && is_prepared {
                return Ok(());
            }
            let preparing = engine.prepare(lease);
            // At first there is nothing yet, which is no reason to complain.
            let hidden = !is_prepared;
            is_prepared = preparing.is_ok();
            match (preparing, error) {
                (Err(error), _) => complaints.hear(&error),
                (Ok(()), Some(error)) if !hidden => complaints.hear(error),
                _ => Ok(()),
            }
        });
        has_ended.set();
        ended
    })
}

/// Keeps a `nats-server` running for as long as it is needed.
fn tend(mut nats: NatsServer, has_ended: &Interrupt) {
    while !has_ended.is_set() {
        // If it cannot be started now, the server complains that it does not answer, and it is tried again.
        let _ = nats.tend();
        pause(TENDING, has_ended);
    }
    nats.stop();
}

fn pull(options: &Pull, program: Program, stop: &Interrupt) -> Result<(), FleetError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = options.name.as_str();
    if name.is_empty()
        || name.len() > NAME_MAX
        || !name.chars().all(is_plain)
        || name.starts_with('.')
    {
        let reason = format!("'--name {name}' is no name: letters, digits, '-', '_' and '.'");
        return Err(FleetError::Arguments { reason });
    }
    let allowed = match &options.allow {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
            Allowed::parse(&text)?
        }
        None => Allowed::default(),
    };
    let engine = options.server.connect()?;
    let setup = Setup {
        name: name.to_owned(),
        spool: options
            .spool
            .clone()
            .unwrap_or_else(|| Path::new("manyhands-agent").join(name)),
        host_lock: options
            .host_lock
            .clone()
            .unwrap_or_else(|| env::temp_dir().join(HOST_LOCK)),
        cpus: thread::available_parallelism().map_or(1, usize::from),
        allowed,
        launcher: Launcher::this_program().map_err(FleetError::file("find", "this program"))?,
    };
    say(&format!(
        "Agent {name} offers {} CPUs to {}. Ctrl-C ends it; what it has measured is kept in {}.",
        setup.cpus,
        options.server.server,
        setup.spool.display()
    ))?;
    let mut agent = Agent::new(setup, &engine, (program.experiments)())?;
    let mut complaints = Complaints::default();
    agent.run(options.idle.map(Duration::from_secs), stop, |error| {
        // Standard output may be gone; the agent goes on.
        let _ = complaints.hear(error);
    });
    Ok(())
}

fn submit(options: &Submit, program: Program) -> Result<(), FleetError> {
    let path = &options.plan;
    let toml = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
    // What makes no sense is refused before anybody is asked.
    Plan::parse(&toml)?;
    let engine = options.server.connect()?;
    let plan = submit_to(&engine, &toml, &(program.experiments)())?;
    say(&format!("Plan {plan} is with the server."))
}

/// Gives a plan to the server of an engine; the answer is its id.
///
/// # Errors
/// [`FleetError::Plan`] if it makes no sense or names an experiment that is not there, [`FleetError::Engine`] if it
/// may not have arrived.
///
/// # Examples
/// ```
/// use manyhands_fleet::{commands::submit_to, engine::InProcess};
/// use manyhands_lab::registry;
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// let plan = "name = 'loops'\nexperiments = ['E3']";
/// let id = submit_to(&engine, plan, &registry::experiments())?;
/// assert!(!id.is_empty());
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
pub fn submit_to(
    engine: &dyn Engine,
    toml: &str,
    experiments: &[Experiment],
) -> Result<String, FleetError> {
    let plan = wire::new_id();
    Plan::parse(toml)?.jobs(&plan, experiments)?;
    let toml = toml.to_owned();
    let submission = Submission { plan, toml };
    engine.publish(
        Queue::Plans,
        &submission.plan,
        &wire::to_bytes(&submission)?,
    )?;
    Ok(submission.plan)
}

fn watch(options: &Watch, stop: &Interrupt) -> Result<(), FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let mut shown = String::new();
    while !stop.is_set() {
        let text = watch::text(&database)?;
        if text != shown {
            say(text.trim_end())?;
            shown = text;
        }
        if options.once || watch::is_over(&database)? {
            break;
        }
        pause(WATCHING, stop);
    }
    Ok(())
}

fn export(options: &Export, program: Program) -> Result<(), FleetError> {
    let database = Database::open_to_read(&options.data.join(DATABASE))?;
    let last = || {
        database
            .plans()
            .map(|plans| plans.last().map(|plan| plan.id.clone()))
    };
    let plan = match &options.plan {
        Some(plan) => plan.clone(),
        None => last()?.ok_or_else(|| FleetError::UnknownPlan {
            plan: "the last one".to_owned(),
        })?,
    };
    let exported = export::export(&database, &plan, &options.out, program.companion)?;
    say(&format!(
        "{} runs with {} samples: {} and beside it; a folder for each agent.",
        exported.runs,
        exported.samples,
        options.out.join("runs.csv").display()
    ))
}

impl ServerOptions {
    fn connect(&self) -> Result<Nats, FleetError> {
        Nats::connect(&self.key.address(&self.server)?)
    }
}

impl Key {
    fn address(&self, url: &str) -> Result<Address, FleetError> {
        Address::parse(url, self.nkey.as_deref(), self.root.as_deref())
    }
}

/// One server at a time writes a folder.
fn lock(folder: &Path) -> Result<fs::File, FleetError> {
    let path = folder.join("server.lock");
    let file = fs::File::create(&path).map_err(FleetError::file("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(FleetError::FolderInUse {
            path: folder.to_owned(),
        }),
    }
}

/// Says what goes wrong, but not the same thing over and over.
#[derive(Default)]
struct Complaints {
    last: Option<(String, Stopwatch)>,
}

impl Complaints {
    fn hear(&mut self, error: &FleetError) -> Result<(), FleetError> {
        let text = error.to_string();
        let is_known = self
            .last
            .as_ref()
            .is_some_and(|(last, when)| *last == text && when.elapsed() < REPEAT);
        if is_known {
            return Ok(());
        }
        let said = say(&format!("{text}; trying again."));
        self.last = Some((text, Stopwatch::start()));
        said
    }
}

fn say(text: &str) -> Result<(), FleetError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(FleetError::Output)
}

const FOLDER: &str = "manyhands-fleet";
const DATABASE: &str = "fleet.sqlite";
const HOST_LOCK: &str = "manyhands-fleet-host.lock";
const PORT: u16 = 4280;
const URL: &str = "nats://127.0.0.1:4280";
const NAME_MAX: usize = 64;
const TENDING: Duration = Duration::from_millis(300);
const WATCHING: Duration = Duration::from_secs(1);
const REPEAT: Duration = Duration::from_secs(60);
