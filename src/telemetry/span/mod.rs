//! Traces: a span for each finished call, sent to a collector by a separate thread.
//!
//! Spans that no collector accepts are counted and dropped. No call waits for its span, and the
//! spans that wait to be sent are limited in number and in bytes. docs/traces.md describes the
//! spans. The feature `otel` builds in the crates for this. Without it, tracing cannot be started.

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

/// Makes and sends spans, if tracing is on.
#[derive(Debug)]
pub struct Spans {
    counts: Arc<SpanCounts>,
    #[cfg(feature = "otel")]
    queue: Option<queue::SpanQueue>,
}

impl Spans {
    /// Makes no spans.
    pub fn none() -> Self {
        Self {
            counts: Arc::default(),
            #[cfg(feature = "otel")]
            queue: None,
        }
    }

    /// Starts the thread that sends spans. They are counted in `counts`. `on_error` is called with
    /// errors.
    ///
    /// # Errors
    /// [`SpanError::Setup`] if the exporter cannot be built.
    #[cfg(feature = "otel")]
    pub fn start(
        config: SpanConfig,
        counts: Arc<SpanCounts>,
        on_error: OnSpanError,
    ) -> Result<Self, SpanError> {
        let queue = queue::SpanQueue::start(config, Arc::clone(&counts), on_error)?;
        Ok(Self { counts, queue: Some(queue) })
    }

    /// Fails, because this binary was built without tracing.
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

    /// Whether spans are made.
    #[cfg(feature = "otel")]
    pub fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether spans are made.
    #[cfg(not(feature = "otel"))]
    pub fn is_on(&self) -> bool {
        false
    }

    /// Has a span made of a call, unless too many calls are waiting already.
    pub fn add(&self, seen: &Arc<CallRecord>) {
        #[cfg(feature = "otel")]
        if let Some(queue) = &self.queue {
            queue.add(seen);
        }
        #[cfg(not(feature = "otel"))]
        let _ = seen;
    }

    /// Returns the state of tracing, for the control endpoint. Null if no spans are made.
    pub fn health_json(&self) -> Value {
        if self.is_on() { self.counts.to_json() } else { Value::Null }
    }

    /// Sends the waiting spans, within the time that the end of the run may take, and ends the
    /// thread.
    ///
    /// # Errors
    /// How many were not sent, and the reason.
    pub async fn close(&self) -> Result<(), String> {
        #[cfg(feature = "otel")]
        if let Some(queue) = &self.queue {
            queue.close().await;
        }
        let (sent, lost) = (self.counts.sent_spans(), self.counts.lost_spans());
        if lost == 0 {
            return Ok(());
        }
        let why = self.counts.loss_reason();
        let why = why.as_deref().unwrap_or("more calls ended than could be sent at once");
        Err(format!("{lost} of {} spans did not reach the collector: {why}", lost + sent))
    }
}
