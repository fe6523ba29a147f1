//! OpenAI's embeddings.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::chat;
use super::stream_error::stream_error;
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, member_text};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Embeddings",
    word: "embeddings",
    semantic: Some("embeddings"),
    inputs: Some(input_texts),
    embeds_input: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    stream_error,
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// How many texts a request's `input` holds.
pub(crate) fn input_texts(body: &Json<'_>) -> Option<usize> {
    Some(match body.get("input")?.as_array() {
        // Tokens, which are one text.
        Some([first, ..]) if first.as_number().is_some() => 1,
        Some(texts) => texts.len(),
        None => 1,
    })
}

/// Reads OpenAI's format, with vectors of numbers or in base64.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let data = body.member("data")?.as_list()?;
    // None at all if one cannot be read: a gap would assign the others to the wrong input.
    let vectors = data.iter().map(|item| read_vector(item.member("embedding")?));
    Some(Answer {
        cost_usd: chat::stated_cost(body),
        model: member_text(body, "model").map(Cow::into_owned),
        usage: chat::read_usage(body),
        embeddings: vectors.collect::<Option<_>>().unwrap_or_default(),
        ..Answer::default()
    })
}

/// A vector, of numbers or in base64.
pub(crate) fn read_vector<D: JsonView>(embedding: &D) -> Option<Vec<f64>> {
    match embedding.as_text() {
        Some(text) => unpack_vector(&text),
        None => embedding.as_list()?.iter().map(JsonView::as_float).collect(),
    }
}

/// The numbers of a vector in base64: little-endian, four bytes each.
fn unpack_vector(text: &str) -> Option<Vec<f64>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let finite = |number: f32| number.is_finite().then_some(f64::from(number));
    numbers.map(finite).collect::<Option<_>>().filter(|_| rest.is_empty())
}

/// A vector in base64; `None` if a number does not fit in four bytes.
fn pack_vector(vector: &[f64]) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, reason = "four bytes are what is asked for")]
    let narrow = |number: &f64| Some(*number as f32).filter(|number| number.is_finite());
    let numbers: Option<Vec<f32>> = vector.iter().map(narrow).collect();
    let bytes: Vec<u8> = numbers?.into_iter().flat_map(f32::to_le_bytes).collect();
    Some(STANDARD.encode(bytes))
}

pub(crate) fn write_body(
    format: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let mut data = vec![];
    for (index, vector) in draft.checked_vectors(format)?.iter().enumerate() {
        let embedding = if format.base64 {
            let none = ModeError::NoVectors { operation: format.operation.name() };
            Value::String(pack_vector(vector).ok_or(none)?)
        } else {
            json!(vector)
        };
        data.push(json!({ "object": "embedding", "index": index, "embedding": embedding }));
    }
    Ok(json!({
        "object": "list",
        "data": data,
        "model": draft.model,
        "usage": {
            "prompt_tokens": draft.usage.prompt_tokens,
            "total_tokens": draft.usage.total_tokens
        }
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Operation, test_calls};

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
        let answer = read_body(&body).unwrap();
        assert_eq!(answer.embeddings, [vec![0.25, -1.0, 1e-7], vec![0.5, 0.0, 2.0]]);
        assert_eq!(answer.model.as_deref(), Some("text-embedding-3-small"));
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (8, 0, 8));
    }

    #[test]
    fn vectors_are_read_when_they_are_base64() {
        let body = json!({
            "data": [{"embedding": "AACAPwAAAL8="}, {"embedding": [1.0, 2]}],
            "usage": {"prompt_tokens": 3, "total_tokens": 3}
        });
        let answer = read_body(&body).unwrap();
        assert_eq!(answer.embeddings, [vec![1.0, -0.5], vec![1.0, 2.0]]);
    }

    #[test]
    fn vectors_are_left_out_when_one_cannot_be_read() {
        // Not base64; three bytes; no vector; an infinite number; no numbers.
        for broken in [json!("no!"), json!("AACA"), json!(null), json!("AACAfw=="), json!(["1"])] {
            let body = json!({
                "data": [{"embedding": [1.0]}, {"embedding": broken}],
                "usage": {"prompt_tokens": 3, "total_tokens": 3}
            });
            let answer = read_body(&body).unwrap();
            assert!(answer.embeddings.is_empty(), "{body}");
            assert_eq!(answer.usage.unwrap().prompt_tokens, 3);
        }
        assert_eq!(read_body(&json!({"error": {"message": "no"}})), None);
    }

    fn format_of() -> ResponseFormat<'static> {
        ResponseFormat { base64: true, ..test_calls::format_of(Operation::EMBEDDINGS, false) }
    }

    #[test]
    fn vectors_are_base64_when_they_are_asked_for_so() {
        let answer = Answer { embeddings: vec![vec![1.0, -0.5], vec![]], ..Answer::default() };
        let body = crate::write_answer(&format_of(), &answer, "").unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["data"][0]["embedding"], "AACAPwAAAL8=");
        assert_eq!(body["data"][1]["embedding"], "");
        let wide = Answer { embeddings: vec![vec![1e300]], ..Answer::default() };
        let error = crate::write_answer(&format_of(), &wide, "").unwrap_err();
        assert_eq!(error, ModeError::NoVectors { operation: "Embeddings" });
    }

    proptest! {
        #[test]
        fn vectors_in_base64_read_back_as_they_were(
            vectors in prop::collection::vec(prop::collection::vec(
                any::<f32>().prop_filter("finite", |number| number.is_finite()), 0..6), 1..4),
        ) {
            let widened = |vector: &Vec<f32>| vector.iter().map(|number| f64::from(*number)).collect();
            let embeddings: Vec<Vec<f64>> = vectors.iter().map(widened).collect();
            let answer = Answer { embeddings, ..Answer::default() };
            let body = crate::write_answer(&format_of(), &answer, "").unwrap();
            let back = crate::read_answer(Operation::EMBEDDINGS, None, &body).unwrap();
            prop_assert_eq!(back.embeddings, answer.embeddings);
        }
    }
}
