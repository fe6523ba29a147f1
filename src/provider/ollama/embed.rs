//! Ollama's embeddings: `/api/embed`, and the older `/api/embeddings`, which takes one text at a
//! time.

use serde_json::{Value, json};

use super::turn;
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, read_vectors};
use crate::openai::embeddings;
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Ollama embeddings",
    word: "ollama_embed",
    semantic: Some("embeddings"),
    inputs: Some(embeddings::input_texts),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let embeddings = match body.member("embeddings") {
        Some(many) => read_vectors(many.as_list()?.iter().map(Some)),
        None => read_vectors(std::iter::once(Some(body.member("embedding")?))),
    };
    Some(Answer { embeddings, ..turn::base_answer(body) })
}

/// The older path has one vector and nothing else. If the path is unknown, a single vector is
/// written at the places of both.
fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let vectors = draft.checked_vectors(format)?;
    let path = format.target.unwrap_or_default();
    if path.ends_with("/api/embeddings") {
        return match vectors {
            [only] => Ok(json!({ "embedding": only })),
            _ => Err(ModeError::NoPlace {
                operation: format.operation.name(),
                what: "further vectors",
            }),
        };
    }
    let mut body = json!({
        "model": draft.model,
        "embeddings": vectors,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": draft.usage.prompt_tokens
    });
    if let ([only], false) = (vectors, path.ends_with("/api/embed")) {
        body["embedding"] = json!(only);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;
    use crate::test_calls;

    #[test]
    fn vectors_are_read_when_they_are_many_or_one() {
        let many = json!({
            "model": "nomic-embed-text", "embeddings": [[0.5, -1], [2, 1e-7]],
            "total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": 8
        });
        let answer = read_body(&many).unwrap();
        assert_eq!(answer.embeddings, [vec![0.5, -1.0], vec![2.0, 1e-7]]);
        assert_eq!(answer.model.as_deref(), Some("nomic-embed-text"));
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (8, 0, 8));
        let one = read_body(&json!({ "embedding": [0.5, 1] })).unwrap();
        assert_eq!((one.embeddings, one.usage), (vec![vec![0.5, 1.0]], None));
        assert_eq!(read_body(&json!({ "embeddings": [] })).unwrap().embeddings.len(), 0);
        assert_eq!(read_body(&json!({ "error": "model not found" })), None);
    }

    #[test]
    fn each_path_gets_its_own_form() {
        let mut answer = Answer { embeddings: vec![vec![0.5]], ..Answer::default() };
        let write = |answer: &Answer, target| {
            let format = ResponseFormat {
                target: Some(target),
                ..test_calls::format_of(Operation::OLLAMA_EMBED, false)
            };
            let body = crate::write_answer(&format, answer, "");
            body.map(|body| serde_json::from_slice::<Value>(&body).unwrap())
        };
        assert_eq!(write(&answer, "/api/embeddings"), Ok(json!({ "embedding": [0.5] })));
        let now = write(&answer, "/api/embed").unwrap();
        assert_eq!((&now["embeddings"], now.get("embedding")), (&json!([[0.5]]), None));
        answer.embeddings.push(vec![1.0]);
        let error = write(&answer, "/ollama/api/embeddings").unwrap_err();
        let operation = "Ollama embeddings";
        assert_eq!(error, ModeError::NoPlace { operation, what: "further vectors" });
        assert_eq!(write(&answer, "/api/embed").unwrap()["embeddings"], json!([[0.5], [1.0]]));
    }

    #[test]
    fn written_vectors_read_back_and_a_single_one_stands_at_both_places() {
        let mut answer = Answer {
            embeddings: vec![vec![0.25, -0.0, 1e-7]],
            model: Some("m".to_owned()),
            usage: Some(crate::TokenUsage {
                prompt_tokens: 3,
                total_tokens: 3,
                ..Default::default()
            }),
            ..Answer::default()
        };
        let written =
            |answer: &Answer| test_calls::write(Operation::OLLAMA_EMBED, answer, "").unwrap();
        let body = written(&answer);
        assert_eq!(test_calls::read(Operation::OLLAMA_EMBED, false, &body), Some(answer.clone()));
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["embedding"], value["embeddings"][0]);
        answer.embeddings.push(vec![1.0]);
        let body = written(&answer);
        assert_eq!(test_calls::read(Operation::OLLAMA_EMBED, false, &body), Some(answer.clone()));
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value.get("embedding"), None);
        answer.embeddings = vec![vec![f64::NAN]];
        let error = test_calls::write(Operation::OLLAMA_EMBED, &answer, "").unwrap_err();
        assert_eq!(error, ModeError::NoVectors { operation: "Ollama embeddings" });
    }
}
