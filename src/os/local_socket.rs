//! Sockets in the file system: connections to them, and listeners at them.

use std::io;
use std::path::Path;

/// A connection to a socket in the file system.
pub type LocalSocket = tokio::net::UnixStream;

/// A listener at a socket in the file system.
pub type LocalListener = tokio::net::UnixListener;

/// Listens at a path, where it creates the socket. Must be called in a Tokio runtime.
///
/// # Errors
/// There is something at the path, or it is too long for a socket.
pub fn listen_at_local_socket(path: &Path) -> io::Result<LocalListener> {
    LocalListener::bind(path)
}

/// Connects to the socket at a path.
///
/// # Errors
/// There is no socket, nobody listens, or this user may not connect.
pub async fn connect_local_socket(path: &Path) -> io::Result<LocalSocket> {
    LocalSocket::connect(path).await
}
