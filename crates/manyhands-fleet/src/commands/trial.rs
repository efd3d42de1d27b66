//! `fleet try`: a whole fleet on this machine for one plan, of which only the results stay.

use super::{Complaints, DATABASE, NATS, Program, beside::beside, serve::tend, show, submit_to};
use crate::{
    FleetError,
    agent::{Agent, Allowed, Setup},
    engine::{
        Address, Engine, InProcess, Keys, Nats,
        nats_server::{self, NatsServer},
    },
    export,
    plan::Plan,
    server::{Database, Server},
    watch,
};
use clap::Args;
use manyhands_lab::{console::Ending, launcher::Launcher, run::Interrupt};
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    panic::resume_unwind,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// Options of a trial.
#[derive(Debug, PartialEq, Args)]
pub struct Trial {
    /// The plan
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    /// Folder for the results, in place of an earlier export
    #[arg(long, value_name = "DIR", default_value = "manyhands-fleet-results")]
    out: PathBuf,
    /// Start no nats-server, also if there is one: queues are in this process, as they are where there is none
    #[arg(long)]
    in_process: bool,
}

pub(super) fn try_plan(
    options: &Trial,
    program: Program,
    stop: &Interrupt,
) -> Result<Ending, FleetError> {
    let path = &options.plan;
    let toml = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
    check(&Plan::parse(&toml)?)?;
    export::check_folder(&options.out)?;
    let made = tempfile::Builder::new()
        .prefix("manyhands-fleet-")
        .tempdir();
    let folder = made.map_err(FleetError::file("create", std::env::temp_dir()))?;
    let file = folder.path().join(DATABASE);
    let database = Database::open(&file)?;
    let (engine, nats) = engine(options, folder.path())?;
    let over = Interrupt::default();
    let trial = Fleet {
        engine: engine.as_ref(),
        folder: folder.path(),
        program,
        over: &over,
    };
    let mut ending = Ending::Interrupted;
    let body = || {
        let plan = submit_to(engine.as_ref(), &toml, None, &(program.experiments)())?;
        let reader = Database::open_to_read(&file)?;
        trial.run(database, &reader, stop)?;
        if stop.is_set() {
            return Ok(());
        }
        let companion = program.companion;
        let exported = export::export(&reader, &plan, &options.out, None, companion)?;
        ending = show::show_exported(&exported, &options.out, program.printing)?;
        show::all_done(&reader)
    };
    let tending = |has_ended: &Interrupt| tend(nats, &file, program.printing, has_ended);
    let ended = beside(
        &over,
        ("the trial", body),
        ("what tends nats-server", tending),
    );
    ended.map(|()| ending)
}

/// Refuses what nobody on this machine would do.
fn check(plan: &Plan) -> Result<(), FleetError> {
    let wrong = |reason| Err(FleetError::Plan { reason });
    if !plan.commands.is_empty() {
        return wrong(
            "a command needs an agent that has it in its list, and here is none".to_owned(),
        );
    }
    let mut wanted = plan.cpus.iter().map(|cpus| cpus.size());
    match wanted.find(|cpus| *cpus != cpus_here()) {
        Some(cpus) => wrong(format!(
            "it wants {cpus} CPUs, and this machine has {}",
            cpus_here()
        )),
        None => Ok(()),
    }
}

fn cpus_here() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// NATS if there is one, at a port that is free.
fn engine(
    options: &Trial,
    folder: &Path,
) -> Result<(Box<dyn Engine>, Option<NatsServer>), FleetError> {
    let found = match options.in_process {
        true => Err(FleetError::NoNatsServer),
        false => nats_server::find(None),
    };
    let Ok(found) = found else {
        return Ok((Box::new(InProcess::new(LEASE)), None));
    };
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
    let port = free.map_err(FleetError::engine("find a free port"))?.port();
    let address = Address::parse(&format!("nats://127.0.0.1:{port}"), &Keys::default())?;
    let nats = NatsServer::start(found, &folder.join(NATS), port, None, &address)?;
    let prepared = Nats::connect(&address).and_then(|engine| {
        engine.prepare(LEASE)?;
        Ok(engine)
    });
    match prepared {
        Ok(engine) => Ok((Box::new(engine), Some(nats))),
        Err(error) => {
            nats.stop();
            Err(error)
        }
    }
}

/// Who works on the plan.
struct Fleet<'trial> {
    engine: &'trial dyn Engine,
    folder: &'trial Path,
    program: Program,
    /// Set when all of them are to end.
    over: &'trial Interrupt,
}

impl Fleet<'_> {
    /// Works until the plan is over, or `stop` is set.
    fn run(
        &self,
        database: Database,
        reader: &Database,
        stop: &Interrupt,
    ) -> Result<(), FleetError> {
        let agents = ["one", "two"].map(|name| self.agent(name));
        thread::scope(|scope| {
            let _over = Ends(self.over);
            let server = scope.spawn(|| self.serve(database));
            for agent in agents {
                let mut agent = agent?;
                scope.spawn(move || {
                    let _over = Ends(self.over);
                    agent.run(None, self.over, self.complain());
                });
            }
            show::follow(reader, self.program.printing, stop, |reader| {
                Ok(self.over.is_set() || watch::is_over(reader)?)
            })?;
            self.over.set();
            server.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn serve(&self, database: Database) -> Result<(), FleetError> {
        let _over = Ends(self.over);
        let mut complain = self.complain();
        let mut server = Server::new(self.engine, database, (self.program.experiments)());
        server.run(self.over, |error| {
            error.into_iter().for_each(&mut complain);
            Ok(())
        })
    }

    fn agent(&self, name: &str) -> Result<Agent<'_>, FleetError> {
        let launcher = Launcher::this_program();
        let setup = Setup {
            name: name.parse().map_err(FleetError::format("a name"))?,
            spool: self.folder.join(name),
            host_lock: self.folder.join("host.lock"),
            cpus: cpus_here(),
            machine: None,
            allowed: Allowed::default(),
            launcher: launcher.map_err(FleetError::file("find", "this program"))?,
        };
        Agent::new(setup, self.engine, (self.program.experiments)())
    }

    fn complain(&self) -> impl FnMut(&FleetError) + use<> {
        let mut complaints = Complaints::new(self.program.printing);
        move |error| {
            // Two agents of one machine take turns, as they should.
            if !matches!(error, FleetError::Waits { .. }) {
                // Standard output may be gone; the trial goes on.
                let _ = complaints.hear(error);
            }
        }
    }
}

/// Ends all when one ends, also by a panic.
struct Ends<'over>(&'over Interrupt);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// For an agent that is not heard of; these are threads of one program.
const LEASE: Duration = Duration::from_secs(60);
