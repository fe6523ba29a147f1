//! An upstream within this process that answers each request with given bytes.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A complete answer.
pub const GOOD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The number of open connections, and the signal that one of them was closed.
static OPEN: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The client must give up a closed connection within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open connection.
struct OpenConnection;

impl OpenConnection {
    fn new() -> Self {
        *OPEN.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        *OPEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        OPEN.1.notify_all();
    }
}

/// Waits until the client has given up all connections, which end after each answer. If a request
/// were sent on a connection that has just ended, it would get no answer, and that would not be a
/// defect.
///
/// # Panics
/// If the client keeps a connection.
pub fn wait_until_closed() {
    let open = OPEN.0.lock().unwrap_or_else(PoisonError::into_inner);
    let (open, _) = OPEN
        .1
        .wait_timeout_while(open, PATIENCE, |open| *open > 0)
        .unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*open, 0, "connections that ended are given up");
}

/// Sets the bytes with which the next requests are answered.
pub fn answer_with(bytes: &[u8]) {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = bytes.to_vec();
}

/// Returns the address of the one upstream of this process.
pub fn address() -> SocketAddr {
    static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let open = OpenConnection::new();
                std::thread::spawn(move || {
                    answer(stream);
                    drop(open);
                });
            }
        });
        address
    })
}

/// Reads one request, answers it and closes.
fn answer(mut stream: TcpStream) {
    let _no_limit = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let (mut head, mut byte) = (Vec::new(), [0; 4096]);
    let ends = |head: &[u8]| {
        let end = head.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
        Some(end + length.and_then(|length| length.trim().parse().ok()).unwrap_or(0))
    };
    while ends(&head).is_none_or(|end| head.len() < end) {
        match stream.read(&mut byte) {
            Ok(read @ 1..) => head.extend_from_slice(&byte[..read]),
            _ => return,
        }
    }
    let bytes = ANSWER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let _gone = stream.write_all(&bytes);
    let _closed = stream.shutdown(Shutdown::Write);
    // The client closes first, so that no sent bytes are lost.
    let _rest = stream.take(1 << 20).read_to_end(&mut Vec::new());
}
