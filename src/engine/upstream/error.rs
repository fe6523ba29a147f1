//! The errors of upstreams that gave no answer.

use url::Url;

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
    },
}

impl UpstreamError {
    pub(super) fn unreachable(upstream: &str, base: &Url, detail: String) -> Self {
        let origin = origin_words(base);
        Self::Unreachable { upstream: upstream.to_owned(), origin, detail }
    }
}
