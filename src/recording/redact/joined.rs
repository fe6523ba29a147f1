//! Joining the bytes of chunks.

use super::super::body::Chunk;
use bytes::{Bytes, BytesMut};

/// Returns the joined bytes of the chunks. A single chunk is not copied.
pub(super) fn join_chunks(chunks: &[Chunk]) -> Bytes {
    if let [only] = chunks {
        return only.data.clone();
    }
    let mut joined = BytesMut::with_capacity(chunks.iter().map(|c| c.data.len()).sum());
    for chunk in chunks {
        joined.extend_from_slice(&chunk.data);
    }
    joined.freeze()
}
