//! Reads the answers of embedding endpoints: OpenAI's and Gemini's.

use std::borrow::Cow;

use super::doc::{Doc, items, text};
use super::{Answer, openai_chat};

/// Reads OpenAI's shape. Vectors in base64 stay unread, their usage does not.
pub(super) fn openai<D: Doc>(body: &D) -> Option<Answer> {
    let data = body.member("data")?.list()?;
    Some(Answer {
        model: text(body, "model").map(Cow::into_owned),
        usage: openai_chat::usage(body),
        embeddings: vectors(data.iter().map(|item| item.member("embedding"))),
        ..Answer::default()
    })
}

/// Reads the answers of `:embedContent` and `:batchEmbedContents`.
pub(super) fn gemini<D: Doc>(body: &D) -> Option<Answer> {
    let one = body.member("embedding");
    body.member("embeddings").or(one)?;
    let all = one.into_iter().chain(items(body, "embeddings"));
    Some(Answer { embeddings: vectors(all.map(|item| item.member("values"))), ..Answer::default() })
}

/// The vectors; none at all where one of them is not plain numbers, since a gap
/// would move the others to the wrong input.
fn vectors<'a, D: Doc + 'a>(values: impl Iterator<Item = Option<&'a D>>) -> Vec<Vec<f64>> {
    let vector =
        |value: Option<&D>| -> Option<Vec<f64>> { value?.list()?.iter().map(Doc::float).collect() };
    values.map(vector).collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
        let answer = openai(&body).unwrap();
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
        let answer = openai(&body).unwrap();
        assert!(answer.embeddings.is_empty());
        assert_eq!(answer.usage.unwrap().prompt_tokens, 3);
        assert_eq!(openai(&json!({"error": {"message": "no"}})), None);
    }

    #[test]
    fn gemini_vectors_are_read_when_single_or_batched() {
        let single = gemini(&json!({"embedding": {"values": [1, 2.5]}})).unwrap();
        assert_eq!(single.embeddings, [vec![1.0, 2.5]]);
        let batch = json!({"embeddings": [{"values": [1]}, {"values": [2]}]});
        assert_eq!(gemini(&batch).unwrap().embeddings, [vec![1.0], vec![2.0]]);
        assert_eq!(gemini(&json!({"candidates": []})), None);
    }
}
