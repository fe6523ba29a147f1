//! Counts of spans that were sent or lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// The counts of spans that were sent or lost.
#[derive(Debug, Default)]
pub struct SpanCounts {
    sent: AtomicU64,
    lost: AtomicU64,
    /// Why spans were lost most recently.
    why: Mutex<Option<String>>,
}

impl SpanCounts {
    /// Returns how many spans a collector has accepted.
    pub fn sent_spans(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns how many spans no collector has accepted or will accept.
    pub fn lost_spans(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns why spans were lost most recently.
    pub(super) fn loss_reason(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds spans that were accepted.
    #[cfg(feature = "otel")]
    pub(super) fn add_sent(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Relaxed);
    }

    /// Adds spans that are lost.
    #[cfg(feature = "otel")]
    pub(super) fn add_lost(&self, spans: u64) {
        self.lost.fetch_add(spans, Ordering::Relaxed);
    }

    /// Notes why spans are lost. Returns whether this is the first loss.
    #[cfg(feature = "otel")]
    pub(super) fn note_reason(&self, why: &str) -> bool {
        let mut reported = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        reported.replace(why.to_owned()).is_none()
    }

    /// Returns it as JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({ "sent": self.sent_spans(), "lost": self.lost_spans(), "error": self.loss_reason() })
    }
}
