//! Embeddings.

use crate::provider::Answer;
use crate::provider::doc::{self, Doc, items, vectors};
use crate::provider::wire::Wire;

pub(in crate::provider) const WIRE: Wire = Wire {
    read: Some(|bytes| doc::whole(bytes, |json| read(json), read)),
    read_stream: None,
    merge: None,
    split: None,
    write: None,
};

/// Reads the answers of `:embedContent` and `:batchEmbedContents`.
pub(in crate::provider) fn read<D: Doc>(body: &D) -> Option<Answer> {
    let one = body.member("embedding");
    body.member("embeddings").or(one)?;
    let all = one.into_iter().chain(items(body, "embeddings"));
    Some(Answer { embeddings: vectors(all.map(|item| item.member("values"))), ..Answer::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn gemini_vectors_are_read_when_single_or_batched() {
        let single = read(&json!({"embedding": {"values": [1, 2.5]}})).unwrap();
        assert_eq!(single.embeddings, [vec![1.0, 2.5]]);
        let batch = json!({"embeddings": [{"values": [1]}, {"values": [2]}]});
        assert_eq!(read(&batch).unwrap().embeddings, [vec![1.0], vec![2.0]]);
        assert_eq!(read(&json!({"candidates": []})), None);
    }
}
