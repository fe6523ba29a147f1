//! TLS in front of a server without it, in both directions at once.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A listener that terminates TLS and passes everything on to one address.
pub(crate) struct TlsFront {
    address: SocketAddr,
}

impl TlsFront {
    pub(crate) fn start(config: Arc<ServerConfig>, behind: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(serve(listener, config, behind));
        });
        Self { address }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn serve(listener: std::net::TcpListener, config: Arc<ServerConfig>, behind: SocketAddr) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((outer, _)) = listener.accept().await {
        let acceptor = TlsAcceptor::from(Arc::clone(&config));
        tokio::spawn(async move {
            // A failed handshake is noticed at the other end.
            let Ok(mut outer) = acceptor.accept(outer).await else { return };
            let mut inner = TcpStream::connect(behind).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
        });
    }
}
