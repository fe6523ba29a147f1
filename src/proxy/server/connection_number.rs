//! The number of a connection.

/// The number of a connection, from 1, and of the stream of it that this is, from 1; 0 for HTTP/1.1.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionNumber {
    /// The number of the connection that was accepted.
    pub accepted: u64,
    stream: u32,
}

impl ConnectionNumber {
    /// Returns that of an accepted connection.
    pub(super) fn from_accepted(accepted: u64) -> Self {
        Self { accepted, stream: 0 }
    }

    /// Returns that of a stream of this connection.
    pub(super) fn of_stream(self, stream: u32) -> Self {
        Self { stream, ..self }
    }

    /// Whether it is that of a stream.
    pub(super) fn is_of_stream(self) -> bool {
        self.stream > 0
    }

    /// Returns a number that no other connection and no other stream has.
    pub(super) fn unique_id(self) -> u64 {
        self.accepted | u64::from(self.stream) << 32
    }
}
