//! Who may see the page.
//!
//! A page on loopback is open to every program of this machine, and to pages of other sites that the user's browser shows,
//! unless the name in the request is looked at: such a page can have a name of its own that leads here. Beyond loopback a
//! token is needed too.

use crate::FleetError;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;

/// What a request must bring.
#[derive(Clone)]
pub(super) struct Access {
    /// Names that the page has, with its port.
    hosts: Vec<String>,
    /// Digest of the token.
    token: Option<[u8; 32]>,
}

/// Whether a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is, as everybody's on this machine is.
    Open,
    /// It is: it has the token.
    Granted,
    /// It is for another name.
    OtherHost,
    /// It has no token, or a wrong one.
    NoToken,
}

impl Access {
    /// # Errors
    /// [`FleetError::Arguments`] if the page would be open to other machines.
    pub(super) fn new(
        address: SocketAddr,
        names: &[String],
        token: Option<&str>,
    ) -> Result<Self, FleetError> {
        let wrong = |reason: &str| FleetError::Arguments {
            reason: reason.to_owned(),
        };
        let is_here = address.ip().is_loopback();
        match token {
            None if !is_here => {
                return Err(wrong("a page beyond this machine needs a token (--token)"));
            }
            Some(token) if token.len() < TOKEN_MIN => {
                return Err(wrong(
                    "the token is too short: 32 letters or digits that nobody can guess",
                ));
            }
            _ => {}
        }
        let port = address.port();
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        // Browsers leave out the port of their own.
        hosts.extend(names.iter().filter(|_| port == HTTP).cloned());
        if is_here {
            hosts.push(format!("localhost:{port}"));
        }
        if !address.ip().is_unspecified() {
            hosts.push(address.to_string());
        }
        if hosts.is_empty() {
            return Err(wrong(
                "a page on all addresses needs the name by which it is asked for (--host)",
            ));
        }
        Ok(Self {
            hosts,
            token: token.map(digest),
        })
    }

    /// Judges a request by its host and the token that it brings.
    pub(super) fn admit(&self, host: Option<&str>, token: Option<&str>) -> Admission {
        let is_known = |host: &str| self.hosts.iter().any(|one| one.eq_ignore_ascii_case(host));
        if !host.is_some_and(is_known) {
            return Admission::OtherHost;
        }
        match (self.token, token) {
            (None, _) => Admission::Open,
            // Digests are compared, so the time it takes says nothing about the token.
            (Some(wanted), Some(token)) if wanted == digest(token) => Admission::Granted,
            _ => Admission::NoToken,
        }
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

const TOKEN_MIN: usize = 32;
const HTTP: u16 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn access(address: &str, names: &[&str], token: Option<&str>) -> Result<Access, FleetError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Access::new(address.parse().unwrap(), &names, token)
    }

    #[test]
    fn a_page_on_this_machine_answers_to_its_own_names_only() {
        let access = access("127.0.0.1:4281", &[], None).unwrap();
        for host in ["127.0.0.1:4281", "localhost:4281", "LOCALHOST:4281"] {
            assert_eq!(
                access.admit(Some(host), Some(TOKEN)),
                Admission::Open,
                "{host}"
            );
        }
        for host in [
            "evil.example:4281",
            "127.0.0.1",
            "localhost:80",
            "127.0.0.1:4281.evil.example",
        ] {
            assert_eq!(
                access.admit(Some(host), None),
                Admission::OtherHost,
                "{host}"
            );
        }
        assert_eq!(access.admit(None, Some(TOKEN)), Admission::OtherHost);
    }

    #[test]
    fn a_page_beyond_this_machine_needs_a_token_and_a_name() {
        assert!(access("192.0.2.1:80", &[], None).is_err());
        assert!(access("192.0.2.1:80", &[], Some("short")).is_err());
        assert!(access("0.0.0.0:80", &[], Some(TOKEN)).is_err());
        let access = access("0.0.0.0:80", &["fleet.example"], Some(TOKEN)).unwrap();
        let admit = |host, token| access.admit(Some(host), token);
        assert_eq!(admit("fleet.example", Some(TOKEN)), Admission::Granted);
        assert_eq!(admit("fleet.example:80", Some(TOKEN)), Admission::Granted);
        assert_eq!(admit("fleet.example", Some("x")), Admission::NoToken);
        assert_eq!(admit("fleet.example", None), Admission::NoToken);
        assert_eq!(admit("other.example", Some(TOKEN)), Admission::OtherHost);
    }
}
