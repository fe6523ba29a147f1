//! The reader and writer of Cohere's embeddings: a list of vectors, or a list for each requested
//! type.

use serde_json::{Value, json};

use super::{is_first, usage::read_usage};
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::{ModeError, VectorTypes};
use crate::answer_outcome::OutcomeRules;
use crate::json_view::{self, JsonView, read_vectors};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Cohere embeddings",
    word: "cohere_embed",
    semantic: Some("embeddings"),
    inputs: Some(input_count),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    write: Some(write_body),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// How many texts and images a request sends to be embedded.
fn input_count(body: &Json<'_>) -> Option<usize> {
    let length = |name: &str| body.get(name)?.as_array().map(<[_]>::len);
    ["texts", "inputs", "images"].into_iter().filter_map(length).reduce(|a, b| a + b)
}

/// Reads the format of either version. Only vectors of floats are read; the usage is read in any
/// case.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let embeddings =
        body.member("embeddings").filter(|it| it.is_map() || it.as_list().is_some())?;
    let floats = embeddings.as_list().or_else(|| embeddings.member("float")?.as_list());
    Some(Answer {
        usage: body.member("meta").and_then(read_usage),
        embeddings: read_vectors(floats.unwrap_or_default().iter().map(Some)),
        ..Answer::default()
    })
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let listed = match format.vectors {
        VectorTypes::Unspecified => is_first(format),
        VectorTypes::Float => false,
        VectorTypes::Other => {
            return Err(ModeError::NotFromWords { operation: format.operation.name() });
        }
    };
    let vectors = draft.checked_vectors(format)?;
    let (kind, embeddings) = match listed {
        true => ("embeddings_floats", json!(vectors)),
        false => ("embeddings_by_type", json!({ "float": vectors })),
    };
    Ok(json!({
        "id": draft.answer_id(""),
        "embeddings": embeddings,
        "texts": [],
        "meta": {
            "api_version": { "version": if is_first(format) { "1" } else { "2" } },
            "billed_units": { "input_tokens": draft.usage.prompt_tokens }
        },
        "response_type": kind
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, TokenUsage, test_calls, write_answer};

    const EMBED: Operation = Operation::COHERE_EMBED;

    #[test]
    fn vectors_are_read_when_listed_or_by_type() {
        let meta = json!({"billed_units": {"input_tokens": 6.0}});
        let listed = json!({"id": "1", "embeddings": [[1, 2.5], [3, 4]], "meta": meta});
        let typed =
            json!({"embeddings": {"int8": [[1]], "float": [[1, 2.5], [3, 4]]}, "meta": meta});
        for body in [listed, typed] {
            let answer = read_body(&body).unwrap();
            assert_eq!(answer.embeddings, [[1.0, 2.5], [3.0, 4.0]]);
            assert_eq!(answer.usage.unwrap().prompt_tokens, 6);
        }
        let other = read_body(&json!({"embeddings": {"int8": [[1]]}})).unwrap();
        assert!(other.embeddings.is_empty());
        assert_eq!(read_body(&json!({"message": "invalid api token"})), None);
    }

    #[test]
    fn vectors_are_written_as_the_request_wants_them() {
        let usage = TokenUsage { prompt_tokens: 3, total_tokens: 3, ..TokenUsage::default() };
        let embeddings = vec![vec![0.5, -1.0], vec![2.0, 1e-7]];
        let answer = Answer { embeddings, usage: Some(usage), ..Answer::default() };
        let built = |target: &'static str, vectors| {
            let format = ResponseFormat {
                target: Some(target),
                vectors,
                ..test_calls::format_of(EMBED, false)
            };
            let body = write_answer(&format, &answer, "seed")?;
            assert_eq!(super::super::super::read_answer(EMBED, None, &body).unwrap(), answer);
            Ok(serde_json::from_slice::<Value>(&body).unwrap()["response_type"].clone())
        };
        let unspecified = VectorTypes::Unspecified;
        assert_eq!(built("/v1/embed", unspecified).unwrap(), "embeddings_floats");
        assert_eq!(built("/v1/embed", VectorTypes::Float).unwrap(), "embeddings_by_type");
        assert_eq!(built("/v2/embed", unspecified).unwrap(), "embeddings_by_type");
        let error: Result<Value, ModeError> = built("/v2/embed", VectorTypes::Other);
        assert_eq!(error, Err(ModeError::NotFromWords { operation: EMBED.name() }));
    }

    #[test]
    fn an_answer_without_vectors_is_refused() {
        let error = write_answer(&test_calls::format_of(EMBED, false), &Answer::default(), "");
        assert_eq!(error, Err(ModeError::NoVectors { operation: EMBED.name() }));
    }
}
