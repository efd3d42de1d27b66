//! The configuration of a `nats-server` that lets in only those whose keys it knows.

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
    /// Whether it opens only the queue of those who want a key.
    pub(crate) is_token: bool,
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
            let User { public, is_token } = user;
            let permissions = if *is_token {
                let inbox = inbox_of(public);
                format!(
                    ", permissions: {{ publish: [\"{ENROLMENTS}.any\"], subscribe: [\"{inbox}.>\"] }}"
                )
            } else {
                String::new()
            };
            format!("  {{ nkey: {public}{permissions} }}\n")
        };
        format!(
            "server_name: {name}\nhost: \"{}\"\nport: {port}\npid_file: {}\njetstream {{ store_dir: {} }}\n{}\
             authorization {{ users: [\n  {{ nkey: {} }}\n{}] }}\n",
            self.ip,
            quoted(&folder.join(pid)),
            quoted(&folder.join("store")),
            tls.unwrap_or_default(),
            self.server,
            self.users.iter().map(user).collect::<String>()
        )
    }
}

/// Where a token's holder hears that its request has arrived; nobody else's messages come there.
pub(crate) fn inbox_of(token: &str) -> String {
    format!("_ENROL_{token}")
}

/// The stream of requests for keys.
pub(super) const ENROLMENTS: &str = "manyhands-enrolments";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_one_queue_and_its_own_inbox() {
        let user = |public: &str, is_token| User {
            public: public.to_owned(),
            is_token,
        };
        let guarded = Guarded {
            ip: "0.0.0.0".parse().unwrap(),
            certificate: Some(("/c.pem".into(), "/k.pem".into())),
            server: "US".to_owned(),
            users: vec![user("UA", false), user("UT", true)],
        };
        let text = guarded.text("n", 4280, Path::new("/f"), "pid");
        let expected = "server_name: n\nhost: \"0.0.0.0\"\nport: 4280\npid_file: \"/f/pid\"\n\
                        jetstream { store_dir: \"/f/store\" }\n\
                        tls { cert_file: \"/c.pem\", key_file: \"/k.pem\" }\n\
                        authorization { users: [\n  { nkey: US }\n  { nkey: UA }\n  { nkey: UT, permissions: \
                        { publish: [\"manyhands-enrolments.any\"], subscribe: [\"_ENROL_UT.>\"] } }\n] }\n";
        assert_eq!(text, expected);
        assert!(guarded.own_ip().is_loopback());
    }
}
