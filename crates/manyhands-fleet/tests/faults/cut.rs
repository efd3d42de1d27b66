//! The network between agents and their server is cut, for longer than a lease, and connections end.

use crate::{
    PLAN, PLAN_JOBS,
    machines::{LEASE, Machines, rest},
    relay::Relay,
    results,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::time::Duration;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Agents behind the network; one more is on the server's side of it.
    pub(crate) agents: usize,
    pub(crate) cuts: usize,
    /// What the plan has beside its experiments: runs that last as long as the cuts do.
    pub(crate) options: &'static str,
}

impl Size {
    pub(crate) const SHORT: Self = Self {
        agents: 1,
        cuts: 1,
        options: "",
    };
    pub(crate) const LONG: Self = Self {
        agents: 5,
        cuts: 12,
        options: "scale = 'standard'\n",
    };
}

pub(crate) fn results_come_back_once_each(size: Size) {
    let folder = tempfile::tempdir().unwrap();
    let mut machines = Machines::start(folder.path());
    let relay = Relay::to(machines.port);
    for number in 0..size.agents {
        machines.add_agent_at(&format!("far{number}"), relay.port);
    }
    machines.submit(&format!("{PLAN}{}", size.options), "");
    machines.wait_until_far_is_at_work();
    relay.cut();
    machines.add_agent("near", "");
    let mut rng = StdRng::seed_from_u64(1);
    for cut in 1..=size.cuts {
        // Long enough for the jobs of the others to go to this one.
        rest(LEASE + Duration::from_secs(1));
        println!("  cut {cut}: {} bytes were held back", relay.held());
        relay.mend();
        rest(Duration::from_millis(rng.random_range(0..500)));
        relay.drop_connections();
        if cut < size.cuts {
            rest(Duration::from_millis(rng.random_range(500..3_000)));
            relay.cut();
        }
    }
    assert!(relay.held() > 0, "nobody noticed the cuts");
    machines.wait_until_done(PLAN_JOBS);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), 1, PLAN_JOBS);
}
