//! Interception: TLS on the listening port with a certificate of the run's authority, and tunnels to
//! the hosts of upstreams, whose end loomrec is.
//!
//! The first byte of a connection decides what it is. It has to arrive anyway, so a plain call costs
//! one look at it more.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::AlertDescription;
use rustls::server::Acceptor;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::certificate_authority::{CertificateAuthority, CertificateError};
use super::listener_tls::{HANDSHAKE, ListenerTls};
use super::peer::{CallerStanding, ConnectionPeer};
use super::tunnel_host::TunnelHost;
use crate::guard::{Guard, ProxyClient, TunnelFailure};

/// The first byte of a TLS handshake.
pub(super) const HANDSHAKE_RECORD: u8 = 0x16;
/// The first byte of `CONNECT`. No call of an API has a method with it.
const CONNECT: u8 = b'C';

/// Why a caller may not open tunnels.
const ELSEWHERE: &str = "tunnels are for this machine only: give the run a --control-token, and send \
                         it as the proxy's password";
const OTHER_USER: &str = "tunnels are for the user that runs loomrec: another user's program needs \
                          the token of a run that was started with --control-token";

/// What a listener needs to intercept connections.
#[derive(Debug)]
pub struct Interception {
    /// Signs the certificates of hosts.
    pub authority: Arc<CertificateAuthority>,
    /// Decides about tunnels.
    pub guard: Guard,
}

/// A connection, once it is known what its client speaks.
pub(super) enum OpenedStream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How the listener of a run opens connections.
#[derive(Clone, Default)]
pub struct ListenerEntrance {
    /// The user's certificate, if connections begin with TLS.
    pub tls: Option<ListenerTls>,
    /// What intercepts connections.
    pub interception: Option<Arc<Interception>>,
}

/// Why a handshake failed, or led to no call. The texts follow "its client".
#[derive(Debug, thiserror::Error)]
enum HandshakeError {
    /// The client has left without a word, as one does that keeps a connection in store.
    #[error("left")]
    Silent,
    #[error("sent something else than a TLS handshake")]
    NoTls,
    #[error("asked for the certificate of {0}")]
    OtherName(String),
    #[error("got no certificate: failed to {0}")]
    Certificate(#[from] CertificateError),
    #[error("does not accept loomrec's certificate: {0}")]
    Distrust(String),
    #[error("left during the handshake")]
    Left,
    #[error("made an invalid handshake: {0}")]
    Invalid(String),
    #[error("took longer than {} seconds for its handshake", .0.as_secs())]
    Late(Duration),
    /// The client has left after its handshake: it kept the connection in store, or looked at the
    /// certificate late. Nothing tells these apart.
    #[error("made no call after its handshake")]
    NoCall,
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        let source = error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>());
        match source {
            Some(rustls::Error::AlertReceived(AlertDescription::UnknownCA)) => {
                Self::Distrust("it does not know the authority".to_owned())
            }
            Some(rustls::Error::AlertReceived(alert)) => {
                Self::Distrust(format!("it answered {alert:?}"))
            }
            Some(other) => Self::Invalid(other.to_string()),
            None => Self::Left,
        }
    }
}

impl ListenerEntrance {
    /// Whether a connection is plain HTTP, whatever its first byte is.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none() && self.interception.is_none()
    }

    /// Opens a connection, which may be one in a tunnel already. `None` if it is over: its handshake
    /// failed, or it was a tunnel that was refused or passed on. A client has `most` to begin. `token`
    /// is that of the control paths.
    pub(super) async fn open_connection(
        &self,
        tunnel: &mut Option<Arc<TunnelHost>>,
        stream: TcpStream,
        peer: &ConnectionPeer,
        (most, token): (Duration, Option<&str>),
    ) -> Option<OpenedStream> {
        let Some(interception) = &self.interception else {
            let shaken = self.tls.as_ref()?.handshake(stream, most).await?;
            return Some(OpenedStream::Tls(Box::new(shaken)));
        };
        if let Some(host) = tunnel {
            return interception.open_tunnel(host, stream, most).await;
        }
        match (first_byte(&stream, most).await?, &self.tls) {
            (CONNECT, _) => {
                let client = proxy_client(peer, token).await;
                let accepted = interception.guard.serve(stream, client).await?;
                let host = tunnel.insert(Arc::new(TunnelHost::new(accepted.host)));
                interception.open_tunnel(host, accepted.client, most).await
            }
            (_, Some(tls)) => {
                let shaken = tls.handshake(stream, most).await?;
                Some(OpenedStream::Tls(Box::new(shaken)))
            }
            (HANDSHAKE_RECORD, None) => interception.open_tls(stream, most).await,
            _ => Some(OpenedStream::Plain(stream)),
        }
    }
}

impl Interception {
    /// Makes TLS in a tunnel to this host.
    async fn open_tunnel(
        &self,
        host: &TunnelHost,
        stream: TcpStream,
        most: Duration,
    ) -> Option<OpenedStream> {
        let names = [host.host_name().to_owned()];
        let shaken = self.shake_hands(stream, &names, Some(host.host_name()), most).await;
        shaken.map_err(|error| self.note_failure(host.host_name(), &error)).ok()
    }

    /// Makes TLS with a client that calls loomrec's own address.
    async fn open_tls(&self, stream: TcpStream, most: Duration) -> Option<OpenedStream> {
        let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        let own = stream.local_addr().ok().map(|address| address.ip().to_canonical());
        names.extend(own.filter(|ip| !ip.is_loopback()).as_ref().map(IpAddr::to_string));
        let shaken = self.shake_hands(stream, &names, None, most).await;
        shaken.map_err(|error| self.note_failure("loomrec's own address", &error)).ok()
    }

    /// Counts a tunnel to this host whose client left after the handshake.
    pub(super) fn note_no_call(&self, host: &TunnelHost) {
        self.note_failure(host.host_name(), &HandshakeError::NoCall);
    }

    fn note_failure(&self, host: &str, error: &HandshakeError) {
        let failure = match error {
            HandshakeError::Silent => return,
            HandshakeError::Left | HandshakeError::NoCall => TunnelFailure::Left,
            HandshakeError::Distrust(_) => TunnelFailure::Distrusted,
            HandshakeError::NoTls
            | HandshakeError::OtherName(_)
            | HandshakeError::Certificate(_)
            | HandshakeError::Invalid(_)
            | HandshakeError::Late(_) => TunnelFailure::NoHandshake,
        };
        self.guard.note_failed_tunnel(host, &error.to_string(), failure);
    }

    /// Makes TLS with a certificate for these names. A client that names a host must name `expected`.
    async fn shake_hands(
        &self,
        stream: TcpStream,
        names: &[String],
        expected: Option<&str>,
        most: Duration,
    ) -> Result<OpenedStream, HandshakeError> {
        let limit = most.min(HANDSHAKE);
        let shaking = async {
            match first_byte(&stream, limit).await {
                None => return Err(HandshakeError::Silent),
                Some(HANDSHAKE_RECORD) => {}
                Some(_) => return Err(HandshakeError::NoTls),
            }
            let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
            let asked = hello.client_hello().server_name().map(str::to_ascii_lowercase);
            let asked = asked.filter(|asked| expected.is_some_and(|expected| asked != expected));
            if let Some(asked) = asked {
                return Err(HandshakeError::OtherName(asked));
            }
            let config = self.authority.config_for(names)?;
            Ok(OpenedStream::Tls(Box::new(hello.into_stream(config).await?)))
        };
        timeout(limit, shaking).await.unwrap_or(Err(HandshakeError::Late(limit)))
    }
}

/// Returns the first byte of a connection, which stays unread. `None` if it ends or `most` is over.
async fn first_byte(stream: &TcpStream, most: Duration) -> Option<u8> {
    let mut first = [0];
    let read = timeout(most, stream.peek(&mut first)).await.ok()?.ok()?;
    (read == 1).then_some(first[0])
}

/// Returns what a client of the listener may do.
async fn proxy_client<'a>(peer: &ConnectionPeer, token: Option<&'a str>) -> ProxyClient<'a> {
    let caller = peer.control_caller().await;
    let is_here = caller.address.ip().to_canonical().is_loopback();
    match (is_here, caller.standing, token) {
        (true, CallerStanding::SameUser | CallerStanding::Unknown, _) => ProxyClient::Own,
        (_, _, Some(token)) => ProxyClient::WithToken(token),
        (true, _, None) => ProxyClient::Refused(OTHER_USER),
        (false, _, None) => ProxyClient::Refused(ELSEWHERE),
    }
}
