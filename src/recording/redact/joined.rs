//! The bytes of chunks in one piece.

use super::super::body::Chunk;
use bytes::{Bytes, BytesMut};

/// The chunks' bytes in one piece; a single chunk is not copied.
pub(super) fn join(chunks: &[Chunk]) -> Bytes {
    if let [only] = chunks {
        return only.data.clone();
    }
    let mut joined = BytesMut::with_capacity(chunks.iter().map(|c| c.data.len()).sum());
    for chunk in chunks {
        joined.extend_from_slice(&chunk.data);
    }
    joined.freeze()
}
