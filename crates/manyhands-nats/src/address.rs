//! Addresses, and the rule that one outside this machine needs encryption and a key.

use async_nats::{
    ConnectOptions, ServerAddr,
    rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use nkeys::KeyPair;
use std::{
    error::Error,
    fmt,
    fs::File,
    io::{self, Read},
    net::IpAddr,
    path::{Path, PathBuf},
};

/// The files that open a server.
///
/// Example: see [`Address`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The seed of a key (an nkey) that the server knows.
    pub nkey: Option<PathBuf>,
    /// A signed name of a user (a JWT) and its seed, for a server that knows who signed it.
    pub credentials: Option<PathBuf>,
    /// A certificate (PEM) for the server to know this program by, and the file with its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The certificate that the server's is signed by, if it is not one of the machine's roots.
    pub root: Option<PathBuf>,
}

/// Where a NATS server is, and what opens it.
///
/// # Examples
/// ```
/// use manyhands_nats::{Address, AddressError, Keys};
///
/// let keys = Keys::default();
/// assert!(Address::parse("nats://127.0.0.1:4222", &keys).is_ok());
/// // Outside this machine there is no way in without encryption and a key.
/// let refused = Address::parse("nats://192.0.2.1:4222", &keys).unwrap_err();
/// assert!(matches!(refused, AddressError::Unprotected { .. }));
/// ```
#[derive(Clone)]
pub struct Address {
    server: ServerAddr,
    nkey: Option<String>,
    credentials: Option<String>,
    certificate: Option<(PathBuf, PathBuf)>,
    root: Option<PathBuf>,
}

impl Address {
    /// Reads an address such as `nats://127.0.0.1:4222` or `tls://fleet.example:4222`, and the keys. Certificates and their
    /// keys are looked at now, and read again whenever a connection is made.
    ///
    /// # Errors
    /// See [`AddressError`]. What stands before the `@` of an address, which may be a password, is not in it.
    ///
    /// Example: see [`Address`].
    pub fn parse(text: &str, keys: &Keys) -> Result<Self, AddressError> {
        let none = |reason: String| AddressError::NoAddress {
            address: without_password(text),
            reason,
        };
        let server: ServerAddr = text
            .parse()
            .map_err(|error: io::Error| none(error.to_string()))?;
        if server.is_websocket() {
            return Err(none("it begins with 'nats://' or 'tls://'".to_owned()));
        }
        if server.host().is_empty() {
            return Err(none("it names no host".to_owned()));
        }
        let nkey = keys.nkey.as_deref().map(read).transpose()?;
        if let (Some(seed), Some(path)) = (&nkey, &keys.nkey) {
            KeyPair::from_seed(seed).map_err(of_no_use(path))?;
        }
        let credentials = keys.credentials.as_deref().map(read).transpose()?;
        // What reads them wants the end of their last line.
        let credentials = credentials.map(|text| text + "\n");
        if let (Some(text), Some(path)) = (&credentials, &keys.credentials) {
            // Options are made anew for each connection; here they only show whether this can be read.
            ConnectOptions::with_credentials(text).map_err(of_no_use(path))?;
        }
        if let Some((certificate, key)) = &keys.certificate {
            check_pem::<CertificateDer<'static>>(certificate)?;
            check_pem::<PrivateKeyDer<'static>>(key)?;
        }
        if let Some(root) = &keys.root {
            check_pem::<CertificateDer<'static>>(root)?;
        }
        let is_known = nkey.is_some() || credentials.is_some() || keys.certificate.is_some();
        let is_protected = server.tls_required() && is_known;
        if !is_protected && !is_loopback(server.host()) {
            return Err(AddressError::Unprotected {
                address: without_password(text),
            });
        }
        Ok(Self {
            server,
            nkey,
            credentials,
            certificate: keys.certificate.clone(),
            root: keys.root.clone(),
        })
    }

    /// Where the server is.
    ///
    /// # Examples
    /// ```
    /// use manyhands_nats::{Address, Keys};
    ///
    /// let address = Address::parse("nats://127.0.0.1:4222", &Keys::default())?;
    /// assert_eq!(address.server().port(), 4222);
    /// // What a client is made from: `address.options().connect(address.server().clone())`.
    /// let _options = address.options();
    /// # Ok::<(), manyhands_nats::AddressError>(())
    /// ```
    #[must_use]
    pub fn server(&self) -> &ServerAddr {
        &self.server
    }

    /// The public half of its nkey, if it has one.
    ///
    /// # Examples
    /// ```
    /// use manyhands_nats::{Address, Keys};
    ///
    /// let address = Address::parse("nats://127.0.0.1:4222", &Keys::default())?;
    /// assert_eq!(address.public_key(), None);
    /// # Ok::<(), manyhands_nats::AddressError>(())
    /// ```
    #[must_use]
    pub fn public_key(&self) -> Option<String> {
        let key = KeyPair::from_seed(self.nkey.as_deref()?);
        key.ok().map(|key| key.public_key())
    }

    /// How to connect to it.
    ///
    /// Example: see [`Address::server`].
    #[must_use]
    pub fn options(&self) -> ConnectOptions {
        let credentials = self.credentials.as_deref();
        // What was read once is read again; without it the server would refuse.
        let known = credentials.and_then(|text| ConnectOptions::with_credentials(text).ok());
        let mut options = known.unwrap_or_default();
        options = options.require_tls(self.server.tls_required());
        if let Some(seed) = &self.nkey {
            options = options.nkey(seed.clone());
        }
        if let Some((certificate, key)) = &self.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        if let Some(root) = &self.root {
            options = options.add_root_certificates(root.clone());
        }
        if !self.server.tls_required() {
            // A server on this machine may know others that are not.
            options = options.ignore_discovered_servers();
        }
        options
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Address");
        shown
            .field("host", &self.server.host())
            .finish_non_exhaustive()
    }
}

/// Why an address or its keys are not used.
///
/// Example: see [`Address`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no address.
    NoAddress {
        /// What was to be one.
        address: String,
        /// Why it is none, as a clause.
        reason: String,
    },
    /// It is outside this machine, and encryption or a key is missing.
    Unprotected {
        /// The address.
        address: String,
    },
    /// A file with a key cannot be read.
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file has no key, or no certificate, of its kind.
    NoKey {
        /// The file.
        path: PathBuf,
        /// Why not, as a clause.
        reason: String,
    },
}

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress { address, reason } => {
                write!(formatter, "'{address}' is no address: {reason}")
            }
            Self::Unprotected { address } => write!(
                formatter,
                "'{address}' is not on this machine: it needs 'tls://' and a key or a certificate"
            ),
            Self::File { path, error } => {
                write!(formatter, "cannot read '{}': {error}", path.display())
            }
            Self::NoKey { path, reason } => {
                write!(formatter, "'{}' is of no use: {reason}", path.display())
            }
        }
    }
}

impl Error for AddressError {}

/// What may be shown of an address.
fn without_password(text: &str) -> String {
    let scheme = text.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = text.split_at(scheme);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}{host}")
}

fn read(path: &Path) -> Result<String, AddressError> {
    let text = String::from_utf8(read_bytes(path)?).map_err(of_no_use(path))?;
    Ok(text.trim().to_owned())
}

/// A file that has no end is not read to it.
fn read_bytes(path: &Path) -> Result<Vec<u8>, AddressError> {
    let mut bytes = Vec::new();
    let opened = File::open(path);
    let read = opened.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| AddressError::File {
        path: path.to_owned(),
        error,
    })?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(of_no_use(path)("it is too long"));
    }
    Ok(bytes)
}

fn of_no_use<E: fmt::Display>(path: &Path) -> impl FnOnce(E) -> AddressError {
    let path = path.to_owned();
    |reason| AddressError::NoKey {
        path,
        reason: reason.to_string(),
    }
}

/// Whether a file has something of this kind.
fn check_pem<T: PemObject>(path: &Path) -> Result<(), AddressError> {
    // The content is of no interest here, and is not shown.
    let found = T::from_pem_slice(&read_bytes(path)?);
    found.map(drop).map_err(of_no_use(path))
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>();
    bare == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// More than the roots of a machine are.
const FILE_BYTES_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn seed() -> String {
        KeyPair::new_user().seed().unwrap()
    }

    fn with_nkey(path: &Path) -> Keys {
        Keys {
            nkey: Some(path.to_owned()),
            ..Keys::default()
        }
    }

    #[test]
    fn an_address_outside_this_machine_needs_encryption_and_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        fs::write(&key, seed() + "\n").unwrap();
        let (without, with) = (Keys::default(), with_nkey(&key));
        for text in ["nats://127.0.0.1:1", "localhost:1", "nats://[::1]:1"] {
            assert!(Address::parse(text, &without).is_ok(), "{text}");
        }
        let outside = [
            ("nats://192.0.2.1", &without),
            ("tls://fleet.example", &without),
            ("nats://localhost.example", &without),
            ("nats://192.0.2.1", &with),
        ];
        for (text, keys) in outside {
            let refused = Address::parse(text, keys).unwrap_err();
            let is_it = matches!(refused, AddressError::Unprotected { .. });
            assert!(is_it, "{text}: {refused}");
        }
        assert!(Address::parse("tls://fleet.example", &with).is_ok());
    }

    #[test]
    fn a_key_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        let seed = seed();
        fs::write(&key, &seed).unwrap();
        let address = Address::parse("tls://fleet.example", &with_nkey(&key)).unwrap();
        assert!(!format!("{address:?}").contains(&seed[2..]));
        assert!(address.public_key().is_some());
    }

    #[test]
    fn what_is_no_address_is_said_so() {
        for text in [
            "",
            "nats://",
            "nats://:1",
            "ws://127.0.0.1:1",
            "wss://127.0.0.1:1",
            "http://127.0.0.1:1",
            "127.0.0.1:99999",
        ] {
            let refused = Address::parse(text, &Keys::default()).unwrap_err();
            let is_it = matches!(refused, AddressError::NoAddress { .. });
            assert!(is_it, "{text}: {refused}");
        }
    }

    #[test]
    fn the_password_of_an_address_is_not_shown() {
        for (text, shown) in [
            ("nats://me:secret@192.0.2.1", "'nats://192.0.2.1'"),
            ("nats://me:secret@[bad", "'nats://[bad'"),
            ("me:secret@192.0.2.1", "'192.0.2.1'"),
            ("http://me:sec@ret@192.0.2.1", "'http://192.0.2.1'"),
        ] {
            let error = Address::parse(text, &Keys::default()).unwrap_err();
            let (words, fields) = (error.to_string(), format!("{error:?}"));
            assert!(words.contains(shown), "{words}");
            assert!(!(words + &fields).contains("sec"), "{text}");
        }
    }

    #[test]
    fn a_key_that_is_not_there_or_not_one_is_an_error_that_names_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let absent = folder.path().join("absent");
        let refused = Address::parse("tls://fleet.example", &with_nkey(&absent)).unwrap_err();
        assert!(
            matches!(&refused, AddressError::File { path, .. } if *path == absent),
            "{refused}"
        );
        let senseless = folder.path().join("senseless");
        let endless = folder.path().join("endless");
        for content in ["no key", "", "SUA", "\u{0}"] {
            fs::write(&senseless, content).unwrap();
            // All of it are holes.
            let file = File::create(&endless).unwrap();
            file.set_len(1 << 40).unwrap();
            for wrong in [&senseless, &endless] {
                let wrong = || Some(wrong.clone());
                let keys = [
                    (wrong(), None, None),
                    (None, wrong(), None),
                    (None, None, wrong()),
                ];
                for (nkey, credentials, root) in keys {
                    let keys = Keys {
                        nkey,
                        credentials,
                        root,
                        ..Keys::default()
                    };
                    // Also where none is needed.
                    let refused = Address::parse("localhost", &keys).unwrap_err();
                    assert!(
                        matches!(&refused, AddressError::NoKey { path, .. } if Some(path) == wrong().as_ref()),
                        "{keys:?}: {refused}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_certificate_of_its_own_is_enough_and_both_its_files_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, kind: &str| {
            let path = folder.path().join(name);
            let text = format!("-----BEGIN {kind}-----\nAAAA\n-----END {kind}-----\n");
            fs::write(&path, text).unwrap();
            path
        };
        let certificate = file("certificate", "CERTIFICATE");
        let key = file("key", "PRIVATE KEY");
        let parse = |certificate: &Path, key: &Path| {
            let keys = Keys {
                certificate: Some((certificate.to_owned(), key.to_owned())),
                ..Keys::default()
            };
            Address::parse("tls://fleet.example", &keys)
        };
        assert!(parse(&certificate, &key).is_ok());
        let swapped = parse(&key, &certificate).unwrap_err();
        assert!(
            matches!(&swapped, AddressError::NoKey { path, .. } if *path == key),
            "{swapped}"
        );
        let absent = folder.path().join("absent");
        let refused = parse(&certificate, &absent).unwrap_err();
        assert!(
            matches!(&refused, AddressError::File { path, .. } if *path == absent),
            "{refused}"
        );
    }
}
