//! A client that left before the end of its answer, and how much of it the client got.

use crate::body::{Chunk, LONGEST_MS};
use crate::entry_field::round_milliseconds;

/// The leaving of a client before the end of its answer. The upstream's answer may be recorded
/// further than that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLeft {
    /// When it left, in milliseconds since its request.
    pub at_ms: f64,
    /// How many bytes of the recorded body it had been sent; `None` if not even the head.
    pub bytes: Option<u64>,
}

impl ClientLeft {
    /// Returns the leaving of a client at this time, which had been sent this many of the `chunks`
    /// of the body; `None` if not even the head.
    pub fn new(at_ms: f64, sent: Option<usize>, chunks: &[Chunk]) -> Self {
        let length = |sent| chunks.iter().take(sent).map(|chunk| chunk.data.len() as u64).sum();
        Self { at_ms: round_milliseconds(at_ms.clamp(0.0, LONGEST_MS)), bytes: sent.map(length) }
    }

    /// Returns the same point in a body whose chunks were changed from `before` to `after`.
    #[must_use]
    pub fn after_change(self, before: &[Chunk], after: &[Chunk]) -> Self {
        let bytes = self.bytes.map(|bytes| {
            let (mut left, mut kept) = (bytes, 0);
            for (old, new) in before.iter().zip(after) {
                let (old, new) = (old.data.len() as u64, new.data.len() as u64);
                kept += if left >= old { new } else { left.min(new) };
                left = left.saturating_sub(old);
            }
            kept
        });
        Self { bytes, ..self }
    }

    /// Whether the client got nothing to act on of an answer of this status: no byte of its body,
    /// and not the status of an error either.
    pub fn got_nothing(self, status: u16) -> bool {
        match self.bytes {
            None => true,
            Some(0) => status < 400,
            Some(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(texts: &[&'static str]) -> Vec<Chunk> {
        texts.iter().map(|text| Chunk { at_ms: 1.0, data: (*text).into() }).collect()
    }

    #[test]
    fn client_that_left_got_whole_chunks_or_nothing() {
        let body = chunks(&["one", "two", "three"]);
        let bytes = |sent| ClientLeft::new(2.04, sent, &body).bytes;
        assert_eq!([bytes(None), bytes(Some(0)), bytes(Some(2))], [None, Some(0), Some(6)]);
        assert_eq!(bytes(Some(9)), Some(11));
        assert_eq!(ClientLeft::new(1e300, None, &[]).at_ms, LONGEST_MS);
        let nothing = |status| {
            [None, Some(0), Some(1)]
                .map(|sent| ClientLeft::new(2.04, sent, &body).got_nothing(status))
        };
        assert_eq!(nothing(200), [true, true, false]);
        assert_eq!(nothing(503), [true, false, false], "the head of an error is its answer");
    }

    #[test]
    fn point_at_which_a_client_left_moves_with_the_chunks_before_it() {
        let (before, after) = (chunks(&["one", "secret", "three"]), chunks(&["one", "x", "three"]));
        let moved = |bytes| ClientLeft { at_ms: 1.0, bytes }.after_change(&before, &after).bytes;
        assert_eq!([moved(None), moved(Some(0)), moved(Some(3))], [None, Some(0), Some(3)]);
        assert_eq!([moved(Some(5)), moved(Some(9)), moved(Some(14))], [Some(4), Some(4), Some(9)]);
    }
}
