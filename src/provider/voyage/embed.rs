//! The reader and writer of Voyage's embeddings: OpenAI's format, with all tokens in one count.
//! Contextualized embeddings are in one list per text.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, member_text};
use crate::openai::embeddings;
use crate::operation::{OperationRow, ResponseFormat};
use loomrec_identity::Json;

use super::rerank::read_usage;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Voyage embeddings",
    word: "voyage_embed",
    semantic: Some("embeddings"),
    inputs: Some(input_count),
    embeds_input: true,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// How many texts, or other inputs, a request sends to be embedded.
fn input_count(body: &Json<'_>) -> Option<usize> {
    match body.get("inputs").and_then(Json::as_array) {
        Some(inputs) => Some(inputs.len()),
        None => embeddings::input_texts(body),
    }
}

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let data = body.member("data")?.as_list()?;
    let nested = data.iter().any(|item| item.member("data").is_some());
    let vectors = match nested {
        true => {
            let lists = data.iter().map(|item| item.member("data")?.as_list());
            lists.collect::<Option<Vec<_>>>().and_then(|lists| {
                lists.into_iter().flatten().map(read_vector).collect::<Option<Vec<_>>>()
            })
        }
        false => data.iter().map(read_vector).collect(),
    };
    Some(Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: read_usage(body),
        embeddings: vectors.unwrap_or_default(),
        ..Answer::default()
    })
}

/// The vector of an item. In base64 it may hold integers instead of floats, and the answer does not
/// say which. Voyage's vectors of floats have the length 1, which tells them apart.
fn read_vector<D: JsonView>(item: &D) -> Option<Vec<f64>> {
    let embedding = item.member("embedding")?;
    let vector = embeddings::read_vector(embedding)?;
    let length = vector.iter().map(|number| number * number).sum::<f64>().sqrt();
    (embedding.as_text().is_none() || (0.9..1.1).contains(&length)).then_some(vector)
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if format.target.is_some_and(|path| path.ends_with("/contextualizedembeddings")) {
        return Err(ModeError::NotFromWords { operation: format.operation.name() });
    }
    let mut body = embeddings::write_body(format, draft)?;
    body["usage"] = json!({ "total_tokens": draft.usage.total_tokens });
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_calls::{self, read};
    use crate::{Operation, write_answer};

    const EMBED: Operation = Operation::VOYAGE_EMBED;

    fn draft(body: &Value) -> Answer {
        read(EMBED, false, body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn all_tokens_are_the_inputs() {
        let body = json!({ "object": "list", "model": "voyage-3.5", "usage": { "total_tokens": 6 },
            "data": [{ "object": "embedding", "embedding": [0.6, 0.8], "index": 0 }] });
        let answer = draft(&body);
        assert_eq!(answer.embeddings, [[0.6, 0.8]]);
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.total_tokens, usage.completion_tokens), (6, 6, 0));
        let error = read(EMBED, false, br#"{"detail":"Provided API key is invalid."}"#);
        assert_eq!(error, None);
    }

    #[test]
    fn vectors_in_base64_are_read_where_they_are_numbers_with_a_fraction() {
        let item = |packed: &str| json!({ "data": [{ "embedding": packed, "index": 0 }] });
        // 0.5 and -0.5, each twice, four bytes each; and eight whole numbers, a byte each.
        assert_eq!(draft(&item("AAAAPwAAAD8AAAC/AAAAvw==")).embeddings, [[0.5, 0.5, -0.5, -0.5]]);
        assert!(draft(&item("AQIDBAUGBwg=")).embeddings.is_empty());
    }

    #[test]
    fn vectors_of_contexts_are_read_in_order() {
        let item = |x: f64| json!({ "object": "embedding", "embedding": [x], "index": 0 });
        let body = json!({ "object": "list", "data": [
            { "object": "list", "data": [item(1.0), item(2.0)], "index": 0 },
            { "object": "list", "data": [item(3.0)], "index": 1 }],
            "usage": { "total_tokens": 9 } });
        assert_eq!(draft(&body).embeddings, [[1.0], [2.0], [3.0]]);
    }

    #[test]
    fn what_is_written_reads_back() {
        let usage =
            Some(crate::TokenUsage { prompt_tokens: 3, total_tokens: 3, ..Default::default() });
        let model = Some("voyage-3.5".to_owned());
        let answer =
            Answer { model, usage, embeddings: vec![vec![0.6, -0.8]], ..Answer::default() };
        for base64 in [false, true] {
            let format = ResponseFormat { base64, ..test_calls::format_of(EMBED, false) };
            let body = write_answer(&format, &answer, "seed").unwrap();
            let read = read(EMBED, false, &body).unwrap();
            assert_eq!((read.usage, &read.model), (answer.usage, &answer.model));
            assert!((read.embeddings[0][1] + 0.8).abs() < 1e-6);
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["usage"], json!({ "total_tokens": 3 }));
        }
    }
}
