//! What the commands that speak with a server answer as JSON.

use crate::{ended::Ended, json, manyhands, text};
use serde_json::Value;
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    process::Output,
};

#[test]
fn what_is_asked_of_a_server_is_answered_as_json() {
    let Some(server) = Server::start(&[]) else {
        return;
    };
    let plan_file = server.path("plan.toml");
    fs::write(&plan_file, "name = 'x'\nexperiments = ['E6']\n").expect("a plan");
    let submitted = server.asks(&["submit", &plan_file]);
    let plan = submitted["plan"].as_str().expect("its id").to_owned();
    let state = server.state_with(&plan);
    assert_eq!(state["plans"][0]["plan"]["name"], "x", "{state}");

    let job = format!("{plan}.0");
    assert_eq!(server.asks(&["redo", &job])["job"], job.as_str());
    assert_eq!(server.asks(&["cancel", &plan])["plan"], plan.as_str());

    let bill = server.looks(&["price", "bill", &plan]);
    assert_eq!(bill["plan"], plan.as_str());
    assert_eq!(bill["lines"].as_array().map(Vec::len), Some(0), "{bill}");
    assert_eq!(bill["usd"]["most"], 0.0, "{bill}");

    let out = server.path("results");
    let exported = server.looks(&["export", &plan, "--out", &out]);
    assert_eq!(exported["out"], out.as_str());
    assert_eq!(exported["exported"]["runs"], 0, "{exported}");

    // The agent's own look at this machine fails where something is wrong, and says what all the same.
    let (name, spool) = ("looking", server.path("spool"));
    let options = ["--check", "--name", name, "--spool", &spool];
    let checked = server.says(&[&["agent"], &options[..]].concat());
    let findings = json(&checked)["findings"].clone();
    let findings = findings.as_array().expect("a list");
    assert!(!findings.is_empty(), "{}", text(&checked.stderr));
}

#[test]
fn a_page_and_an_enrolment_say_as_json_where_they_are() {
    let Some(server) = Server::start(&["--keys"]) else {
        return;
    };
    let page = ["page", "--listen", "127.0.0.1:0", "--data", &server.data()];
    let (_page, first) = Ended::printing(&[&["fleet"], &page[..], &["--json"]].concat());
    let page: Value = serde_json::from_str(&first).expect("a line of JSON");
    let address = page["address"].as_str().expect("an address");
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");

    let token = server.looks(&["key", "token", "one"]);
    let (token_file, key) = (server.path("token"), server.path("one.nk"));
    fs::write(&token_file, token["token"].as_str().expect("a token")).expect("a file");
    let enrolled = server.asks(&["enrol", "--token", &token_file, "--nkey", &key]);
    assert_eq!(enrolled["nkey"], key.as_str());
    let keys = server.looks(&["key", "list"]);
    let is_key = |key: &Value| key["name"] == "one" && key["is_token"] == false;
    let keys = keys["keys"].as_array().expect("a list");
    assert!(keys.iter().any(is_key), "{keys:?}");
}

/// A server with a folder and a port of its own.
struct Server {
    folder: tempfile::TempDir,
    url: String,
    process: Ended,
}

impl Server {
    /// `None` where there is no `nats-server`.
    fn start(options: &[&str]) -> Option<Self> {
        manyhands_fleet::engine::nats_server::find(None).ok()?;
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = free.local_addr().expect("its address").port().to_string();
        drop(free);
        let data = folder.path().join("data").display().to_string();
        let serve = ["fleet", "serve", "--data", &data, "--port", &port];
        let (process, first) = Ended::printing(&[&serve[..], options].concat());
        assert!(first.contains("server is at"), "{first}");
        Some(Self {
            folder,
            url: format!("nats://127.0.0.1:{port}"),
            process,
        })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn data(&self) -> String {
        self.path("data")
    }

    /// What a command says that reaches the server by its address.
    fn says(&self, arguments: &[&str]) -> Output {
        manyhands(&[&["fleet"], arguments, &["--server", &self.url, "--json"]].concat())
    }

    /// The same, from a command that must end well.
    fn asks(&self, arguments: &[&str]) -> Value {
        let output = self.says(arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        json(&output)
    }

    /// What a command says that reads the server's folder.
    fn looks(&self, arguments: &[&str]) -> Value {
        let data = self.data();
        let all = [&["fleet"], arguments, &["--data", &data, "--json"]].concat();
        let output = manyhands(&all);
        assert!(output.status.success(), "{}", text(&output.stderr));
        json(&output)
    }

    /// The state of the server when it knows a plan.
    fn state_with(&self, plan: &str) -> Value {
        let states = (0..500).map(|_| self.looks(&["watch", "--once"]));
        let has_it = |state: &Value| state["plans"][0]["plan"]["id"] == plan;
        states
            .into_iter()
            .find(has_it)
            .expect("the server knows the plan")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends its nats-server when it is asked to, and not when it is killed.
        self.process.is_sent("INT");
        let _ = self.process.0.wait();
    }
}
