//! The other end of a TCP connection, as far as this system knows it.

use std::net::SocketAddr;

/// The other end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpPeer {
    /// An open socket of this machine.
    Open {
        /// The user that it belongs to.
        user: u32,
    },
    /// Closed: it was on this machine, and no process holds it any more. A system that does not
    /// list sockets never says so.
    Closed,
    /// On another machine, or the system does not say.
    Unknown,
}

/// Returns the user that this process acts as.
pub fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user that may do everything.
pub const SUPERUSER: u32 = 0;

/// Looks up the other end of the connection between `local`, the end of this process, and `peer`.
/// It reads the system's list of sockets, so it must not run on a thread that serves calls.
#[cfg(target_os = "linux")]
pub fn tcp_peer(local: SocketAddr, peer: SocketAddr) -> TcpPeer {
    let mut is_listed = false;
    // The list is no snapshot: while sockets come and go, it may leave one out.
    for _ in 0..linux::READS {
        match linux::find(local, peer) {
            Ok(Some(found)) => return found,
            Ok(None) => is_listed = true,
            Err(_) => return TcpPeer::Unknown,
        }
    }
    match is_listed && peer.ip().to_canonical().is_loopback() {
        true => TcpPeer::Closed,
        false => TcpPeer::Unknown,
    }
}

/// The same for systems that do not list sockets.
#[cfg(not(target_os = "linux"))]
pub fn tcp_peer(_local: SocketAddr, _peer: SocketAddr) -> TcpPeer {
    TcpPeer::Unknown
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, BufRead as _, BufReader};
    use std::net::{IpAddr, SocketAddr};

    use super::TcpPeer;

    /// How often the list is read before a socket is taken for closed.
    pub(super) const READS: usize = 3;
    /// The state of a socket that only waits for late packets, from the kernel's tcp_states.h.
    const TIME_WAIT: &str = "06";

    /// Finds the socket whose own end is `peer` and whose other end is `local`.
    pub(super) fn find(local: SocketAddr, peer: SocketAddr) -> io::Result<Option<TcpPeer>> {
        let mut found = None;
        for (path, is_v6) in [("/proc/net/tcp", false), ("/proc/net/tcp6", true)] {
            let ends = [peer, local].map(|end| written(end, is_v6));
            let [Some(own), Some(other)] = ends else { continue };
            let file = match File::open(path) {
                // A kernel without IPv6.
                Err(error) if is_v6 && error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            for line in BufReader::new(file).lines() {
                match row(&line?, &own, &other) {
                    Some(open @ TcpPeer::Open { .. }) => return Ok(Some(open)),
                    closed => found = found.or(closed),
                }
            }
        }
        Ok(found)
    }

    /// Reads a row of the list, if it is about this socket. A socket without an inode is one that no
    /// process holds. Its row names the superuser, whoever held it.
    pub(super) fn row(line: &str, own: &str, other: &str) -> Option<TcpPeer> {
        // sl, local_address, rem_address, st, queues, timer, retrnsmt, uid, timeout, inode
        let mut columns = line.split_ascii_whitespace().skip(1);
        (columns.next()? == own && columns.next()? == other).then_some(())?;
        let state = columns.next()?;
        let user = columns.nth(3)?.parse().ok()?;
        let inode = columns.nth(1)?;
        Some(match state == TIME_WAIT || inode == "0" {
            true => TcpPeer::Closed,
            false => TcpPeer::Open { user },
        })
    }

    /// Writes an address as the list does: each 32 bits of it as a number of this machine. `None` if
    /// it cannot be in the list.
    pub(super) fn written(end: SocketAddr, is_v6: bool) -> Option<String> {
        let bytes = match (end.ip().to_canonical(), is_v6) {
            (IpAddr::V4(ip), false) => ip.octets().to_vec(),
            (IpAddr::V4(ip), true) => ip.to_ipv6_mapped().octets().to_vec(),
            (IpAddr::V6(ip), true) => ip.octets().to_vec(),
            (IpAddr::V6(_), false) => return None,
        };
        let words = bytes.chunks_exact(4).map(|word| {
            let word = [word[0], word[1], word[2], word[3]];
            format!("{:08X}", u32::from_ne_bytes(word))
        });
        Some(format!("{}:{:04X}", words.collect::<String>(), end.port()))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};

    use super::*;

    /// Returns a connection: its client, its server, and the addresses of the server and the client.
    fn connection(listen: &str, connect: &str) -> (TcpStream, TcpStream, SocketAddr, SocketAddr) {
        let listener = TcpListener::bind(listen).unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect((connect, port)).unwrap();
        let (server, peer) = listener.accept().unwrap();
        let local = server.local_addr().unwrap();
        (client, server, local, peer)
    }

    #[test]
    fn peer_of_this_machine_is_open_until_no_process_holds_it() {
        let mut ends = vec![("127.0.0.1:0", "127.0.0.1")];
        if TcpListener::bind("[::1]:0").is_ok() {
            ends.extend([("[::1]:0", "::1"), ("[::]:0", "127.0.0.1"), ("[::]:0", "::1")]);
        }
        for (listen, connect) in ends {
            let (client, server, local, peer) = connection(listen, connect);
            let open = TcpPeer::Open { user: current_user() };
            assert_eq!(tcp_peer(local, peer), open, "{listen} {connect}");
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(tcp_peer(local, peer), open, "half-closed: {listen} {connect}");
            drop(client);
            assert_eq!(tcp_peer(local, peer), TcpPeer::Closed, "{listen} {connect}");
            drop(server);
            assert_eq!(tcp_peer(local, peer), TcpPeer::Closed, "{listen} {connect}");
        }
    }

    #[test]
    fn peer_that_left_with_a_reset_is_closed() {
        let (client, server, local, peer) = connection("127.0.0.1:0", "127.0.0.1");
        // Unread bytes turn the close into a reset.
        std::io::Write::write_all(&mut &server, b"x").unwrap();
        client.peek(&mut [0]).unwrap();
        drop(client);
        assert_eq!(tcp_peer(local, peer), TcpPeer::Closed);
    }

    #[test]
    fn peer_of_another_machine_is_unknown() {
        let local = "127.0.0.1:9".parse().unwrap();
        assert_eq!(tcp_peer(local, "203.0.113.5:1234".parse().unwrap()), TcpPeer::Unknown);
    }

    #[test]
    fn row_without_a_holder_belongs_to_nobody() {
        let (own, other) = ("0100007F:1F90", "0100007F:0050");
        let row = |state: &str, inode: &str| {
            let line = format!(
                "  12: {own} {other} {state} 00000000:00000000 00:00000000 00000000     0        0 \
                 {inode} 1 0000000000000000 20 0 0 10 -1"
            );
            linux::row(&line, own, other)
        };
        assert_eq!(row("01", "4711"), Some(TcpPeer::Open { user: 0 }));
        assert_eq!(row("05", "4711"), Some(TcpPeer::Open { user: 0 }));
        assert_eq!(
            (row("05", "0"), row("06", "0")),
            (Some(TcpPeer::Closed), Some(TcpPeer::Closed))
        );
        assert_eq!(linux::row("  sl  local_address rem_address   st", own, other), None);
    }
}
