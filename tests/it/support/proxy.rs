//! A forward proxy: it notes the requests it gets, and passes everything on to one upstream.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::socket::reset_on_drop;
use super::wire::{Head, Wire};

/// A proxy to the same upstream for all hosts. When one side ends its connection, the other side is
/// ended in the same way.
pub(crate) struct ProxyServer {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<Head>>>,
}

impl ProxyServer {
    /// A proxy that lets everything through to `upstream`.
    pub(crate) fn start(upstream: SocketAddr) -> Self {
        Self::answering(upstream, "HTTP/1.1 200 Connection established\r\n\r\n")
    }

    /// A proxy that answers a CONNECT with `reply`, and tunnels if that is a 200.
    pub(crate) fn answering(upstream: SocketAddr, reply: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::default());
        let own = Arc::clone(&heads);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let heads = Arc::clone(&own);
                std::thread::spawn(move || serve(client, upstream, reply, &heads));
            }
        });
        Self { address, heads }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first head of each connection, in order.
    pub(crate) fn heads(&self) -> Vec<Head> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(client: TcpStream, upstream: SocketAddr, reply: &str, heads: &Mutex<Vec<Head>>) {
    client.set_nodelay(true).unwrap();
    let mut wire = Wire::new(client);
    let Ok(head) = wire.head() else { return };
    let is_connect = head.line.starts_with("CONNECT ");
    let sent_on = if is_connect { Vec::new() } else { head.raw.clone() };
    heads.lock().unwrap().push(head);
    if is_connect {
        let _ = wire.get_ref().write_all(reply.as_bytes());
        if !reply.contains(" 200 ") {
            return;
        }
    }
    let mut server = TcpStream::connect(upstream).unwrap();
    server.set_nodelay(true).unwrap();
    let _ = server.write_all(&[sent_on, wire.take_ahead()].concat());
    pass_on(wire.into_inner(), server);
}

/// Passes everything on, both ways, until both sides have ended.
pub(crate) fn pass_on(client: TcpStream, server: TcpStream) {
    let (client_end, server_end) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let back = std::thread::spawn(move || copy(server_end, client_end));
    copy(client, server);
    back.join().unwrap();
}

/// Passes bytes on until the source ends, and then ends the target in the same way.
fn copy(mut source: TcpStream, mut target: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break drop(target.shutdown(Shutdown::Write)),
            Ok(read) if target.write_all(&buffer[..read]).is_ok() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                reset_on_drop(&target);
                // Wakes the thread that reads from it.
                break drop(target.shutdown(Shutdown::Read));
            }
        }
    }
}
