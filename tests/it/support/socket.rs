//! A server's end of a connection, with or without TLS.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection that a test's server has accepted.
pub(crate) enum ServerSocket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl ServerSocket {
    /// Takes over a connection; `None` if the TLS handshake fails.
    pub(crate) fn accept(mut tcp: TcpStream, tls: Option<Arc<ServerConfig>>) -> Option<Self> {
        let Some(config) = tls else { return Some(Self::Plain(tcp)) };
        let mut connection = ServerConnection::new(config).unwrap();
        while connection.is_handshaking() {
            // The alert with the reason has already been sent.
            connection.complete_io(&mut tcp).ok()?;
        }
        Some(Self::Tls(Box::new(StreamOwned::new(connection, tcp))))
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Closes as the protocol requires.
    pub(crate) fn close(&mut self) {
        if let Self::Tls(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        self.truncate();
    }

    /// Closes without `close_notify` over TLS.
    pub(crate) fn truncate(&mut self) {
        let _ = self.tcp().shutdown(Shutdown::Both);
    }

    /// Turns the close, when the socket is dropped, into a reset.
    pub(crate) fn reset_on_drop(&self) {
        reset_on_drop(self.tcp());
    }
}

/// Makes the close, when a socket is dropped, a reset.
pub(crate) fn reset_on_drop(tcp: &TcpStream) {
    socket2::SockRef::from(tcp).set_linger(Some(Duration::ZERO)).unwrap();
}

impl Read for ServerSocket {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(buffer),
            Self::Tls(stream) => match stream.read(buffer) {
                // The client is gone, whether or not it announced that.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for ServerSocket {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
