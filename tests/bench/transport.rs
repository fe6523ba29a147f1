//! How the load's connections reach a system: plainly, over TLS, in a tunnel to a provider's host, or
//! over HTTP/2.

use std::io;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Answer, Connection};
use crate::http2_client::Http2Connection;

/// The host that tunnels lead to.
pub const TUNNEL_HOST: &str = "api.openai.com";

/// How connections reach a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1 over TCP.
    Plain,
    /// HTTP/1.1 over TLS to the system itself.
    Tls,
    /// HTTP/1.1 over TLS in a tunnel that the system opens as a proxy.
    Tunnel,
    /// HTTP/2 over TCP.
    Http2,
}

/// An open connection, by any transport.
pub enum Link {
    Http1(Connection),
    Http2(Http2Connection),
}

/// The stream of a connection over HTTP/1.1.
pub enum Wire {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// Returns the host that requests name.
    pub fn host(self) -> &'static str {
        if self == Self::Tunnel { TUNNEL_HOST } else { "localhost" }
    }
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    /// An error of the system, a handshake that fails, or a tunnel that is refused.
    pub async fn open(address: &str, transport: Transport) -> io::Result<Self> {
        if transport == Transport::Http2 {
            return Ok(Self::Http2(Http2Connection::open(address).await?));
        }
        Ok(Self::Http1(Connection::over(Wire::open(address, transport).await?)))
    }

    /// Makes one call. If `keep` is given, the bytes of the body are appended to it.
    ///
    /// # Errors
    /// A connection that ends early, or an answer that is not HTTP.
    pub async fn call(&mut self, request: &[u8], keep: Option<&mut Vec<u8>>) -> io::Result<Answer> {
        match self {
            Self::Http1(connection) => connection.call(request, keep).await,
            Self::Http2(connection) => connection.call(request, keep).await,
        }
    }
}

impl Wire {
    async fn open(address: &str, transport: Transport) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let host = match transport {
            Transport::Plain | Transport::Http2 => return Ok(Self::Plain(stream)),
            Transport::Tls => "127.0.0.1",
            Transport::Tunnel => {
                open_tunnel(&mut stream).await?;
                TUNNEL_HOST
            }
        };
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let settings = CLIENT.clone().ok_or_else(|| io::Error::other("no version of TLS"))?;
        let secure = TlsConnector::from(settings).connect(name, stream).await?;
        Ok(Self::Secure(Box::new(secure)))
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// An error of the connection.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes).await,
            Self::Secure(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await
            }
        }
    }

    /// Reads what has arrived into a buffer, and returns its length; 0 at the end.
    ///
    /// # Errors
    /// An error of the connection.
    pub async fn read_some(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read_buf(buffer).await,
            Self::Secure(stream) => stream.read_buf(buffer).await,
        }
    }
}

/// Asks a proxy for a tunnel to the host.
async fn open_tunnel(stream: &mut TcpStream) -> io::Result<()> {
    let head = format!("CONNECT {TUNNEL_HOST}:443 HTTP/1.1\r\nhost: {TUNNEL_HOST}:443\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    match answer.starts_with(b"HTTP/1.1 200") {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&answer).into_owned())),
    }
}

/// The settings of a client that trusts any certificate: each system has an authority of its own.
/// `None` if the library has no version of TLS.
static CLIENT: LazyLock<Option<Arc<ClientConfig>>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A handshake is measured as a new client makes it.
    config.resumption = rustls::client::Resumption::disabled();
    Some(Arc::new(config))
});

/// Accepts each certificate, and checks the signatures of the handshake.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
