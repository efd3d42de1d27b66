//! Hosts that are network namespaces of the test's own, with a cable from the server's to that of each agent.
//!
//! Their addresses are those that are meant for documentation, and lead nowhere else: a namespace knows only its own
//! cables. Each belongs to a process that waits for its input, so that nothing is left when the test ends, however it does.

use crate::machines::{Circumstances, end};
use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// The server's host, and its cables to those of the agents; they end with this value.
pub(crate) struct Network {
    server: Host,
    agents: Vec<Host>,
}

/// How an agent is cut off.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    /// The cable is out at the server: what either sends disappears.
    AtServer,
    /// The cable is out at the agent, which has no way to the server any more.
    AtAgent,
    /// Packets of both are dropped, and neither learns of it.
    Packets,
    /// Only the server's packets are dropped: it hears an agent that does not hear it.
    Answers,
}

impl Cut {
    pub(crate) const ALL: [Self; 4] = [Self::Packets, Self::AtServer, Self::Answers, Self::AtAgent];
}

impl Network {
    /// One with this number of agents; `None` where this user may not make it.
    pub(crate) fn with_agents(count: u8) -> Option<Self> {
        let server = Host::new()?;
        server.ip("link set lo up");
        server.ip(&format!("address add {SERVER}/32 dev lo"));
        let mut network = Self {
            server,
            agents: Vec::new(),
        };
        for number in 0..count {
            network.agents.push(Host::new()?);
            network.lay_cable(number);
        }
        Some(network)
    }

    fn lay_cable(&self, number: u8) {
        let (server, agent) = (&self.server, &self.agents[usize::from(number)]);
        let (cable, address) = (cable(number), address(number));
        let process = agent.process.id();
        server.ip(&format!(
            "link add {cable} type veth peer name {PLUG} netns {process}"
        ));
        server.ip(&format!(
            "address add {SERVER} peer {address}/32 dev {cable}"
        ));
        agent.ip(&format!(
            "address add {address} peer {SERVER}/32 dev {PLUG}"
        ));
        agent.ip("link set lo up");
        agent.ip(&format!("link set {PLUG} up"));
        server.ip(&format!("link set {cable} up"));
    }

    pub(crate) fn server(&self) -> Circumstances {
        self.server.circumstances()
    }

    pub(crate) fn agent(&self, number: u8) -> Circumstances {
        self.agents[usize::from(number)].circumstances()
    }

    pub(crate) fn cut(&self, number: u8, cut: Cut) {
        let (server, agent) = (&self.server, &self.agents[usize::from(number)]);
        let (cable, address) = (cable(number), address(number));
        // Packets for a card that is not there are dropped by the one that gets them.
        let misdirect = |host: &Host, address: &str, device: &str| {
            host.ip(&format!(
                "neighbour replace {address} lladdr {NOBODY} dev {device} nud permanent"
            ));
        };
        match cut {
            Cut::AtServer => server.ip(&format!("link set {cable} down")),
            Cut::AtAgent => agent.ip(&format!("link set {PLUG} down")),
            Cut::Answers => misdirect(server, &address, &cable),
            Cut::Packets => {
                misdirect(server, &address, &cable);
                misdirect(agent, SERVER, PLUG);
            }
        }
    }

    pub(crate) fn mend(&self, number: u8, cut: Cut) {
        let (server, agent) = (&self.server, &self.agents[usize::from(number)]);
        let (cable, address) = (cable(number), address(number));
        let direct = |host: &Host, address: &str, device: &str| {
            host.ip(&format!("neighbour delete {address} dev {device}"));
        };
        match cut {
            Cut::AtServer => server.ip(&format!("link set {cable} up")),
            Cut::AtAgent => agent.ip(&format!("link set {PLUG} up")),
            Cut::Answers => direct(server, &address, &cable),
            Cut::Packets => {
                direct(server, &address, &cable);
                direct(agent, SERVER, PLUG);
            }
        }
    }

    /// Whether the host of an agent gets a connection to this port of the server.
    pub(crate) fn reaches(&self, number: u8, port: u16) -> bool {
        let this = env::current_exe().unwrap();
        let mut asking = self.agent(number).command(&this);
        asking.arg(ASK).arg(format!("{SERVER}:{port}"));
        asking.status().unwrap().success()
    }
}

/// What the program does for [`Network::reaches`], whose answer is its own.
pub(crate) fn ask(address: &str) -> bool {
    let address: SocketAddr = address.parse().unwrap();
    TcpStream::connect_timeout(&address, CONNECTING).is_ok()
}

/// A network that a process has for itself.
struct Host {
    process: Child,
}

impl Host {
    fn new() -> Option<Self> {
        let started = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut host = Self {
            process: started.ok()?,
        };
        // What comes back shows that the network is there. From who may not make one, nothing does.
        let (input, output) = (host.process.stdin.as_mut()?, host.process.stdout.as_mut()?);
        input.write_all(b".").ok()?;
        output.read_exact(&mut [0]).ok()?;
        let has_ip = host.command("link").output().ok()?.status.success();
        has_ip.then_some(host)
    }

    fn circumstances(&self) -> Circumstances {
        Circumstances {
            network: Some(self.process.id()),
            variables: Vec::new(),
        }
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.circumstances().command(Path::new("ip"));
        command.args(words.split(' '));
        command
    }

    fn ip(&self, words: &str) {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "ip {words}: {output:?}");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// The server's end of an agent's cable.
fn cable(number: u8) -> String {
    format!("cable{number}")
}

fn address(number: u8) -> String {
    format!("192.0.2.{}", number + 2)
}

/// The server's address.
pub(crate) const SERVER: &str = "192.0.2.1";
/// The first word of a program that is to ask.
pub(crate) const ASK: &str = "ask";
/// An agent's end of its cable.
const PLUG: &str = "plug";
/// The address of no card.
const NOBODY: &str = "02:00:00:00:00:00";
const CONNECTING: Duration = Duration::from_millis(500);
