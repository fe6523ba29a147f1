//! Configuration of spans: where they are sent, what they contain besides their calls, and the
//! errors of the setup.

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

/// Callback for errors, called once.
pub type OnSpanError = Box<dyn Fn(&str) + Send>;

/// The protocol with which spans are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanProtocol {
    /// Protobuf over gRPC.
    Grpc,
    /// Protobuf over HTTP.
    Protobuf,
    /// JSON over HTTP.
    Json,
}

/// Where spans are sent, and the limits of it.
#[derive(Clone)]
pub struct SpanConfig {
    /// The address of the collector. For HTTP, it includes the path.
    pub endpoint: Url,
    /// The protocol.
    pub protocol: SpanProtocol,
    /// How long the collector may take for one request.
    pub timeout: Duration,
    /// How long sending a batch may take, including retries.
    pub limit: Duration,
    /// How long the end of a run waits for spans that are not sent yet.
    pub patience: Duration,
    /// How long spans are gathered before they are sent.
    pub delay: Duration,
    /// How many calls may wait for their span.
    pub queue: usize,
    /// How many spans are sent at once.
    pub batch: usize,
    /// The certificates (PEM) to trust instead of the system's.
    pub roots: Option<Vec<u8>>,
    /// The client certificate for the collector.
    pub identity: Option<TlsIdentity>,
    /// What a span contains besides its call.
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

/// What a span contains besides its call.
#[derive(Clone, Debug, Default)]
pub struct SpanDetails {
    /// Whether spans also have attributes under another tool's names.
    pub compat: bool,
    /// The hosts and ports of upstreams, if they are known.
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
    /// This binary was built without tracing.
    #[error("set up the traces: this loomrec was built without the feature otel")]
    NotBuilt,
    /// This binary was built without gRPC.
    #[error(
        "set up the traces: this loomrec was built without gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL \
         to http/protobuf and OTEL_EXPORTER_OTLP_ENDPOINT to an HTTP endpoint (usually port 4318), \
         install a released build, or run `cargo install loomrec --features otel-grpc`"
    )]
    GrpcNotBuilt,
}
