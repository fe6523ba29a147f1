//! The queue of chunks between the pump of a response and its client, and how chunks are handed over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::HeaderMap;
use tokio::sync::{Notify, mpsc};

use loomrec_recording::entry::RecordedCut;

/// How many bytes a slow client may lag behind once the copy no longer holds them.
const HIGH_WATER: usize = 1 << 20;

/// The most chunks of a burst that are handed to the client together.
const BURST: usize = 64;

/// A burst with this many bytes at hand is handed to the client.
const BURST_BYTES: usize = 16 << 10;

/// A message from the pump to the client's body.
pub(super) enum FeedMessage {
    Data(Bytes),
    Cut(RecordedCut),
    /// The fields after the body, and its end.
    Trailers(HeaderMap),
    /// The end of the body. It is explicit, so that a pump that died is not mistaken for it.
    End,
}

/// The number of bytes queued for the client.
#[derive(Default)]
pub(super) struct Gauge {
    pub(super) bytes: AtomicUsize,
    pub(super) drained: Notify,
}

/// The pump's side of the client's queue.
pub(super) struct ClientFeed {
    pub(super) parts: mpsc::UnboundedSender<FeedMessage>,
    gauge: Arc<Gauge>,
    burst: ChunkBurst,
}

/// The chunks that arrived right behind one that was queued. Each message to the client wakes its
/// task, which writes at once. So they are queued together.
#[derive(Default)]
struct ChunkBurst {
    /// Whether a chunk was queued since the upstream last had nothing.
    has_begun: bool,
    chunks: Vec<Bytes>,
    bytes: usize,
}

impl ClientFeed {
    /// Returns a feed and the queue that the client reads.
    pub(super) fn open() -> (Self, mpsc::UnboundedReceiver<FeedMessage>, Arc<Gauge>) {
        let (parts, receiver) = mpsc::unbounded_channel();
        let gauge = Arc::<Gauge>::default();
        (Self { parts, gauge: Arc::clone(&gauge), burst: ChunkBurst::default() }, receiver, gauge)
    }

    /// Notes that a chunk was handed over already.
    pub(super) fn begin_burst(&mut self) {
        self.burst.has_begun = true;
    }

    /// Whether chunks follow each other, so that the next one is not handed over alone.
    pub(super) fn is_in_burst(&self) -> bool {
        self.burst.has_begun
    }

    /// Queues `data`. Returns `false` once the client has left.
    pub(super) fn send_chunk(&self, data: Bytes) -> bool {
        self.gauge.bytes.fetch_add(data.len(), Ordering::Relaxed);
        self.parts.send(FeedMessage::Data(data)).is_ok()
    }

    /// Queues `data` if it is the first chunk of a burst, or completes one. Else keeps it for
    /// [`ClientFeed::flush`]. Returns `false` once the client has left.
    pub(super) fn add_chunk(&mut self, data: Bytes) -> bool {
        if !self.burst.has_begun {
            self.burst.has_begun = true;
            return self.send_chunk(data);
        }
        self.burst.bytes += data.len();
        self.burst.chunks.push(data);
        let is_full = self.burst.chunks.len() >= BURST || self.burst.bytes >= BURST_BYTES;
        !is_full || self.end_burst()
    }

    /// Queues what [`ClientFeed::add_chunk`] kept. Returns `false` once the client has left.
    pub(super) fn flush(&mut self) -> bool {
        self.burst.bytes = 0;
        let mut chunks = std::mem::take(&mut self.burst.chunks);
        let is_there = chunks.drain(..).all(|data| self.send_chunk(data));
        // The list is used again.
        self.burst.chunks = chunks;
        is_there
    }

    /// Ends the burst: it is full, or the upstream has nothing more at hand.
    pub(super) fn end_burst(&mut self) -> bool {
        self.burst.has_begun = false;
        self.flush()
    }

    /// Returns once the client has taken enough of the queue, or has left.
    pub(super) async fn wait_until_drained(&self) {
        while self.gauge.bytes.load(Ordering::Relaxed) > HIGH_WATER {
            tokio::select! {
                () = self.gauge.drained.notified() => {}
                () = self.parts.closed() => return,
            }
        }
    }
}
