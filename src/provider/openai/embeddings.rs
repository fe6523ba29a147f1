//! Embeddings.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::chat;
use crate::provider::Answer;
use crate::provider::asked::{Asked, ModeError};
use crate::provider::doc::{self, Doc, text, vectors};
use crate::provider::wire::Wire;
use crate::provider::words::Said;

pub(in crate::provider) const WIRE: Wire = Wire {
    read: Some(|bytes| doc::whole(bytes, |json| read(json), read)),
    read_stream: None,
    merge: None,
    split: None,
    write: Some(write),
};

/// Reads OpenAI's shape. Vectors in base64 stay unread, their usage does not.
pub(in crate::provider) fn read<D: Doc>(body: &D) -> Option<Answer> {
    let data = body.member("data")?.list()?;
    Some(Answer {
        model: text(body, "model").map(Cow::into_owned),
        usage: chat::usage(body),
        embeddings: vectors(data.iter().map(|item| item.member("embedding"))),
        ..Answer::default()
    })
}

fn write(asked: &Asked<'_>, said: &Said<'_>) -> Result<Value, ModeError> {
    let vectors = &said.answer.embeddings;
    // JSON has no word for the numbers that are not finite.
    if vectors.is_empty() || !vectors.iter().flatten().all(|number| number.is_finite()) {
        return Err(ModeError::NoVectors { operation: asked.operation.name() });
    }
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(
            |(index, vector)| json!({ "object": "embedding", "index": index, "embedding": vector }),
        )
        .collect();
    Ok(json!({
        "object": "list",
        "data": data,
        "model": said.model,
        "usage": {
            "prompt_tokens": said.usage.prompt_tokens,
            "total_tokens": said.usage.total_tokens
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_when_they_are_numbers() {
        let body = json!({
            "object": "list", "model": "text-embedding-3-small",
            "data": [
                {"object": "embedding", "index": 0, "embedding": [0.25, -1, 1e-7]},
                {"object": "embedding", "index": 1, "embedding": [0.5, 0.0, 2]}
            ],
            "usage": {"prompt_tokens": 8, "total_tokens": 8}
        });
        let answer = read(&body).unwrap();
        assert_eq!(answer.embeddings, [vec![0.25, -1.0, 1e-7], vec![0.5, 0.0, 2.0]]);
        assert_eq!(answer.model.as_deref(), Some("text-embedding-3-small"));
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (8, 0, 8));
    }

    #[test]
    fn vectors_are_left_out_when_one_is_base64() {
        let body = json!({
            "data": [{"embedding": "AACAPw=="}, {"embedding": [1.0]}],
            "usage": {"prompt_tokens": 3, "total_tokens": 3}
        });
        let answer = read(&body).unwrap();
        assert!(answer.embeddings.is_empty());
        assert_eq!(answer.usage.unwrap().prompt_tokens, 3);
        assert_eq!(read(&json!({"error": {"message": "no"}})), None);
    }
}
