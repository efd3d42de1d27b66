//! Agents, server and `nats-server` are killed, and agents are stopped for longer than a lease lasts.

use crate::{
    PLAN, PLAN_JOBS,
    machines::{LEASE, Machines, rest, signal},
    results,
};
use nix::sys::signal::Signal;
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use std::{env, time::Duration};

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) faults: usize,
    pub(crate) agents: usize,
    pub(crate) plans: usize,
    /// What the plans have beside their experiments: runs that last as long as the faults do.
    pub(crate) options: &'static str,
}

impl Size {
    /// Each kind of fault, and little else.
    pub(crate) const SHORT: Self = Self {
        faults: 5,
        agents: 2,
        plans: 1,
        options: "",
    };
    pub(crate) const LONG: Self = Self {
        faults: 60,
        agents: 20,
        plans: 3,
        options: "scale = 'standard'\n",
    };
}

/// A kind of fault.
#[derive(Debug, Clone, Copy)]
enum Fault {
    KillAgent,
    KillServer,
    KillNatsServer,
    StopAgent,
}

pub(crate) fn results_come_back_once_each(size: Size) {
    let Size {
        faults,
        agents,
        plans,
        options,
    } = size;
    let seed = number("MANYHANDS_FLEET_SEED", 1);
    println!("  {faults} faults, {agents} agents, {plans} plans, seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut machines = Machines::start(folder.path());
    for number in 0..agents {
        machines.add_agent(&format!("a{number}"), "");
    }
    for _ in 0..plans {
        machines.submit(&format!("{PLAN}{options}"), "");
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let mut stopped = Vec::new();
    for fault in drawn(faults, &mut rng) {
        rest(Duration::from_millis(rng.random_range(300..1_500)));
        harm(fault, &mut machines, &mut stopped, &mut rng);
    }
    mend(&machines, &mut stopped);
    machines.wait_until_done(plans as u64 * PLAN_JOBS);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), plans, PLAN_JOBS);
}

/// Each kind as often as the others, in an order that the seed decides.
fn drawn(count: usize, rng: &mut StdRng) -> Vec<Fault> {
    let kinds = [
        Fault::KillAgent,
        Fault::KillServer,
        Fault::KillNatsServer,
        Fault::StopAgent,
    ];
    let mut faults: Vec<Fault> = kinds.into_iter().cycle().take(count).collect();
    faults.shuffle(rng);
    faults
}

fn harm(fault: Fault, machines: &mut Machines, stopped: &mut Vec<usize>, rng: &mut StdRng) {
    let agent = rng.random_range(0..machines.agents.len());
    match fault {
        Fault::KillAgent => {
            println!("  kill agent {agent}");
            stopped.retain(|one| *one != agent);
            machines.restart_agent(agent);
        }
        Fault::KillServer => {
            println!("  kill the server");
            machines.restart_server();
        }
        Fault::KillNatsServer => {
            println!("  kill nats-server");
            machines.kill_nats_server();
        }
        Fault::StopAgent => {
            println!("  stop agent {agent}, go on with those that were stopped");
            mend(machines, stopped);
            signal(&machines.agents[agent].child, Signal::SIGSTOP);
            stopped.push(agent);
            rest(LEASE);
        }
    }
}

/// Lets the agents go on that were stopped.
fn mend(machines: &Machines, stopped: &mut Vec<usize>) {
    for agent in stopped.drain(..) {
        signal(&machines.agents[agent].child, Signal::SIGCONT);
    }
}

fn number(variable: &str, default: u64) -> u64 {
    let set = env::var(variable).ok();
    set.map_or(default, |text| text.parse().unwrap())
}
