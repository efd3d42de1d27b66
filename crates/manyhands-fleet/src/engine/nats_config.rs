//! The configuration of a `nats-server` that lets in only those whose keys it knows.

use crate::Name;
use std::{
    net::{IpAddr, Ipv4Addr},
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
    fn publish(&self) -> Vec<String> {
        match &self.opens {
            Opens::Enrolment => vec![format!("{ENROLMENTS}.any.{}", self.public)],
            Opens::Agent(name) => vec![
                format!("{RESULTS}.any.{name}"),
                format!("{KEYS}.{CLOCK}"),
                format!("$JS.API.STREAM.MSG.GET.{KEYS}"),
                format!("$JS.API.CONSUMER.INFO.{JOBS}.*"),
                format!("$JS.API.CONSUMER.MSG.NEXT.{JOBS}.*"),
                format!("$JS.ACK.{JOBS}.>"),
            ],
        }
    }
}

impl Guarded {
    /// Where this machine reaches it.
    pub(super) fn own_ip(&self) -> IpAddr {
        if self.ip.is_unspecified() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            self.ip
        }
    }

    /// The file.
    pub(super) fn text(&self, name: &str, port: u16, folder: &Path, pid: &str) -> String {
        let quoted = |path: &Path| format!("{:?}", path.display().to_string());
        let tls = self.certificate.as_ref().map(|(certificate, key)| {
            let (certificate, key) = (quoted(certificate), quoted(key));
            format!("tls {{ cert_file: {certificate}, key_file: {key} }}\n")
        });
        let user = |user: &User| {
            let (publish, inbox) = (user.publish(), inbox_of(&user.public));
            format!(
                "  {{ nkey: {}, permissions: {{ publish: {publish:?}, subscribe: [\"{inbox}.>\"] }} }}\n",
                user.public
            )
        };
        // A key that comes twice would make the file one that nobody can read.
        let others = self.users.iter().filter(|user| user.public != self.server);
        format!(
            "server_name: {name}\nhost: \"{}\"\nport: {port}\npid_file: {}\njetstream {{ store_dir: {} }}\n{}\
             authorization {{ users: [\n  {{ nkey: {} }}\n{}] }}\n",
            self.ip,
            quoted(&folder.join(pid)),
            quoted(&folder.join("store")),
            tls.unwrap_or_default(),
            self.server,
            others.map(user).collect::<String>()
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
        let expected = "server_name: n\nhost: \"0.0.0.0\"\nport: 4280\npid_file: \"/f/pid\"\n\
                        jetstream { store_dir: \"/f/store\" }\n\
                        tls { cert_file: \"/c.pem\", key_file: \"/k.pem\" }\n\
                        authorization { users: [\n  { nkey: US }\n  { nkey: UA, permissions: { publish: \
                        [\"manyhands-results.any.agent-7\", \"manyhands-answers.clock\", \
                        \"$JS.API.STREAM.MSG.GET.manyhands-answers\", \"$JS.API.CONSUMER.INFO.manyhands-jobs.*\", \
                        \"$JS.API.CONSUMER.MSG.NEXT.manyhands-jobs.*\", \"$JS.ACK.manyhands-jobs.>\"], \
                        subscribe: [\"_MANYHANDS_UA.>\"] } }\n  { nkey: UT, permissions: \
                        { publish: [\"manyhands-enrolments.any.UT\"], subscribe: [\"_MANYHANDS_UT.>\"] } }\n] }\n";
        assert_eq!(text, expected);
        assert!(guarded.own_ip().is_loopback());
    }
}
