//! Connections to sockets in the file system.

use std::io;
use std::path::Path;

/// A connection to a socket in the file system.
pub type LocalSocket = tokio::net::UnixStream;

/// Connects to the socket at a path.
///
/// # Errors
/// There is no socket, nobody listens, or this user may not connect.
pub async fn connect_local_socket(path: &Path) -> io::Result<LocalSocket> {
    LocalSocket::connect(path).await
}
