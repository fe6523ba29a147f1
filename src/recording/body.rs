//! Body bytes as they stand in a recording: readable where that loses nothing.

use bytes::Bytes;

/// One chunk of a response, as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Milliseconds from the request's arrival to this chunk's.
    pub at_ms: f64,
    /// The bytes.
    pub data: Bytes,
}

/// How a response's chunks are written down. Any layout gives the same bytes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One `body`, `text` or `base64`; boundaries carried no meaning.
    Whole,
    /// One `body`, `text` or `base64`, and `frames: [[ms, bytes], …]` beside it.
    Frames,
    /// `chunks: [[ms, text], …]`: a stream.
    Chunks,
}

/// A response's bytes, its chunk boundaries and times.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// How it is written down.
    pub layout: Layout,
    /// The chunks in order; none for an empty body.
    pub chunks: Vec<Chunk>,
}
