//! Agents on hosts of their own, whose cables to the server are pulled out and whose packets are dropped, for longer than
//! a lease. Everything is as it is between machines: keys by tokens, encryption, addresses that are not loopback.

use crate::{
    PLAN, PLAN_JOBS,
    encryption::{Validity, certify},
    enrolment::write_token,
    machines::{LEASE, Machines, rest, wait_until},
    networks::{Cut, Network, SERVER},
    results,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::time::Duration;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Agents with a cable; one more is on the server's host.
    pub(crate) agents: u8,
    /// How often some of the agents are cut off.
    pub(crate) cuts: usize,
    /// What the plan has beside its experiments: runs that last as long as the cuts do.
    pub(crate) options: &'static str,
}

impl Size {
    /// A dropped packet and a cable that is out, and little else.
    pub(crate) const SHORT: Self = Self {
        agents: 1,
        cuts: 2,
        options: "",
    };
    pub(crate) const LONG: Self = Self {
        agents: 5,
        cuts: 16,
        options: "scale = 'standard'\n",
    };
}

pub(crate) fn results_come_back_once_each(size: Size) {
    let Some(network) = Network::with_agents(size.agents) else {
        println!(
            "  skipped: this user may make no network namespaces, or there is no program 'ip'"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path(), SERVER, Validity::Now);
    let mut machines = Machines::start_encrypted(folder.path(), SERVER, network.server());
    let server_key = "--nkey fleet/nats/server.nk";
    wait_until("the server has its key", || {
        folder.path().join("fleet/nats/server.nk").exists()
    });
    machines.submit(&format!("{PLAN}{}", size.options), server_key);
    for number in 0..size.agents {
        add_agent(&mut machines, &network, number);
    }
    machines.wait_until_far_is_at_work();
    machines.add_agent_in("near", server_key, network.server());
    let mut rng = StdRng::seed_from_u64(1);
    for number in 0..size.cuts {
        let cut = Cut::ALL[number % Cut::ALL.len()];
        cut_some_off(&network, machines.port, cut, size.agents, &mut rng);
    }
    machines.wait_until_done(PLAN_JOBS);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), 1, PLAN_JOBS);
}

fn add_agent(machines: &mut Machines, network: &Network, number: u8) {
    let name = format!("far{number}");
    write_token(&machines.folder, &name, "");
    let around = network.agent(number);
    machines.enrol_in(&name, &name, &around).wait_for_success();
    machines.add_agent_in(&name, &format!("--nkey {name}.nk"), around);
}

/// Half of the agents, or the only one, for longer than their jobs are leased.
fn cut_some_off(network: &Network, port: u16, cut: Cut, agents: u8, rng: &mut StdRng) {
    let first = rng.random_range(0..agents);
    let chosen: Vec<u8> = (0..agents.div_ceil(2))
        .map(|step| (first + step) % agents)
        .collect();
    println!("  cut {cut:?} of {chosen:?}");
    for number in &chosen {
        assert!(network.reaches(*number, port), "cut off already");
        network.cut(*number, cut);
        assert!(!network.reaches(*number, port), "{cut:?} cuts nothing");
    }
    rest(LEASE + Duration::from_secs(1));
    for number in &chosen {
        network.mend(*number, cut);
        wait_until("the agent reaches the server again", || {
            network.reaches(*number, port)
        });
    }
    rest(Duration::from_millis(rng.random_range(0..2_000)));
}
