//! What became of spans, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// What became of spans.
#[derive(Debug, Default)]
pub struct SpanCounts {
    sent: AtomicU64,
    lost: AtomicU64,
    /// Why spans were lost, the last time.
    why: Mutex<Option<String>>,
}

impl SpanCounts {
    /// Those that a collector has taken.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Those that no collector has taken and none will.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Why spans were lost, the last time.
    pub(super) fn why(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds some that were taken.
    #[cfg(feature = "otel")]
    pub(super) fn send(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Relaxed);
    }

    /// Adds some that are lost.
    #[cfg(feature = "otel")]
    pub(super) fn lose(&self, spans: u64) {
        self.lost.fetch_add(spans, Ordering::Relaxed);
    }

    /// Says why; whether nobody has before.
    #[cfg(feature = "otel")]
    pub(super) fn blame(&self, why: &str) -> bool {
        let mut told = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        told.replace(why.to_owned()).is_none()
    }

    /// As JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({ "sent": self.sent(), "lost": self.lost(), "error": self.why() })
    }
}
