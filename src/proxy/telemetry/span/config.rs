//! Where spans go, what they say beside their calls, and why they cannot be sent.

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

/// Told of what went wrong, once.
pub type OnSpanError = Box<dyn Fn(&str) + Send>;

/// How spans are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanProtocol {
    /// Protobuf over gRPC.
    Grpc,
    /// Protobuf over HTTP.
    Protobuf,
    /// JSON over HTTP.
    Json,
}

/// Where spans go, and what of it is bounded.
#[derive(Clone)]
pub struct SpanConfig {
    /// Where to: for HTTP with the path.
    pub endpoint: Url,
    /// How.
    pub protocol: SpanProtocol,
    /// How long the collector may take for one request.
    pub timeout: Duration,
    /// How long sending a batch may take, tries included.
    pub limit: Duration,
    /// How long the end of a run waits for what is not sent yet.
    pub patience: Duration,
    /// How long spans gather before they are sent.
    pub delay: Duration,
    /// How many may wait.
    pub queue: usize,
    /// How many are sent at once.
    pub batch: usize,
    /// The certificates (PEM) to trust in place of the system's.
    pub roots: Option<Vec<u8>>,
    /// What the collector is shown.
    pub identity: Option<TlsIdentity>,
    /// What a span tells beside its call.
    pub about: SpanDetails,
}

/// A certificate and its key, both PEM.
#[derive(Clone)]
pub struct TlsIdentity {
    /// The certificate.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: Vec<u8>,
}

/// What a span tells beside its call.
#[derive(Clone, Debug, Default)]
pub struct SpanDetails {
    /// Whether AgentLoom's own names stand beside ours.
    pub compat: bool,
    /// The hosts and ports of upstreams, where they are known.
    pub addresses: BTreeMap<String, (String, u16)>,
}

/// Why spans cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum SpanError {
    /// The exporter could not be built.
    #[error("set up the traces: {detail}; see the OTEL_EXPORTER_OTLP_… variables")]
    Setup {
        /// What was wrong.
        detail: String,
    },
    /// This binary has no traces.
    #[error("set up the traces: this loomrec was built without the feature otel")]
    NotBuilt,
}
