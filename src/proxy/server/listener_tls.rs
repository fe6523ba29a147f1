//! TLS on the listener: its certificate, and the handshake of each connection.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::pki_types::pem::{Error as PemError, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::http2;
use super::socket::{self, ClientStream};

/// How long a handshake may take at most, also if clients may pause longer than this.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);

/// Returns the protocols of connections over TLS. HTTP/2 is for clients that offer nothing else.
pub(super) fn http_versions() -> Vec<Vec<u8>> {
    [b"http/1.1", http2::PROTOCOL].map(<[u8]>::to_vec).into()
}

/// The answer to a client that speaks HTTP without TLS.
const PLAIN_REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\
                             x-loomrec-error: TlsNeeded\r\ncontent-length: 63\r\n\
                             connection: close\r\n\r\n\
                             loomrec serves this port over TLS: begin the URL with https://\n";

/// The certificate and the key of a listener. All clones have the same one.
#[derive(Clone)]
pub struct ListenerTls(Arc<RwLock<TlsAcceptor>>);

/// The error of a certificate or a key. Messages read after the name of the file.
#[derive(Debug, thiserror::Error)]
pub enum ListenerTlsError {
    /// The certificate file holds no certificate.
    #[error("holds no certificate: it needs a block that begins with BEGIN CERTIFICATE")]
    NoCertificate,
    /// The certificate file is damaged.
    #[error("holds a certificate that cannot be read: {0}")]
    Certificate(String),
    /// The key file holds no usable key.
    #[error("holds no private key: it needs a block that begins with BEGIN PRIVATE KEY")]
    NoKey,
    /// The key file is damaged, or its key is of another kind.
    #[error("holds a private key that cannot be used: {0}")]
    Key(String),
    /// The certificate of an authority has ended, or has not begun.
    #[error("is not valid now: it is valid until {0}")]
    NotValid(time::Date),
    /// The key is that of another certificate.
    #[error("is not the key of the certificate")]
    OtherKey,
}

impl ListenerTlsError {
    /// Whether the file of the key is at fault, not that of the certificate.
    pub fn is_of_key(&self) -> bool {
        matches!(self, Self::NoKey | Self::Key(_) | Self::OtherKey)
    }
}

impl ListenerTls {
    /// Reads a certificate with its chain and its private key, both in PEM.
    ///
    /// # Errors
    /// What is wrong with the certificate or with the key.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, ListenerTlsError> {
        let chain = read_certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            PemError::NoItemsFound => ListenerTlsError::NoKey,
            other => ListenerTlsError::Key(other.to_string()),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ListenerTlsError::Key(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => ListenerTlsError::OtherKey,
            rustls::Error::InvalidCertificate(why) => {
                ListenerTlsError::Certificate(why.to_string())
            }
            other => ListenerTlsError::Key(other.to_string()),
        })?;
        config.alpn_protocols = http_versions();
        Ok(Self(Arc::new(RwLock::new(TlsAcceptor::from(Arc::new(config))))))
    }

    /// Uses the certificate and the key of `new` for the connections that come from now on.
    pub fn replace_certificate(&self, new: &Self) {
        let acceptor = new.current_acceptor();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }

    fn current_acceptor(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the connection after its handshake. `None` if the handshake fails or takes longer than
    /// `most`: the connection is then closed.
    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        most: Duration,
    ) -> Option<TlsStream<TcpStream>> {
        let limit = most.min(HANDSHAKE);
        tokio::time::timeout(limit, self.shake_hands(stream)).await.ok().flatten()
    }

    async fn shake_hands(&self, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let mut first = [0];
        // A method of HTTP begins with a capital letter, a TLS record does not.
        if stream.peek(&mut first).await.ok()? == 1 && first[0].is_ascii_uppercase() {
            refuse_plain(&mut stream).await;
            return None;
        }
        // rustls sends the alert that says why a handshake fails.
        self.current_acceptor().accept(stream).await.ok()
    }
}

impl std::fmt::Debug for ListenerTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key must not be printed.
        f.write_str("ListenerTls")
    }
}

/// Reads all certificates of a text in PEM.
///
/// # Errors
/// A text without a certificate, or with a damaged one.
pub fn read_certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, ListenerTlsError> {
    let all: Result<Vec<_>, PemError> = CertificateDer::pem_slice_iter(text).collect();
    let all = all.map_err(|error| ListenerTlsError::Certificate(error.to_string()))?;
    if all.is_empty() { Err(ListenerTlsError::NoCertificate) } else { Ok(all) }
}

/// Says over plain HTTP that the port needs TLS, and closes the connection.
async fn refuse_plain(stream: &mut TcpStream) {
    if stream.write_all(PLAIN_REFUSAL.as_bytes()).await.is_ok() {
        socket::close_after_reading(stream).await;
    }
}

impl ClientStream for TlsStream<TcpStream> {
    async fn wait_until_readable(&mut self) -> io::Result<()> {
        self.fill_buf().await.map(drop)
    }

    fn reset_on_drop(&self) {
        self.get_ref().0.reset_on_drop();
    }

    fn take_error(&self) -> Option<io::Error> {
        ClientStream::take_error(self.get_ref().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_to_plain_http_has_the_length_that_it_states() {
        let (head, body) = PLAIN_REFUSAL.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
    }

    #[test]
    fn text_without_a_certificate_is_an_error_of_the_certificate() {
        for text in ["", "hello"] {
            let error = ListenerTls::from_pem(text.as_bytes(), b"").unwrap_err();
            assert!(matches!(error, ListenerTlsError::NoCertificate), "{error}");
            assert!(!error.is_of_key());
        }
    }
}
