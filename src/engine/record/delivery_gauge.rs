//! How much of its answer the client of a recorded call has got, and when it left.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use loomrec_recording::entry::{ClientLeft, Entry, ResponseEnd};

/// How much of its answer a client has got. The client's side counts, and the exchange reads the
/// result when it is stored.
#[derive(Debug, Default)]
pub(super) struct DeliveryGauge {
    /// When the client left before the end of the answer.
    left: OnceLock<Instant>,
    /// Whether the head was passed on.
    has_head: AtomicBool,
    /// How many chunks of the body were passed on.
    chunks: AtomicUsize,
    /// Whether the client gets something else than the answer, so that nothing is known.
    is_changed: AtomicBool,
}

impl DeliveryGauge {
    /// Notes that the head is passed on. A client that has left gets none.
    pub(super) fn pass_head(&self) {
        if self.left.get().is_none() {
            self.has_head.store(true, Ordering::Relaxed);
        }
    }

    /// Notes that one more chunk was passed on.
    pub(super) fn pass_chunk(&self) {
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the client has left. Only the first time counts.
    pub(super) fn mark_client_left(&self) {
        self.left.get_or_init(Instant::now);
    }

    /// Notes that the client gets a changed answer.
    pub(super) fn mark_changed(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Returns what the client had got when it left, of the answer of `entry`; `None` if it has not
    /// left, or got the whole body. `arrived` is when its call arrived.
    pub(super) fn client_left(&self, arrived: Instant, entry: &Entry) -> Option<ClientLeft> {
        let (left, chunks) = (*self.left.get()?, entry.answer_chunks()?);
        if self.is_changed.load(Ordering::Relaxed) {
            return None;
        }
        let at_ms = left.saturating_duration_since(arrived).as_secs_f64() * 1000.0;
        let sent = self.chunks.load(Ordering::Relaxed);
        let has_head = self.has_head.load(Ordering::Relaxed);
        // A client that got all bytes lacks nothing but the end of the framing.
        let is_whole = entry.answer_end() != Some(ResponseEnd::ClientAbort);
        let has_all = is_whole && has_head && sent >= chunks.len();
        (!has_all).then(|| ClientLeft::new(at_ms, has_head.then_some(sent), chunks))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use loomrec_recording::RecordedResponse;
    use loomrec_recording::body::{Chunk, ChunkLayout, ResponsePayload};

    use super::*;

    fn answer(texts: &[&'static str], end: ResponseEnd) -> Entry {
        let chunk = |data: &&'static str| Chunk { at_ms: 1.0, data: (*data).into() };
        let chunks = texts.iter().map(chunk).collect();
        let payload = ResponsePayload::new(ChunkLayout::Chunks, chunks);
        let response = RecordedResponse {
            status: 200,
            reason: None,
            headers: Vec::new(),
            trailers: Vec::new(),
            payload,
            end,
        };
        Entry { response: Some(response), ..Entry::default() }
    }

    #[test]
    fn gauge_says_what_the_client_had_got_when_it_left() {
        let body = answer(&["one", "three"], ResponseEnd::Complete);
        let (arrived, gauge) = (Instant::now(), DeliveryGauge::default());
        let bytes = |body: &Entry| gauge.client_left(arrived, body).map(|it| it.bytes);
        assert_eq!(bytes(&body), None);
        gauge.mark_client_left();
        let first = gauge.client_left(arrived, &body).unwrap();
        assert_eq!(first.bytes, None);
        std::thread::sleep(Duration::from_millis(2));
        gauge.mark_client_left();
        assert_eq!(gauge.client_left(arrived, &body), Some(first));
        gauge.pass_head();
        assert_eq!(gauge.client_left(arrived, &body), Some(first), "it had left before the head");
    }

    #[test]
    fn gauge_counts_the_chunks_of_a_client_that_had_the_head() {
        let body = answer(&["one", "three"], ResponseEnd::Complete);
        let (arrived, gauge) = (Instant::now(), DeliveryGauge::default());
        let bytes = |body: &Entry| gauge.client_left(arrived, body).map(|it| it.bytes);
        gauge.pass_head();
        gauge.mark_client_left();
        assert_eq!(bytes(&body), Some(Some(0)));
        assert_eq!(bytes(&answer(&[], ResponseEnd::Complete)), None);
        assert_eq!(bytes(&answer(&[], ResponseEnd::ClientAbort)), Some(Some(0)));
        gauge.pass_chunk();
        assert_eq!(bytes(&body), Some(Some(3)));
        gauge.pass_chunk();
        assert_eq!(bytes(&body), None);
        let cut = answer(&["one", "three"], ResponseEnd::ClientAbort);
        assert_eq!(bytes(&cut), Some(Some(8)), "the rest of the answer never came");
        gauge.mark_changed();
        assert_eq!(bytes(&cut), None);
    }
}
