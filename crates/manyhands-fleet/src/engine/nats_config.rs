//! The configuration of a `nats-server` that lets in only those whose keys it knows.

use crate::Name;
use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

/// Where it listens, and who may come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guarded {
    pub(crate) ip: IpAddr,
    /// File with the certificate, and with its key: what comes from other machines is encrypted.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// Public half of the fleet's server's key.
    pub(crate) server: String,
    pub(crate) users: Vec<User>,
}

/// Somebody else who is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// Public half of the key.
    pub(crate) public: String,
    pub(crate) opens: Opens,
}

/// What a key opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Opens {
    /// The queue of those who want a key.
    Enrolment,
    /// What an agent of this name needs: jobs, answers, and its own reports.
    Agent(Name),
}

impl User {
    /// Subjects to which it may send. What it hears comes to its own inbox only.
    fn sends(&self) -> Vec<String> {
        match &self.opens {
            Opens::Enrolment => sent_by_token(&self.public),
            Opens::Agent(name) => sent_by_agent(name),
        }
    }

    /// Its line in the file.
    fn line(&self) -> String {
        let (public, inbox) = (&self.public, inbox_of(&self.public));
        let publish: Vec<String> = self.sends().iter().map(|subject| within(subject)).collect();
        format!(
            "    {{ nkey: {public}, permissions: {{ publish: {publish:?}, subscribe: [\"{inbox}.>\"] }} }}\n"
        )
    }
}

/// What is sent with a token; with any token for `*`.
fn sent_by_token(public: &str) -> Vec<String> {
    vec![format!("{ENROLMENTS}.any.{public}")]
}

/// What an agent sends; any agent for `>`, whose names may have parts.
fn sent_by_agent(name: &str) -> Vec<String> {
    vec![
        format!("{RESULTS}.any.{name}"),
        format!("{KEYS}.{CLOCK}"),
        format!("{API}STREAM.MSG.GET.{KEYS}"),
        format!("{API}CONSUMER.INFO.{JOBS}.*"),
        format!("{NEXT}.{JOBS}.*"),
        format!("$JS.ACK.{JOBS}.>"),
    ]
}

/// The subject of JetStream's under which an account that has none of its own finds the fleet's.
fn within(subject: &str) -> String {
    match subject.strip_prefix(API) {
        Some(asked) => format!("{ACCOUNT}.{asked}"),
        None => subject.to_owned(),
    }
}

/// The way from the account of agents and tokens into the fleet's: what the one takes, what the other gives, and how what
/// clients ask JetStream is called on the way. The publisher says where `nats-server` puts the answer, and needs no
/// permission for that place: in an account of its own that is no stream, and nothing that purges one.
fn between_accounts() -> (String, String, String) {
    let all = [sent_by_token("*"), sent_by_agent(">")].concat();
    let lines = |line: &dyn Fn(&String) -> Option<String>| {
        all.iter()
            .filter_map(line)
            .collect::<Vec<_>>()
            .join(",\n    ")
    };
    let exports = lines(&|subject| {
        let answers = match subject.starts_with(NEXT) {
            true => "Stream",
            false => "Singleton",
        };
        Some(format!(
            "{{ service: {subject:?}, response_type: {answers} }}"
        ))
    });
    let imports = lines(&|subject| {
        let here = within(subject);
        Some(format!(
            "{{ service: {{ account: {ACCOUNT}, subject: {subject:?} }}, to: {here:?} }}"
        ))
    });
    let mappings = lines(&|subject| {
        let here = within(subject).replace('*', "$1");
        let is_asked = subject.starts_with(API);
        is_asked.then(|| format!("{subject:?}: {here:?}"))
    });
    (exports, imports, mappings)
}

impl Guarded {
    /// The file.
    pub(super) fn text(&self, name: &str, port: u16, folder: &Path, pid: &str) -> String {
        let quoted = |path: &Path| format!("{:?}", path.display().to_string());
        let tls = self.certificate.as_ref().map(|(certificate, key)| {
            let (certificate, key) = (quoted(certificate), quoted(key));
            format!("tls {{ cert_file: {certificate}, key_file: {key} }}\n")
        });
        let (exports, imports, mappings) = between_accounts();
        // A key that comes twice would make the file one that nobody can read.
        let others = self.users.iter().filter(|user| user.public != self.server);
        format!(
            "server_name: {name}\nhost: \"{}\"\nport: {port}\npid_file: {}\njetstream {{ store_dir: {} }}\n{}\
             accounts {{\n  {ACCOUNT} {{\n    jetstream: enabled\n    users: [ {{ nkey: {} }} ]\n    exports: [\n    {exports} ]\n  }}\n  \
             others {{\n    users: [\n{} ]\n    mappings: {{\n    {mappings} }}\n    imports: [\n    {imports} ]\n  }}\n}}\n",
            self.ip,
            quoted(&folder.join(pid)),
            quoted(&folder.join("store")),
            tls.unwrap_or_default(),
            self.server,
            others.map(User::line).collect::<String>()
        )
    }
}

/// Where the holder of a key hears answers; nobody else's messages come there.
pub(crate) fn inbox_of(public: &str) -> String {
    format!("_MANYHANDS_{public}")
}

/// The stream of requests for keys.
pub(super) const ENROLMENTS: &str = "manyhands-enrolments";
pub(super) const JOBS: &str = "manyhands-jobs";
pub(super) const RESULTS: &str = "manyhands-results";
/// A stream that keeps the last message of each subject: older servers have no other keys that this client can make.
pub(super) const KEYS: &str = "manyhands-answers";
/// The key that is set to learn what time it is.
pub(super) const CLOCK: &str = "clock";

/// The account with the streams.
const ACCOUNT: &str = "manyhands";
const API: &str = "$JS.API.";
const NEXT: &str = "$JS.API.CONSUMER.MSG.NEXT";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_what_it_is_for_and_the_server_s_own_stands_once() {
        let user = |public: &str, opens| User {
            public: public.to_owned(),
            opens,
        };
        let agent = || Opens::Agent("agent-7".parse().unwrap());
        let guarded = Guarded {
            ip: "0.0.0.0".parse().unwrap(),
            certificate: Some(("/c.pem".into(), "/k.pem".into())),
            server: "US".to_owned(),
            users: vec![
                user("UA", agent()),
                user("UT", Opens::Enrolment),
                user("US", agent()),
            ],
        };
        let text = guarded.text("n", 4280, Path::new("/f"), "pid");
        for expected in [
            "server_name: n\nhost: \"0.0.0.0\"\nport: 4280\npid_file: \"/f/pid\"\njetstream { store_dir: \"/f/store\" }\n\
             tls { cert_file: \"/c.pem\", key_file: \"/k.pem\" }\naccounts {\n  manyhands {\n    jetstream: enabled\n    \
             users: [ { nkey: US } ]\n",
            "  others {\n    users: [\n    { nkey: UA, permissions: { publish: [\"manyhands-results.any.agent-7\", \
             \"manyhands-answers.clock\", \"manyhands.STREAM.MSG.GET.manyhands-answers\", \
             \"manyhands.CONSUMER.INFO.manyhands-jobs.*\", \"manyhands.CONSUMER.MSG.NEXT.manyhands-jobs.*\", \
             \"$JS.ACK.manyhands-jobs.>\"], subscribe: [\"_MANYHANDS_UA.>\"] } }\n    { nkey: UT, permissions: \
             { publish: [\"manyhands-enrolments.any.UT\"], subscribe: [\"_MANYHANDS_UT.>\"] } }\n ]\n",
            "{ service: \"$JS.API.CONSUMER.MSG.NEXT.manyhands-jobs.*\", response_type: Stream }",
            "\"$JS.API.CONSUMER.INFO.manyhands-jobs.*\": \"manyhands.CONSUMER.INFO.manyhands-jobs.$1\"",
            "subject: \"$JS.API.CONSUMER.INFO.manyhands-jobs.*\" }, to: \"manyhands.CONSUMER.INFO.manyhands-jobs.*\" }",
        ] {
            assert!(text.contains(expected), "{expected}\nis not in\n{text}");
        }
        assert_eq!(text.matches("nkey").count(), 3);
        assert_eq!(text.matches("account: manyhands").count(), 7);
    }
}
