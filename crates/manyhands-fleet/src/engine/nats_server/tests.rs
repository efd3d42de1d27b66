//! Tests of `nats_server.rs`.

use super::*;
use crate::engine::{Keys, Opens};
use std::net::TcpListener;

#[test]
fn none_is_started_beside_one_that_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut dead = Command::new("/bin/true").spawn().unwrap();
    dead.wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut server = NatsServer {
        program: "/does/not/exist".into(),
        folder: folder.path().to_owned(),
        name: "x".to_owned(),
        port: listener.local_addr().unwrap().port(),
        guarded: None,
        is_stale: false,
        child: Some(dead),
    };
    server.tend().unwrap();
    assert!(server.child.is_none());
    drop(listener);
    let refused = server.tend().unwrap_err();
    assert!(
        matches!(refused, FleetError::NatsServer { .. }),
        "{refused}"
    );
}

#[test]
fn one_that_was_left_and_differs_ends_before_the_next_one_begins() {
    let Ok(program) = find(None) else {
        return;
    };
    let everybody_at = |port| Wanted {
        port,
        keys_on: None,
        encrypts: false,
    };
    let keys_at = |port, ip| Wanted {
        port,
        keys_on: Some(ip),
        encrypts: false,
    };
    let encrypted_at = |port, ip| Wanted {
        encrypts: true,
        ..keys_at(port, ip)
    };
    let (here, all) = (Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED);
    let [port, other] = [(); 2].map(|()| free_port());
    for (killed, next) in [
        (everybody_at(port), everybody_at(other)),
        (everybody_at(port), keys_at(port, here)),
        (keys_at(port, here), everybody_at(port)),
        (keys_at(port, here), keys_at(other, here)),
        (keys_at(port, all), keys_at(port, here)),
        (keys_at(port, here), encrypted_at(port, here)),
        (encrypted_at(port, here), keys_at(port, here)),
        // On Linux all of these addresses are this machine's.
        #[cfg(target_os = "linux")]
        (
            keys_at(port, Ipv4Addr::new(127, 0, 0, 2)),
            everybody_at(port),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut left = killed.start(&program, folder.path()).unwrap();
        let mut left = left.child.take().unwrap();
        let started = next.start(&program, folder.path());
        let has_ended = matches!(left.try_wait(), Ok(Some(_)));
        let started = started.map(|started| {
            let is_new = started.child.is_some();
            started.stop();
            is_new
        });
        // It has ended already, if all is well.
        let _ = left.kill();
        left.wait().unwrap();
        assert!(
            has_ended && matches!(started, Ok(true)),
            "{killed:?}, {next:?}: {has_ended}, {started:?}"
        );
    }
}

#[test]
fn one_that_was_left_and_does_not_differ_goes_on() {
    let Ok(program) = find(None) else {
        return;
    };
    for keys_on in [None, Some(Ipv4Addr::LOCALHOST)] {
        let folder = tempfile::tempdir().unwrap();
        let wanted = Wanted {
            port: free_port(),
            keys_on,
            encrypts: false,
        };
        let mut killed = wanted.start(&program, folder.path()).unwrap();
        let mut left = killed.child.take().unwrap();
        let next = wanted.start(&program, folder.path()).unwrap();
        let is_used = next.child.is_none() && matches!(left.try_wait(), Ok(None));
        left.kill().unwrap();
        left.wait().unwrap();
        assert!(is_used, "{wanted:?}");
    }
}

/// What a server of the fleet is asked to start.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    port: u16,
    /// Where it listens if it lets in only keys.
    keys_on: Option<Ipv4Addr>,
    encrypts: bool,
}

impl Wanted {
    fn start(self, program: &Path, folder: &Path) -> Result<NatsServer, FleetError> {
        let [seed, certificate, key] =
            ["server.nk", "it.pem", "it.key"].map(|file| folder.join(file));
        let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        fs::write(&certificate, signed.cert.pem()).unwrap();
        fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
        let keys = Keys {
            nkey: self.keys_on.map(|_| seed.clone()),
            root: self.encrypts.then(|| certificate.clone()),
            ..Keys::default()
        };
        let guarded = self.keys_on.map(|ip| Guarded {
            ip: ip.into(),
            certificate: self.encrypts.then_some((certificate, key)),
            server: crate::enrol::key_in(&seed).unwrap().public_key(),
            users: Vec::new(),
        });
        let ip = self.keys_on.unwrap_or(Ipv4Addr::LOCALHOST);
        let protocol = if self.encrypts { "tls" } else { "nats" };
        let url = format!("{protocol}://{}", reached((ip, self.port).into()));
        let address = Address::parse(&url, &keys).unwrap();
        NatsServer::start(program.to_owned(), folder, self.port, guarded, &address)
    }
}

/// One that nobody has now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_configuration_that_nats_server_would_not_read_is_an_error_and_changes_nothing() {
    let Ok(program) = find(None) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| User {
        public: nkeys::KeyPair::new_user().public_key(),
        opens: Opens::Agent(name.parse().unwrap()),
    };
    let guarded = Guarded {
        ip: Ipv4Addr::LOCALHOST.into(),
        certificate: None,
        server: nkeys::KeyPair::new_user().public_key(),
        users: vec![key("one")],
    };
    let mut server = NatsServer {
        program,
        folder: folder.path().to_owned(),
        name: "x".to_owned(),
        port: 4,
        guarded: Some(guarded),
        is_stale: false,
        child: None,
    };
    server.configure().unwrap();
    let read = || fs::read_to_string(folder.path().join(CONFIG)).unwrap();
    let before = read();
    let twice = key("two");
    let error = server.know(vec![twice.clone(), twice]).unwrap_err();
    assert!(error.to_string().contains("uplicate"), "{error}");
    assert_eq!(read(), before);
    assert!(server.is_stale, "it is tried again");
    // None runs here that could get the signal.
    let error = server.know(vec![key("two")]).unwrap_err();
    assert!(error.to_string().contains("signal"), "{error}");
}
