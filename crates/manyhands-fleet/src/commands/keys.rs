//! `fleet key` on the server's machine, and `fleet enrol` on an agent's: who is let in.

use super::{
    Complaints, DATABASE, FOLDER, NATS, SERVER_KEY, answer, pull, remark, submit::patiently,
};
use crate::{
    FleetError, Name,
    engine::{Address, Engine, Keys, Nats},
    enrol::{self, Request},
    server::{Database, KeyRow},
    time::utc_of,
};
use clap::{Args, Subcommand};
use manyhands_lab::console::Printing;
use nkeys::KeyPair;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The commands about keys, for a server that was started with `--keys`.
#[derive(Debug, PartialEq, Subcommand)]
pub enum AccessKey {
    /// Make a token, by which one agent gets a key
    Token(Token),
    /// Show which keys and tokens are good
    List(ListKeys),
    /// Let an agent in no more
    Revoke(Revoke),
}

/// Options of a token.
#[derive(Debug, PartialEq, Args)]
pub struct Token {
    /// Name of the agent: it reports by this name, and its key is revoked by it
    #[arg(value_name = "NAME")]
    name: Name,
    /// Hours for which the token is good
    #[arg(long, value_name = "HOURS", default_value_t = 24.0, value_parser = pull::hours)]
    hours: f64,
    /// Hours for which the agent's key is good [default: until it is revoked]
    #[arg(long, value_name = "HOURS", value_parser = pull::hours)]
    key_hours: Option<f64>,
    #[command(flatten)]
    list: ListKeys,
}

/// Which server.
#[derive(Debug, PartialEq, Args)]
pub struct ListKeys {
    /// The server's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    data: PathBuf,
}

/// Options of a revocation.
#[derive(Debug, PartialEq, Args)]
pub struct Revoke {
    /// Name of the agent
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    list: ListKeys,
}

/// Options of an enrolment.
#[derive(Debug, PartialEq, Args)]
pub struct Enrol {
    /// Address of the NATS server
    #[arg(long, value_name = "URL", default_value = super::URL)]
    server: String,
    /// File with the token
    #[arg(long, value_name = "FILE")]
    token: PathBuf,
    /// File for the agent's key, which is made if it is not there
    #[arg(long, value_name = "FILE")]
    nkey: PathBuf,
    /// File with the certificate that the server's is signed by [default: the well-known ones]
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// Give up after this number of seconds [default: wait until the server is there and lets the key in]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

impl ListKeys {
    fn open(&self) -> Result<Database, FleetError> {
        Database::open(&self.data.join(DATABASE))
    }

    /// A token is worth something only where the fleet's server decides who is let in.
    fn check_own_server(&self) -> Result<(), FleetError> {
        if self.data.join(NATS).join(SERVER_KEY).exists() {
            return Ok(());
        }
        let folder = self.data.display();
        Err(FleetError::Arguments {
            reason: format!(
                "no server with --keys has been started in '{folder}', and a token opens only the nats-server of such a \
                 one; the operator of a NATS server that is joined lets agents in there"
            ),
        })
    }
}

pub(super) fn key(command: &AccessKey, printing: Printing) -> Result<(), FleetError> {
    match command {
        AccessKey::Token(options) => token(options, printing),
        AccessKey::List(options) => list(options, printing),
        AccessKey::Revoke(options) => revoke(options, printing),
    }
}

fn token(options: &Token, printing: Printing) -> Result<(), FleetError> {
    options.list.check_own_server()?;
    let token = KeyPair::new_user();
    let seed = token.seed().map_err(FleetError::format("a token"))?;
    let seconds = |hours: f64| {
        let time = Duration::from_secs_f64(hours * pull::SECONDS_PER_HOUR);
        i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
    };
    let database = options.list.open()?;
    let key_seconds = options.key_hours.map(seconds);
    let public = token.public_key();
    database.add_token(&public, &options.name, seconds(options.hours), key_seconds)?;
    let json = json!({ "name": options.name.to_string(), "token": seed });
    answer(printing, &json, || seed.clone())
}

fn list(options: &ListKeys, printing: Printing) -> Result<(), FleetError> {
    let keys = options.open()?.valid_keys()?;
    let line = |key: &KeyRow| {
        let kind = if key.is_token { "token" } else { "key" };
        let until = key.expires.map_or_else(
            || "until it is revoked".to_owned(),
            |expires| format!("until {}", utc_of(expires)),
        );
        format!("{}: {kind} {}, {until}\n", key.name, key.public)
    };
    let lines = || keys.iter().map(line).collect();
    answer(printing, &json!({ "keys": keys }), lines)
}

fn revoke(options: &Revoke, printing: Printing) -> Result<(), FleetError> {
    let name = &options.name;
    match options.list.open()?.revoke(name)? {
        0 => Err(FleetError::Arguments {
            reason: format!("no key and no token is called '{name}'"),
        }),
        count => answer(printing, &json!({ "name": name, "revoked": count }), || {
            format!("{count} keys or tokens of {name} open nothing any more.")
        }),
    }
}

pub(super) fn enrol(options: &Enrol, printing: Printing) -> Result<(), FleetError> {
    let token = enrol::read_key(&options.token)?;
    let mut may_be_known = options.nkey.exists();
    let request = Request::new(&token, &enrol::key_in(&options.nkey)?)?;
    let address = |path: &Path| {
        let keys = Keys {
            nkey: Some(path.to_owned()),
            root: options.root.clone(),
            ..Keys::default()
        };
        Address::parse(&options.server, &keys)
    };
    let (by_token, by_key) = (address(&options.token)?, address(&options.nkey)?);
    let nkey = options.nkey.display();
    let asks = format!("Asks {} to let {nkey} in. Ctrl-C ends it.", options.server);
    remark(printing, &asks)?;
    let mut is_sent = false;
    let attempt = || {
        // A key that the server has noted needs no token any more, which an earlier try may have used.
        if may_be_known {
            let let_in = use_key(&by_key);
            if let_in.is_ok() || is_sent {
                return let_in;
            }
        }
        // The request may arrive and use the token, though its answer does not.
        may_be_known = true;
        request.send(&Nats::connect(&by_token)?)?;
        is_sent = true;
        use_key(&by_key)
    };
    let limit = options.timeout.map(Duration::from_secs);
    let mut complaints = Complaints::new(printing);
    patiently(limit, |error| complaints.hear(error), attempt)?;
    answer(printing, &json!({ "nkey": options.nkey }), || {
        format!("{nkey} is let in.")
    })
}

/// Asks for something by a key; the answer is that the server lets the key in.
fn use_key(address: &Address) -> Result<(), FleetError> {
    match Nats::connect(address)?.get(ANYTHING) {
        Err(FleetError::Engine { reason, .. }) => {
            Err(FleetError::engine("get in by the agent's key")(reason))
        }
        answered => answered.map(drop),
    }
}

/// A key that nobody sets.
const ANYTHING: &str = "enrolled";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_is_made_for_a_server_that_decides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_owned();
        let options = Token {
            name: "one".parse().unwrap(),
            hours: 1.0,
            key_hours: None,
            list: ListKeys { data: data.clone() },
        };
        let refused = token(&options, Printing::default()).unwrap_err();
        assert!(refused.to_string().contains("joined"), "{refused}");
        assert!(!data.join(DATABASE).exists(), "nothing was noted");
        std::fs::create_dir(data.join(NATS)).unwrap();
        enrol::key_in(&data.join(NATS).join(SERVER_KEY)).unwrap();
        token(&options, Printing::default()).unwrap();
        let noted = options.list.open().unwrap().valid_keys().unwrap();
        assert!(noted.len() == 1 && noted[0].is_token);
    }
}
