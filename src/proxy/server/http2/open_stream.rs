//! The streams of a connection that are being answered.

use std::sync::Arc;

use super::super::socket::ConnectionHandle;

/// A stream that is being answered. The connection is idle while there is no such stream.
pub(super) struct OpenStream(Arc<ConnectionHandle>);

impl OpenStream {
    /// Begins it.
    pub(super) fn begin(connection: &Arc<ConnectionHandle>) -> Self {
        connection.note_request();
        Self(Arc::clone(connection))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.note_response_end();
    }
}
