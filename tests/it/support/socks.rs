//! A SOCKS 5 proxy in front of one upstream, which notes who connects where.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::proxy::pass_on;

/// The proxy, which requires a user and a password.
pub(crate) struct SocksServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl SocksServer {
    pub(crate) fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::default());
        let own = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let asked = Arc::clone(&own);
                std::thread::spawn(move || serve(client, upstream, &asked));
            }
        });
        Self { address, asked }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// `USER:PASSWORD HOST:PORT` of each connection.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, upstream: SocketAddr, asked: &Mutex<Vec<String>>) {
    let _methods = {
        let [_, count] = bytes(&mut client);
        field(&mut client, count)
    };
    client.write_all(&[5, 2]).unwrap();
    let [_, length] = bytes(&mut client);
    let user = field(&mut client, length);
    let [length] = bytes(&mut client);
    let password = field(&mut client, length);
    client.write_all(&[1, 0]).unwrap();
    let [_, command, _, kind, length] = bytes(&mut client);
    assert_eq!((command, kind), (1, 3), "a connection to a name");
    let host = field(&mut client, length);
    let port = u16::from_be_bytes(bytes(&mut client));
    asked.lock().unwrap().push(format!("{user}:{password} {host}:{port}"));
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    pass_on(client, TcpStream::connect(upstream).unwrap());
}

fn bytes<const N: usize>(client: &mut TcpStream) -> [u8; N] {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).unwrap();
    bytes
}

fn field(client: &mut TcpStream, length: u8) -> String {
    let mut bytes = vec![0; usize::from(length)];
    client.read_exact(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
