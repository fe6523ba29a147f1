//! The errors of upstreams that gave no answer.

use url::Url;

use super::aws::SignatureError;
use super::socket_address::origin_words;

/// Why an upstream gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The client could not be built.
    #[error("set up the HTTP client: {detail}")]
    Setup {
        /// What was wrong.
        detail: String,
    },
    /// The path cannot be forwarded unchanged.
    #[error("forward {path:?} unchanged to {upstream}: {detail}")]
    Path {
        /// The upstream's name.
        upstream: String,
        /// The path as it came.
        path: String,
        /// What was wrong.
        detail: String,
    },
    /// The upstream sent an informational status instead of an answer.
    #[error(
        "get an answer from upstream {upstream}: it sent only the informational status {status} \
         and no final response"
    )]
    NoAnswer {
        /// The upstream's name.
        upstream: String,
        /// The status.
        status: u16,
    },
    /// The call was signed for loomrec's address, and cannot be signed again.
    #[error("sign the call to upstream {upstream}: {source}")]
    Signature {
        /// The upstream's name.
        upstream: String,
        /// Why.
        source: SignatureError,
    },
    /// The run ended before there was an answer.
    #[error("wait for upstream {upstream}: this run is stopping")]
    Stopped {
        /// The upstream's name.
        upstream: String,
    },
    /// There was no connection, or no answer on it.
    #[error("reach upstream {upstream} at {origin}: {detail}")]
    Unreachable {
        /// The upstream's name.
        upstream: String,
        /// Scheme, host and port; never the query.
        origin: String,
        /// The reasons, outermost first.
        detail: String,
        /// Whether there was a connection, which ended before an answer.
        was_connected: bool,
    },
}

impl UpstreamError {
    /// Returns the same error, of a connection that was there or not.
    pub(super) fn with_connection_state(mut self, is_connected: bool) -> Self {
        if let Self::Unreachable { was_connected, .. } = &mut self {
            *was_connected = is_connected;
        }
        self
    }

    /// Whether the connection ended before an answer.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Unreachable { was_connected: true, .. })
    }

    pub(super) fn unreachable(upstream: &str, base: &Url, detail: String) -> Self {
        let origin = origin_words(base);
        Self::Unreachable { upstream: upstream.to_owned(), origin, detail, was_connected: false }
    }
}
