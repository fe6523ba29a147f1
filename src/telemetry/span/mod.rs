//! Traces: a span for each call that is over, sent to a collector by a thread of its own.
//!
//! What no collector takes is counted and left out: no call waits for its span, and what
//! waits to be sent is bounded in number and in bytes. docs/traces.md describes the spans.
//! The crates behind it are built in with the feature `otel`; without it nothing starts.

mod count;
pub mod parent;

#[cfg(feature = "otel")]
mod attribute;
#[cfg(feature = "otel")]
mod exporter;
#[cfg(feature = "otel")]
mod queue;
#[cfg(feature = "otel")]
mod semantic;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::call_record::CallRecord;
pub use count::SpanCounts;

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

/// Where spans are made and sent, if they are.
#[derive(Debug)]
pub struct Spans {
    counts: Arc<SpanCounts>,
    #[cfg(feature = "otel")]
    queue: Option<queue::SpanQueue>,
}

impl Spans {
    /// None are made.
    pub fn none() -> Self {
        Self {
            counts: Arc::default(),
            #[cfg(feature = "otel")]
            queue: None,
        }
    }

    /// Starts the thread that sends them. They are counted in `counts`; `told` hears of
    /// what goes wrong.
    ///
    /// # Errors
    /// What the exporter cannot be built with.
    #[cfg(feature = "otel")]
    pub fn start(
        config: SpanConfig,
        counts: Arc<SpanCounts>,
        told: OnSpanError,
    ) -> Result<Self, SpanError> {
        let queue = queue::SpanQueue::start(config, Arc::clone(&counts), told)?;
        Ok(Self { counts, queue: Some(queue) })
    }

    /// Says that this binary has none.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "otel"))]
    pub fn start(
        _config: SpanConfig,
        _counts: Arc<SpanCounts>,
        _told: OnSpanError,
    ) -> Result<Self, SpanError> {
        Err(SpanError::NotBuilt)
    }

    /// Whether any are made.
    #[cfg(feature = "otel")]
    pub fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether any are made.
    #[cfg(not(feature = "otel"))]
    pub fn is_on(&self) -> bool {
        false
    }

    /// Has a span made of a call, unless too many wait already.
    pub fn add(&self, seen: &Arc<CallRecord>) {
        #[cfg(feature = "otel")]
        if let Some(queue) = &self.queue {
            queue.add(seen);
        }
        #[cfg(not(feature = "otel"))]
        let _ = seen;
    }

    /// How they do, for the control endpoint; null where none are made.
    pub fn health(&self) -> Value {
        if self.is_on() { self.counts.to_json() } else { Value::Null }
    }

    /// Sends what waits, for as long as the run's end may take, and ends.
    ///
    /// # Errors
    /// How many were not sent, and why.
    pub async fn close(&self) -> Result<(), String> {
        #[cfg(feature = "otel")]
        if let Some(queue) = &self.queue {
            queue.close().await;
        }
        let (sent, lost) = (self.counts.sent(), self.counts.lost());
        if lost == 0 {
            return Ok(());
        }
        let why = self.counts.why();
        let why = why.as_deref().unwrap_or("more calls ended than could be sent at once");
        Err(format!("{lost} of {} spans did not reach the collector: {why}", lost + sent))
    }
}
