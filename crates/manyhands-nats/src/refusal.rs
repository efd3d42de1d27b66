//! Why a server could not be used.

use async_nats::{ConnectError, ConnectErrorKind, rustls};
use std::{error::Error, io};

/// Whose fault it was.
///
/// Example: see [`refusal()`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// The server does not know the key, or wants one.
    Key,
    /// The encryption failed: the server's certificate is not trusted, is for another name or too old, or the server
    /// does not trust ours.
    Certificate,
    /// Neither: nobody answers, for instance.
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
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => Refusal::Key,
        ConnectErrorKind::Tls => Refusal::Certificate,
        _ if is_of_encryption(error) => Refusal::Certificate,
        _ => Refusal::Other,
    }
}

/// Whether an error of the encryption is among the causes.
fn is_of_encryption(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        // An error of the system does not name what it carries as its cause.
        let carried = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if cause.is::<rustls::Error>()
            || carried.is_some_and(|carried| carried.is::<rustls::Error>())
        {
            return true;
        }
        next = cause.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

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
