//! Explanations of TLS failures: what is wrong, and what to do.

use std::error::Error;
use std::io;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, InvalidMessage, PeerIncompatible};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// webpki's text for a server's certificate that is an authority's. rustls has no variant for it.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";

/// What `SSL_CERT_FILE` does to the authorities of the system, and how to keep both.
const REPLACES: &str = "That file replaces this system's authorities; to keep them as well, put \
                        their certificates into it, too, such as those of \
                        /etc/ssl/certs/ca-certificates.crt";

/// How many names of a certificate are listed.
const LISTED_NAMES: usize = 8;

/// Explains an error if TLS is at fault. `trusted` says which authorities are trusted.
pub(super) fn explain_failure(error: &(dyn Error + 'static), trusted: &str) -> Option<String> {
    Some(match tls_cause(error)? {
        TlsCause::Protocol(error) => explain_protocol(error, trusted),
        TlsCause::Handshake(error) => explain_handshake(error),
    })
}

/// The part of TLS that failed.
enum TlsCause<'a> {
    /// One side does not accept what the other side sent.
    Protocol(&'a rustls::Error),
    /// The connection ended before both sides agreed.
    Handshake(&'a io::Error),
}

/// Finds the TLS failure among an error and its causes.
fn tls_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<TlsCause<'a>> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return Some(TlsCause::Protocol(error));
        }
        // An I/O error does not return the error that it wraps as its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let inner = wrapped.and_then(|wrapped| wrapped.downcast_ref::<io::Error>());
        if let Some(inner) = inner
            && !inner.get_ref().is_some_and(|cause| cause.is::<rustls::Error>())
        {
            // Only hyper-rustls wraps an I/O error in another, for each failed handshake.
            return Some(TlsCause::Handshake(inner));
        }
        next = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

fn explain_handshake(error: &io::Error) -> String {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "was closed".to_owned(),
        io::ErrorKind::ConnectionReset => "was reset".to_owned(),
        _ => format!("failed ({error})"),
    };
    format!(
        "the connection {what} during the TLS handshake: the server does not speak TLS on this \
         port, or something on the way refuses the connection"
    )
}

fn explain_protocol(error: &rustls::Error, trusted: &str) -> String {
    use rustls::Error as Tls;
    match error {
        Tls::InvalidCertificate(error) => explain_certificate(error, trusted),
        Tls::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => "the server at this address does not speak TLS: use an http:// address for it"
            .to_owned(),
        Tls::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        )
        | Tls::AlertReceived(AlertDescription::ProtocolVersion) => {
            "the server speaks neither TLS 1.2 nor TLS 1.3: it needs to be updated".to_owned()
        }
        Tls::PeerIncompatible(_) | Tls::AlertReceived(AlertDescription::HandshakeFailure) => {
            "the server and loomrec share no TLS cipher suite, key exchange or signature scheme: \
             it needs to be updated"
                .to_owned()
        }
        Tls::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a client's certificate, and loomrec has none".to_owned()
        }
        Tls::AlertReceived(AlertDescription::UnrecognisedName) => {
            "the server knows no host of this name: check the address".to_owned()
        }
        Tls::AlertReceived(AlertDescription::NoApplicationProtocol)
        | Tls::NoApplicationProtocol => "the server does not speak HTTP/1.1 over TLS".to_owned(),
        error => format!("TLS failed: {error}"),
    }
}

fn explain_certificate(error: &CertificateError, trusted: &str) -> String {
    match error {
        CertificateError::UnknownIssuer => format!(
            "the server's certificate was issued by an authority that is not trusted (trusted \
             are {trusted}): if it is yours or your proxy's, name a file with its certificate \
             in SSL_CERT_FILE. {REPLACES}"
        ),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the server's certificate expired at {} (now it is {}): the server needs a new one",
            format_date(*not_after),
            format_date(*time)
        ),
        CertificateError::Expired => {
            "the server's certificate has expired: the server needs a new one".to_owned()
        }
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is not valid before {} (now it is {}): check this machine's \
             clock",
            format_date(*not_before),
            format_date(*time)
        ),
        CertificateError::NotValidYet => {
            "the server's certificate is not valid yet: check this machine's clock".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is for {}, not for {}: use a name that it has",
            listed_names(presented),
            expected.to_str()
        ),
        CertificateError::NotValidForName => {
            "the server's certificate is for another name: use a name that it has".to_owned()
        }
        CertificateError::BadSignature => format!(
            "the server's certificate was signed by another key than the trusted authority of \
             that name has (trusted are {trusted}): name a file with the authority's current \
             certificate in SSL_CERT_FILE. {REPLACES}"
        ),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "the server's certificate, or one it was issued by, is signed in a way that loomrec \
             cannot check: use RSA, ECDSA with P-256 or P-384, or Ed25519"
                .to_owned()
        }
        CertificateError::Revoked => {
            "the server's certificate was revoked: the server needs a new one".to_owned()
        }
        CertificateError::Other(other) if other.0.to_string() == CA_AS_SERVER => format!(
            "the server's certificate is that of an authority (CA:TRUE), which is not valid for \
             a server: issue one to the server by this authority, and name the authority's in \
             SSL_CERT_FILE. {REPLACES}"
        ),
        CertificateError::InvalidPurpose
        | CertificateError::InvalidPurposeContext { .. }
        | CertificateError::Other(_) => format!(
            "the server's certificate is not valid for a server ({}): the server needs another",
            other_words(error)
        ),
        error => format!("the server's certificate is not valid ({error})"),
    }
}

/// Returns the text of an error that rustls only passes on.
fn other_words(error: &CertificateError) -> String {
    match error {
        CertificateError::Other(other) => other.0.to_string(),
        error => error.to_string(),
    }
}

/// Returns the names in a certificate, which come as `DnsName("a.test")` and
/// `IpAddress(127.0.0.1)`.
fn listed_names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        inner.unwrap_or(name).trim_matches('"').to_owned()
    };
    let listed: Vec<String> = presented.iter().take(LISTED_NAMES).map(bare).collect();
    match presented.len().saturating_sub(LISTED_NAMES) {
        _ if listed.is_empty() => "no name".to_owned(),
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn format_date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok();
    at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{seconds} s"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::OtherError;

    use super::*;

    fn words(error: rustls::Error) -> String {
        // As hyper-rustls and tokio-rustls wrap it.
        let inner = io::Error::new(io::ErrorKind::InvalidData, error);
        explain_failure(&io::Error::other(inner), "this system's").unwrap()
    }

    #[test]
    fn a_revoked_certificate_is_said_to_be_revoked() {
        let error = rustls::Error::InvalidCertificate(CertificateError::Revoked);
        assert!(words(error).contains("was revoked"));
    }

    #[test]
    fn what_only_a_dependency_says_is_said_in_its_words() {
        let other = OtherError(Arc::new(io::Error::other("no such purpose")));
        let words = words(rustls::Error::InvalidCertificate(CertificateError::Other(other)));
        assert!(words.contains("(no such purpose)") && !words.contains("OtherError"), "{words}");
    }

    #[test]
    fn names_of_a_certificate_are_listed_bare() {
        let presented = ["DnsName(\"a.test\")", "IpAddress(::1)"].map(str::to_owned);
        assert_eq!(listed_names(&presented), "a.test, ::1");
        assert_eq!(listed_names(&[]), "no name");
        let many = vec!["DnsName(\"a\")".to_owned(); 10];
        assert_eq!(listed_names(&many), "a, a, a, a, a, a, a, a and 2 more");
    }

    #[test]
    fn errors_that_are_not_of_tls_are_left_alone() {
        assert_eq!(explain_failure(&io::Error::other("out of luck"), ""), None);
        assert_eq!(explain_failure(&io::Error::from(io::ErrorKind::ConnectionReset), ""), None);
    }
}
