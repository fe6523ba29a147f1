//! A connection to an upstream, through TLS, a proxy, or TLS to the proxy.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_rustls::MaybeHttpsStream;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use loomrec_os::LocalSocket;

/// A connection to a server or a proxy, with TLS if its address says `https`.
pub(super) type FirstHop = MaybeHttpsStream<TokioIo<TcpStream>>;

/// What a connection consists of.
#[expect(
    clippy::large_enum_variant,
    reason = "almost every connection is the larger one, and a box would be another allocation"
)]
enum UpstreamIo {
    /// A connection over the network.
    Network(TokioIo<MaybeHttpsStream<FirstHop>>),
    /// A connection to a socket in the file system.
    Local(LocalSocket),
}

/// Calls a method of the connection that there is.
macro_rules! of_io {
    ($io:expr, $method:ident $(, $argument:expr)*) => {
        match $io {
            UpstreamIo::Network(io) => Pin::new(io).$method($($argument),*),
            UpstreamIo::Local(io) => Pin::new(io).$method($($argument),*),
        }
    };
}

/// A connection to an upstream, or through a tunnel.
pub struct UpstreamStream {
    io: UpstreamIo,
    /// Whether the other end is a proxy that gets requests with absolute addresses.
    is_forwarded: bool,
    /// Whether each read returns one TLS record.
    is_tls: bool,
    /// An error that came after bytes of the same read.
    failure: Option<io::Error>,
}

impl UpstreamStream {
    /// Returns a connection to the upstream itself.
    pub(super) fn direct(hop: FirstHop) -> Self {
        let is_tls = matches!(hop, MaybeHttpsStream::Https(_));
        Self::new(MaybeHttpsStream::Http(hop), is_tls)
    }

    /// Returns a connection to a proxy that forwards requests.
    pub(super) fn forwarded(hop: FirstHop) -> Self {
        Self { is_forwarded: true, ..Self::direct(hop) }
    }

    /// Returns a connection through a tunnel.
    pub(super) fn tunnelled(io: MaybeHttpsStream<FirstHop>) -> Self {
        Self::new(io, true)
    }

    /// Returns a connection to a socket in the file system.
    pub(super) fn local(socket: LocalSocket) -> Self {
        let io = UpstreamIo::Local(socket);
        Self { io, is_forwarded: false, is_tls: false, failure: None }
    }

    fn new(io: MaybeHttpsStream<FirstHop>, is_tls: bool) -> Self {
        let io = UpstreamIo::Network(TokioIo::new(io));
        Self { io, is_forwarded: false, is_tls, failure: None }
    }

    fn poll_io(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let before = buffer.filled().len();
        let polled = of_io!(&mut self.io, poll_read, cx, buffer);
        polled.map_ok(|()| buffer.filled().len() - before)
    }
}

impl Connection for UpstreamStream {
    fn connected(&self) -> Connected {
        match &self.io {
            UpstreamIo::Network(io) => io.inner().connected().proxy(self.is_forwarded),
            UpstreamIo::Local(_) => Connected::new(),
        }
    }
}

impl AsyncRead for UpstreamStream {
    /// Reads what has arrived; over TLS, as many records as fit. A transfer chunk that goes past
    /// the end of one read is passed on in two parts, so a read gets as much as it can.
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(failure) = self.failure.take() {
            return Poll::Ready(Err(failure));
        }
        let start = buffer.filled().len();
        loop {
            let has_some = buffer.filled().len() > start;
            match self.poll_io(cx, buffer) {
                Poll::Ready(Ok(read)) if read > 0 && self.is_tls && buffer.remaining() > 0 => {}
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(())),
                Poll::Pending if has_some => return Poll::Ready(Ok(())),
                Poll::Ready(Err(failure)) if has_some => {
                    // A second read would not report the reset again.
                    self.failure = Some(failure);
                    return Poll::Ready(Ok(()));
                }
                ended => return ended.map_ok(drop),
            }
        }
    }
}

impl AsyncWrite for UpstreamStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        of_io!(&mut self.io, poll_write, cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_io!(&mut self.io, poll_flush, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_io!(&mut self.io, poll_shutdown, cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            UpstreamIo::Network(io) => io.is_write_vectored(),
            UpstreamIo::Local(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_io!(&mut self.io, poll_write_vectored, cx, bytes)
    }
}
