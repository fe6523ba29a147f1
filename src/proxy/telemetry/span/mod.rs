//! Traces: a span for each call that is over, sent to a collector by a thread of its own.
//!
//! What no collector takes is counted and left out: no call waits for its span, and what
//! waits to be sent is bounded in number and in bytes. docs/traces.md describes the spans.
//! The crates behind it are built in with the feature `otel`; without it nothing starts.

mod config;
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

use std::sync::Arc;

use serde_json::Value;

use super::call_record::CallRecord;
pub use config::{OnSpanError, SpanConfig, SpanDetails, SpanError, SpanProtocol, TlsIdentity};
pub use count::SpanCounts;

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
