//! Why a server could not be used.

use async_nats::{
    ConnectError, ConnectErrorKind,
    rustls::{self, AlertDescription},
};
use std::{error::Error, io};

/// Whose fault it was.
///
/// Example: see [`refusal()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The server does not know the key, or wants one.
    Key,
    /// The encryption failed: the server's certificate is not trusted, is for another name or too old.
    Certificate,
    /// The server wants a certificate of this program's own, or does not trust the one it is shown.
    OwnCertificate,
    /// None of them: nobody answers, for instance.
    Other,
}

/// What an error of connecting means.
///
/// # Examples
/// ```
/// use async_nats::{ConnectError, ConnectErrorKind};
/// use manyhands_nats::{Refusal, refusal};
///
/// let unknown = ConnectError::new(ConnectErrorKind::AuthorizationViolation);
/// assert_eq!(refusal(&unknown), Refusal::Key);
/// let silent = ConnectError::new(ConnectErrorKind::TimedOut);
/// assert_eq!(refusal(&silent), Refusal::Other);
/// ```
#[must_use]
pub fn refusal(error: &ConnectError) -> Refusal {
    match of_encryption(error) {
        Some(Encryption::Refused) => return Refusal::OwnCertificate,
        Some(Encryption::Failed) => return Refusal::Certificate,
        None => {}
    }
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => Refusal::Key,
        ConnectErrorKind::Tls => Refusal::Certificate,
        _ => Refusal::Other,
    }
}

/// What ended the encryption.
enum Encryption {
    /// The other side, because of a certificate.
    Refused,
    /// This side, or anything else.
    Failed,
}

/// The error of the encryption among the causes, if there is one.
fn of_encryption(error: &(dyn Error + 'static)) -> Option<Encryption> {
    let mut next = Some(error);
    while let Some(cause) = next {
        // An error of the system does not name what it carries as its cause.
        let carried = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let carried = carried.and_then(|carried| carried.downcast_ref::<rustls::Error>());
        match carried.or_else(|| cause.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::AlertReceived(alert)) if REFUSALS.contains(alert) => {
                return Some(Encryption::Refused);
            }
            Some(_) => return Some(Encryption::Failed),
            None => next = cause.source(),
        }
    }
    None
}

/// What a server says of a certificate that it is shown, or is not.
const REFUSALS: [AlertDescription; 7] = [
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::CertificateRequired,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_wants_a_certificate_is_another_case_than_one_that_is_not_trusted() {
        let meaning = |error: rustls::Error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            refusal(&ConnectError::with_source(ConnectErrorKind::Io, error))
        };
        let alert = |alert| meaning(rustls::Error::AlertReceived(alert));
        for about_ours in REFUSALS {
            assert_eq!(alert(about_ours), Refusal::OwnCertificate, "{about_ours:?}");
        }
        assert_eq!(
            alert(AlertDescription::ProtocolVersion),
            Refusal::Certificate
        );
        let theirs = rustls::Error::InvalidCertificate(rustls::CertificateError::Expired);
        assert_eq!(meaning(theirs), Refusal::Certificate);
    }

    #[test]
    fn an_error_of_the_encryption_is_found_below_one_of_the_system() {
        let inner = rustls::Error::General("no".to_owned());
        let error = io::Error::new(io::ErrorKind::InvalidData, inner);
        let error = ConnectError::with_source(ConnectErrorKind::Io, error);
        assert_eq!(refusal(&error), Refusal::Certificate);
        let other = io::Error::from(io::ErrorKind::ConnectionRefused);
        let other = ConnectError::with_source(ConnectErrorKind::Io, other);
        assert_eq!(refusal(&other), Refusal::Other);
    }
}
