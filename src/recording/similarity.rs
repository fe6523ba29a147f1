//! Sketches of recorded requests for finding similar ones. They choose the few takes that are worth
//! reading again to explain a miss. They never choose an answer.

use loomrec_provider::{Operation, RecognisedCall};

/// The ends of the compared stretches of a body, counted from its beginning and from its end. Each
/// is four times as far as the one before.
const STRETCHES: [usize; 6] = [32, 128, 512, 2048, 8192, 32768];

/// A short summary of a request without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSketch {
    /// The operation it calls.
    pub operation: Operation,
    /// A hash of method, path, query and model.
    head: u32,
    length: u32,
    /// Hashes of the stretches of the body, counted from its beginning.
    front: [u16; STRETCHES.len()],
    /// Hashes of the stretches of the body, counted from its end.
    back: [u16; STRETCHES.len()],
}

impl RequestSketch {
    /// Returns the sketch of a request that makes `call`. `target` has its method, its path and its
    /// query.
    pub(crate) fn from_call(call: &RecognisedCall, target: [&str; 3], body: &[u8]) -> Self {
        let mut head = Mix::default();
        for text in target {
            head.add(text.as_bytes());
        }
        head.add(call.model.as_deref().unwrap_or_default().as_bytes());
        let (mut front, mut back) = ([0; STRETCHES.len()], [0; STRETCHES.len()]);
        let mut from = 0;
        for (at, end) in STRETCHES.iter().enumerate() {
            let end = body.len().min(*end);
            if from == end {
                break;
            }
            front[at] = Mix::hash_bytes(&body[from..end]);
            back[at] = Mix::hash_bytes(&body[body.len() - end..body.len() - from]);
            from = end;
        }
        Self {
            operation: call.operation,
            head: head.0 as u32,
            length: u32::try_from(body.len()).unwrap_or(u32::MAX),
            front,
            back,
        }
    }

    /// Returns the length of its body in bytes.
    pub fn body_length(&self) -> usize {
        self.length as usize
    }

    /// Estimates how much two requests differ: whether their heads differ, how many bytes of the
    /// longer body are not known to be shared, and by how many bytes the lengths differ. The
    /// sketches of different requests may be equal.
    pub fn distance(&self, other: &Self) -> (bool, u32, u32) {
        let same = |one: &[u16], other: &[u16]| {
            let count = one.iter().zip(other).take_while(|(a, b)| a == b && **a != 0).count();
            count.checked_sub(1).map_or(0, |last| STRETCHES[last] as u32)
        };
        let shared = same(&self.front, &other.front) + same(&self.back, &other.back);
        let (short, long) = (self.length.min(other.length), self.length.max(other.length));
        (self.head != other.head, long - shared.min(short), long - short)
    }
}

/// A quick hash of bytes. It protects no secret and resists no attack: a collision only makes a
/// message name a call that is less similar.
#[derive(Default)]
struct Mix(u64);

impl Mix {
    /// Returns a hash of `bytes`; never 0.
    fn hash_bytes(bytes: &[u8]) -> u16 {
        let mut mix = Self::default();
        mix.add(bytes);
        (mix.0 >> 48) as u16 | 1
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add_word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add_word(u64::from_le_bytes(last));
        self.add_word(bytes.len() as u64);
    }

    fn add_word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedRequest;
    use bytes::Bytes;

    fn sketch(body: String) -> RequestSketch {
        let request = RecordedRequest {
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            body: Bytes::from(body),
            ..RecordedRequest::default()
        };
        request.to_sketch(&request.recognise_call())
    }

    fn chat(words: &str) -> RequestSketch {
        sketch(format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}]}}"#))
    }

    #[test]
    fn a_small_change_is_nearer_than_a_large_one() {
        let words = |n: usize| (0..n).map(|n| format!("word{n} ")).collect::<String>();
        let recorded = chat(&words(400));
        let small = chat(&words(400).replace("word200 ", "another "));
        let longer = chat(&words(430));
        let other = chat(&"z".repeat(words(400).len()));
        assert_eq!(recorded.distance(&recorded), (false, 0, 0));
        assert!(recorded.distance(&small) < recorded.distance(&other));
        assert!(recorded.distance(&longer) < recorded.distance(&other));
    }

    #[test]
    fn another_model_is_farther_than_another_text() {
        let other = sketch(r#"{"model":"n","messages":[{"role":"user","content":"a"}]}"#.into());
        assert!(chat("a").distance(&chat("b")) < chat("a").distance(&other));
    }

    #[test]
    fn bodies_of_every_length_have_a_sketch() {
        for length in [0, 1, 31, 32, 33, 128, 2049, 40_000] {
            let one = sketch("x".repeat(length));
            assert_eq!(one.distance(&one).1, length.saturating_sub(2 * 32_768) as u32);
        }
    }
}
