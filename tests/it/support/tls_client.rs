//! A client over TLS that trusts one authority, and sees how the connection under TLS ended.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::{Call, End};
use super::gate::PATIENCE;
use super::tls::Authority;

/// A connection over TLS.
pub(crate) struct TlsClient(StreamOwned<ClientConnection, TcpStream>);

impl TlsClient {
    /// Connects, and verifies the certificate for 127.0.0.1.
    pub(crate) fn connect(address: SocketAddr, authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        Self::trusting(roots, TcpStream::connect(address).unwrap(), "127.0.0.1")
    }

    /// Makes TLS on a connection, with this authority as the only one and the name of a host.
    pub(crate) fn over(stream: TcpStream, authority: &str, name: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        Self::trusting(roots, stream, name)
    }

    /// Expects that the handshake fails.
    #[track_caller]
    pub(crate) fn fails(mut self) {
        let written = self.0.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| self.0.flush());
        let read = written.and_then(|()| self.0.read(&mut [0]));
        assert!(!matches!(read, Ok(1)), "the server answered");
    }

    /// Finishes the handshake and leaves without a call.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.0.flush().unwrap();
        while self.0.conn.is_handshaking() {
            self.0.conn.complete_io(&mut self.0.sock).unwrap();
        }
        self.0.conn.send_close_notify();
        self.0.conn.complete_io(&mut self.0.sock).unwrap();
    }

    fn trusting(roots: RootCertStore, stream: TcpStream, name: &str) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = name.to_owned().try_into().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        Self(StreamOwned::new(connection, stream))
    }

    /// Sends a request, and returns everything that comes until the connection ends, and its end.
    /// [`End::Complete`] is an end that TLS announced.
    #[track_caller]
    pub(crate) fn last_call(&mut self, call: &Call) -> (String, End) {
        let call = call.clone().header("connection: close");
        self.send(&call);
        let mut read = Vec::new();
        let end = loop {
            let mut buffer = [0; 4096];
            match self.0.read(&mut buffer) {
                Ok(0) => break End::Complete,
                Ok(count) => read.extend(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break End::Closed,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break End::Reset,
                Err(error) => panic!("{error}"),
            }
        };
        (String::from_utf8_lossy(&read).into_owned(), end)
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, call: &Call) {
        self.0.write_all(call.head().as_bytes()).unwrap();
        self.0.write_all(call.body_bytes()).unwrap();
        self.0.flush().unwrap();
    }

    /// Reads until `text` has come.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        let mut read = String::new();
        while !read.contains(text) {
            let mut buffer = [0; 4096];
            let count = self.0.read(&mut buffer).unwrap();
            assert!(count > 0, "over before {text:?}: {read}");
            read += &String::from_utf8_lossy(&buffer[..count]);
        }
        read
    }
}
