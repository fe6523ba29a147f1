//! The reader and writer of Gemini's embeddings: one vector, one for each request in a batch, or
//! Vertex's predictions.

use serde_json::{Value, json};

use super::generate;
use super::usage_names::USAGE;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, items, nested_member, read_vectors};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;
use crate::{Answer, TokenUsage};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Embed Content",
    word: "embed_content",
    semantic: Some("embeddings"),
    inputs: Some(|body| body.get("requests")?.as_array().map(<[_]>::len)),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    usage_names: USAGE,
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// Reads the answers of `:embedContent` and `:batchEmbedContents`.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    if let Some(predictions) = body.member("predictions") {
        return read_predictions(predictions.as_list()?);
    }
    let one = body.member("embedding");
    body.member("embeddings").or(one)?;
    let all = one.into_iter().chain(items(body, "embeddings"));
    Some(Answer {
        embeddings: read_vectors(all.map(|item| item.member("values"))),
        usage: generate::read_usage(&[body]),
        ..Answer::default()
    })
}

/// Reads the answer of `:predict`. Models for text and images return their vectors without a
/// wrapper.
fn read_predictions<D: JsonView>(predictions: &[D]) -> Option<Answer> {
    let vector = |prediction: &'_ D| -> bool {
        ["embeddings", "textEmbedding", "imageEmbedding"]
            .iter()
            .any(|name| prediction.member(name).is_some())
    };
    if !predictions.iter().all(vector) {
        return None;
    }
    let of = |prediction: &D| nested_member(prediction, &["statistics", "token_count"])?.as_float();
    let counts: Vec<f64> = predictions
        .iter()
        .filter_map(|prediction| of(prediction.member("embeddings")?))
        .filter(|count| *count >= 0.0)
        .collect();
    let tokens = counts.iter().sum::<f64>() as u64;
    Some(Answer {
        embeddings: read_vectors(predictions.iter().map(|prediction| {
            nested_member(prediction, &["embeddings", "values"])
                .or_else(|| prediction.member("textEmbedding"))
                .or_else(|| prediction.member("imageEmbedding"))
        })),
        usage: (!counts.is_empty()).then(|| TokenUsage {
            prompt_tokens: tokens,
            total_tokens: tokens,
            ..TokenUsage::default()
        }),
        ..Answer::default()
    })
}

/// All tokens are counted at the first vector, because the count of each is unknown.
fn write_predictions(vectors: &[Vec<f64>], tokens: u64) -> Value {
    let prediction = |(place, vector): (usize, &Vec<f64>)| {
        let count = if place == 0 { tokens } else { 0 };
        json!({ "embeddings": {
            "values": vector,
            "statistics": { "truncated": false, "token_count": count }
        } })
    };
    json!({ "predictions": vectors.iter().enumerate().map(prediction).collect::<Vec<_>>() })
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let vectors = draft.checked_vectors(format)?;
    let values = |vector: &Vec<f64>| json!({ "values": vector });
    if format.target.is_some_and(|path| path.ends_with(":predict")) {
        return Ok(write_predictions(vectors, draft.usage.prompt_tokens));
    }
    let batch = format.target.is_some_and(|path| path.ends_with(":batchEmbedContents"));
    let mut body = match vectors {
        vectors if batch => json!({ "embeddings": vectors.iter().map(values).collect::<Vec<_>>() }),
        [one] => json!({ "embedding": values(one) }),
        _ => {
            let operation = format.operation.name();
            return Err(ModeError::NoPlace { operation, what: "further vectors" });
        }
    };
    // Not every server sends them.
    if draft.answer.usage.is_some() {
        body["usageMetadata"] = json!({
            "promptTokenCount": draft.usage.prompt_tokens,
            "totalTokenCount": draft.usage.total_tokens
        });
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, test_calls, write_answer};

    #[test]
    fn gemini_vectors_are_read_when_single_or_batched() {
        let single = read_body(&json!({"embedding": {"values": [1, 2.5]}})).unwrap();
        assert_eq!(single.embeddings, [vec![1.0, 2.5]]);
        let batch = json!({"embeddings": [{"values": [1]}, {"values": [2]}],
                           "usageMetadata": {"promptTokenCount": 5}});
        let batch = read_body(&batch).unwrap();
        assert_eq!(batch.embeddings, [vec![1.0], vec![2.0]]);
        assert_eq!(batch.usage.unwrap().prompt_tokens, 5);
        assert_eq!(read_body(&json!({"candidates": []})), None);
    }

    #[test]
    fn predictions_are_read_and_written_as_vertex_tells_them() {
        let vector = |values: Value, tokens: u64| json!({"embeddings": {"values": values, "statistics": {"truncated": false, "token_count": tokens}}});
        let body = json!({"predictions": [vector(json!([0.5, 1]), 4), vector(json!([2]), 3)]});
        let answer = read_body(&body).unwrap();
        assert_eq!(answer.embeddings, [vec![0.5, 1.0], vec![2.0]]);
        assert_eq!(answer.usage.unwrap().prompt_tokens, 7);
        let target =
            "/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict";
        let format = ResponseFormat {
            target: Some(target),
            ..test_calls::format_of(Operation::EMBED_CONTENT, false)
        };
        let written = write_answer(&format, &answer, "").unwrap();
        assert_eq!(test_calls::read(Operation::EMBED_CONTENT, false, &written), Some(answer));
        let both = json!({"predictions": [{"textEmbedding": [1], "imageEmbedding": [2]}]});
        assert_eq!(read_body(&both).unwrap().embeddings, [vec![1.0]]);
        assert_eq!(read_body(&json!({"predictions": [{"bytesBase64Encoded": "x"}]})), None);
    }

    fn written(verb: &str, embeddings: Vec<Vec<f64>>) -> Result<Vec<u8>, ModeError> {
        let target = format!("/v1beta/models/m:{verb}");
        let format = ResponseFormat {
            target: Some(&target),
            ..test_calls::format_of(Operation::EMBED_CONTENT, false)
        };
        let usage = TokenUsage { prompt_tokens: 4, total_tokens: 4, ..TokenUsage::default() };
        let answer = Answer { embeddings, usage: Some(usage), ..Answer::default() };
        let body = write_answer(&format, &answer, "seed")?;
        assert_eq!(crate::read_answer(Operation::EMBED_CONTENT, None, &body), Some(answer));
        Ok(body)
    }

    #[test]
    fn vectors_are_written_as_the_verb_has_them() {
        let one = String::from_utf8(written("embedContent", vec![vec![0.5]]).unwrap()).unwrap();
        assert!(one.starts_with(r#"{"embedding":{"values":[0.5]}"#), "{one}");
        let batch = written("batchEmbedContents", vec![vec![0.5]]).unwrap();
        let batch = String::from_utf8(batch).unwrap();
        assert!(batch.starts_with(r#"{"embeddings":[{"values":[0.5]}]"#), "{batch}");
        written("batchEmbedContents", vec![vec![1e-9], vec![-3.0]]).unwrap();
    }

    #[test]
    fn vectors_are_refused_when_there_is_none_or_one_too_many() {
        let error = written("embedContent", vec![vec![1.0], vec![2.0]]).unwrap_err();
        assert!(error.to_string().contains("no place for the entry's further vectors"), "{error}");
        for none in [vec![], vec![vec![f64::NAN]]] {
            let error = written("batchEmbedContents", none).unwrap_err();
            assert_eq!(error, ModeError::NoVectors { operation: "Embed Content" });
        }
    }
}
